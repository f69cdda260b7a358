"""Lab 09: keys and values are rounded to 8 bits."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises.lab04_tensors import torch
from kvlab.course.exercises.lab09_quantize_bench import CAST, Numbers, quantizes, random_numbers, render, run
from kvlab.course.exercises.scenarios import corners

_DIVIDE = "divide by scale before anything else"
_CLAMP = "clamp what was divided to -448 and 448, then convert it"
_PLACE = "put the scales beside the heads: scale[:, None]"


def _beside(scale):
    return scale[:, None] if isinstance(scale, torch.Tensor) and scale.dim() else scale


def _cast(x):
    return x.to(torch.float8_e4m3fn)


def multiplies(x, scale):
    return _cast((x.float() * _beside(scale)).clamp(-448, 448))


def clamps_first(x, scale):
    return _cast(x.float().clamp(-448, 448) / _beside(scale))


def clamps_first_and_after(x, scale):
    return _cast((x.float().clamp(-448, 448) / _beside(scale)).clamp(-448, 448))


def clamps_at_127(x, scale):
    return _cast((x.float() / _beside(scale)).clamp(-127, 127))


def clamps_at_240(x, scale):
    return _cast((x.float() / _beside(scale)).clamp(-240, 240))


def whole_numbers(x, scale):
    return _cast((x.float() / _beside(scale)).round().clamp(-448, 448))


def no_scale(x, scale):
    return _cast(x.float().clamp(-448, 448))


def casts_first(x, scale):
    return _cast((_cast(x.float().clamp(-448, 448)).float() / _beside(scale)).clamp(-448, 448))


def other_type(x, scale):
    return (x.float() / _beside(scale)).clamp(-448, 448).to(torch.float8_e5m2)


def multiplied_back(x, scale):
    return _cast((x.float() / _beside(scale)).clamp(-448, 448)).float() * _beside(scale)


def only_rounded(x, scale):
    return (x.float() / _beside(scale)).clamp(-448, 448)


def first_scale(x, scale):
    return _cast((x.float() / (scale[0] if isinstance(scale, torch.Tensor) else scale)).clamp(-448, 448))


def largest_scale(x, scale):
    return _cast((x.float() / (scale.max() if isinstance(scale, torch.Tensor) else scale)).clamp(-448, 448))


def a_scale_a_token(x, scale):
    return _cast((x.float() / (scale[:, None, None] if isinstance(scale, torch.Tensor) else scale)).clamp(-448, 448))


def scales_along_the_numbers(x, scale):
    return _cast((x.float() / scale).clamp(-448, 448))


def own_scale(x, scale):
    return _cast((x.float() / x.float().abs().max() * 448).clamp(-448, 448))


def divides_in_place(x, scale):
    return _cast(x.div_(_beside(scale)).clamp(-448, 448))


def rounds_twice(x, scale):
    return _cast((x / _beside(scale)).to(x.dtype).clamp(-448, 448))


_FIRST = "Clamps before it divides. What counts is whether the number fits after the division."

QUANTIZE_FP8: Any = Exercise(
    name="quantize_fp8", lab="09", part="kvlab.compute.quantize_fp8", stars=1, core=True, minutes=8,
    checks=(
        quantizes("scale 1", Numbers(1.0), Numbers(1.0, (3, 2, 4), -40.0, 3.3), next=CAST),
        quantizes("one scale", Numbers(0.5), Numbers(4.0, (3, 2, 4), -40.0, 3.3), Numbers(0.01, step=0.3),
                  next=_DIVIDE),
        quantizes("beyond 448", Numbers(1.0, start=-900.0, step=150.0), Numbers(0.25, start=-300.0, step=50.0),
                  Numbers(4.0, start=-2500.0, step=400.0), Numbers(0.5, start=-110.0, step=19.0), next=_CLAMP),
        quantizes("a scale a head", Numbers((0.5, 4.0)), Numbers((2.0, 0.25), (3, 2, 2), -700.0, 120.0),
                  Numbers((1.0, 8.0, 0.5), (4, 3, 5), -30.0, 1.1), next=_PLACE),
        corners("bfloat16", run, render, Numbers(0.3, (64, 2, 8), -90.0, 0.29, "bfloat16"),
                next="divide in float32: x.float() / scale"),
        corners("no tokens", run, render, Numbers(0.5, (0, 2, 3)), Numbers((0.5, 2.0), (0, 2, 3)),
                next="treat a tensor without rows"),
        Traces("random numbers", random_numbers, run, render=render, next="do this one number by hand"),
    ),
    mistakes=(
        Mistake(multiplies, "Multiplies by the scale. It is what a kept number is multiplied by later, so divide now.",
                next=_DIVIDE),
        Mistake(clamps_first, _FIRST, next=_CLAMP),
        Mistake(clamps_first_and_after, _FIRST, next="clamp once, after the division"),
        Mistake(clamps_at_127, "Clamps at 127, as for whole numbers of 8 bits. The largest number of e4m3 is 448.",
                next=_CLAMP),
        Mistake(clamps_at_240, "Clamps at 240, the largest number of another 8-bit format. That of e4m3 is 448.",
                next=_CLAMP),
        Mistake(whole_numbers, "Rounds to whole numbers. FP8 has fractions: between 1 and 2 it has eight steps.",
                next="let the conversion round"),
        Mistake(no_scale, "Looks like x as it is. The scale is what moves numbers to where FP8 can hold them.",
                next=_DIVIDE),
        Mistake(casts_first, "Converts first and divides then: numbers are rounded twice, and cut off too early.",
                next="divide, clamp, and convert last"),
        Mistake(other_type, "Converts to float8_e5m2, which has a bit less for the digits. Asked for is e4m3.",
                next=CAST),
        Mistake(multiplied_back,
                "Gives the numbers multiplied back, in 32 bits. What goes into the pool are the 8-bit ones.",
                next="return the 8-bit tensor"),
        Mistake(only_rounded, "Divides and clamps, and stays at 32 bits a number.", next=CAST),
        Mistake(first_scale, "Takes the first scale for every head.", next=_PLACE),
        Mistake(largest_scale, "Takes the largest scale for every head. Each head has its own.", next=_PLACE),
        Mistake(a_scale_a_token, "Lays the scales along the tokens. There is one for each KV head.", next=_PLACE),
        Mistake(scales_along_the_numbers,
                "Divides by [kv_heads] as it is: torch lays that along the last dimension, the numbers of a head.",
                next=_PLACE),
        Mistake(own_scale, "Finds a scale of its own. Who reads the pool later knows only the scale that was given.",
                next=_DIVIDE),
        Mistake(divides_in_place, "Divides x in place. The model still needs its keys and values.", mutates="x",
                next="use x / scale, which makes a new tensor"),
        Mistake(rounds_twice, "Divides in bfloat16, so numbers are rounded to 8 binary digits first, and then again.",
                next="divide in float32: x.float() / scale"),
    ),
    hints=(
        "A key is 900 and the scale 4: what is kept, and what does it stand for? And at scale 1?",
        "Divide by the scale, limit the result to -448 and 448, and convert it to torch.float8_e4m3fn. For a scale a "
        "head, give the scales a last dimension of 1.",
        "(x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn), with scale = scale[:, None] if it has a "
        "dimension",
    ),
)
