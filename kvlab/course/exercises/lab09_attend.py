"""Lab 09: attention over keys and values of 8 bits, each scale applied once and outside the sums."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises.lab04_tensors import torch
from kvlab.course.exercises.lab09_attend_bench import Said, attends, random_calls, render, run
from kvlab.course.exercises.scenarios import corners

_KEYS = "multiply the scores by key_scale, and by head_dim ** -0.5"
_VALUES = "multiply the output by value_scale, once, at the end"
_HEADS = "give each query head the scale of its KV head: repeat_interleave"
_FOLD = "multiply the scores by key_scale, and the output by value_scale"


def _heads(x, heads):
    return x.repeat_interleave(heads // x.shape[-2], -2)


def _of_heads(scale, heads):
    """A scale for each query head, [heads, 1], or the number."""
    return scale.repeat_interleave(heads // len(scale))[:, None] if isinstance(scale, torch.Tensor) else scale


def _attend(query, keys, values, key_scale=1.0, value_scale=1.0, after=1.0, factor=None):
    heads = len(query)
    scores = torch.einsum("hd,thd->ht", query, _heads(keys.float(), heads))
    scores = scores * (query.shape[-1] ** -0.5 if factor is None else factor) * key_scale
    weights = scores.softmax(-1) * value_scale
    return torch.einsum("ht,thd->hd", weights, _heads(values.float(), heads)) * after


def no_scales(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, values)


def key_scale_alone(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, values, _of_heads(key_scale, len(query)))


def value_scale_alone(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, values, after=_of_heads(value_scale, len(query)))


def swapped(query, keys, values, key_scale, value_scale):
    keys_by, values_by = _of_heads(value_scale, len(query)), _of_heads(key_scale, len(query))
    return _attend(query, keys, values, keys_by, after=values_by)


def key_scale_for_both(query, keys, values, key_scale, value_scale):
    by = _of_heads(key_scale, len(query))
    return _attend(query, keys, values, by, after=by)


def key_scale_twice(query, keys, values, key_scale, value_scale):
    by = _of_heads(key_scale, len(query))
    return _attend(query, keys, values, by * by, after=_of_heads(value_scale, len(query)))


def value_scale_twice(query, keys, values, key_scale, value_scale):
    by = _of_heads(value_scale, len(query))
    return _attend(query, keys, values, _of_heads(key_scale, len(query)), by, by)


def both_twice(query, keys, values, key_scale, value_scale):
    by, after = _of_heads(key_scale, len(query)), _of_heads(value_scale, len(query))
    return _attend(query, keys, values, by * by, after, after)


def divides(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, values, 1 / _of_heads(key_scale, len(query)), 1 / _of_heads(value_scale, len(query)))


def scales_after_the_softmax(query, keys, values, key_scale, value_scale):
    both = _of_heads(key_scale, len(query)) * _of_heads(value_scale, len(query))
    return _attend(query, keys, values, after=both)


def dequantizes(query, keys, values, key_scale, value_scale):
    keys, values = (codes.float() * (scale[:, None] if isinstance(scale, torch.Tensor) else scale)
                    for codes, scale in ((keys, key_scale), (values, value_scale)))
    return _attend(query, keys, values)


def no_softmax_scale(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, values, _of_heads(key_scale, len(query)), after=_of_heads(value_scale, len(query)),
                   factor=1.0)


def scales_as_they_are(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, values, key_scale, after=value_scale)


def key_scale_for_head_dim(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, values, _of_heads(key_scale, len(query)), after=_of_heads(value_scale, len(query)),
                   factor=1 / query.shape[-1])


def scales_before_the_root(query, keys, values, key_scale, value_scale):
    keys_by = _of_heads(key_scale, len(query)) ** 0.5
    return _attend(query, keys, values, keys_by, after=_of_heads(value_scale, len(query)))


def first_scale(query, keys, values, key_scale, value_scale):
    one, other = (scale[0] if isinstance(scale, torch.Tensor) else scale for scale in (key_scale, value_scale))
    return _attend(query, keys, values, one, after=other)


def other_heads_scale(query, keys, values, key_scale, value_scale):
    heads = len(query)
    one, other = (scale.repeat(heads // len(scale))[:, None] if isinstance(scale, torch.Tensor) else scale
                  for scale in (key_scale, value_scale))
    return _attend(query, keys, values, one, after=other)


def other_heads(query, keys, values, key_scale, value_scale):
    share = len(query) // keys.shape[1]
    return _attend(query, keys.float().repeat(1, share, 1), values.float().repeat(1, share, 1),
                   _of_heads(key_scale, len(query)), after=_of_heads(value_scale, len(query)))


def keys_for_values(query, keys, values, key_scale, value_scale):
    return _attend(query, keys, keys, _of_heads(key_scale, len(query)), after=_of_heads(value_scale, len(query)))


def quantizes_the_query(query, keys, values, key_scale, value_scale):
    return _attend(query.to(torch.float8_e4m3fn).float(), keys, values, _of_heads(key_scale, len(query)),
                   after=_of_heads(value_scale, len(query)))


ATTEND_FP8: Any = Exercise(
    name="attend_fp8", lab="09", part="kvlab.compute.attend_fp8", stars=2, core=True, minutes=15,
    checks=(
        attends("scales of 1", Said(), Said(9, heads=4, kv_heads=4), Said(1),
                next="convert keys and values with .float(), then softmax(q @ k * head_dim ** -0.5) @ v"),
        attends("shared KV heads", Said(heads=6), Said(5, heads=4, kv_heads=1), next="let neighbours share a KV head"),
        attends("a scale of the keys", Said(key_scale=0.5), Said(4, 3.0, 2.0, heads=4), next=_KEYS),
        attends("a scale of the values", Said(value_scale=0.5), Said(4, 1.0, 3.0, heads=4), next=_VALUES),
        attends("two scales", Said(key_scale=0.5, value_scale=4.0), Said(7, 3.0, 0.25, 6, 2), next=_FOLD),
        attends("a scale a head", Said(6, (0.5, 2.0), (3.0, 0.25)), Said(5, (0.25, 3.0), (1.0, 2.0), heads=6),
                next=_HEADS),
        corners("values of another size", run, render, Said(6, 0.5, 2.0, value_dim=5),
                next="take the size of the output from values.shape[-1]"),
        Traces("random scales", random_calls, run, render=render, next="go through this call by hand"),
    ),
    mistakes=(
        Mistake(no_scales, "Uses neither scale. What is kept are keys and values divided by theirs.", next=_FOLD),
        Mistake(key_scale_alone, "The values' scale is missing: the output is too large or too small by that factor.",
                next=_VALUES),
        Mistake(value_scale_alone, "The keys' scale is missing: the softmax sees scores of the wrong size.",
                next=_KEYS),
        Mistake(swapped, "The scales are swapped. The keys' belongs to the scores, the values' to the output.",
                next=_FOLD),
        Mistake(key_scale_for_both, "Looks like key_scale twice. Values were divided by value_scale.", next=_VALUES),
        Mistake(both_twice, "Both scales are there twice. Either multiply back, or fold in: once is enough.",
                next=_FOLD),
        Mistake(key_scale_twice, "The keys' scale is there twice, as if the keys had been divided twice.", next=_KEYS),
        Mistake(value_scale_twice, "The values' scale is there twice, as if the values had been divided twice.",
                next=_VALUES),
        Mistake(divides, "Divides by the scales. Numbers were divided when they were kept; now multiply.", next=_FOLD),
        Mistake(scales_after_the_softmax,
                "Multiplies the output by both. The softmax is not linear: the keys' scale must reach the scores.",
                next=_KEYS),
        Mistake(dequantizes,
                "Multiplies every key and value back first: right, and all of them are copied in 32 bits. A sum of "
                "scaled numbers is the sum, scaled.", next=_FOLD),
        Mistake(no_softmax_scale, "The softmax scale is missing. key_scale comes on top of head_dim ** -0.5.",
                next=_KEYS),
        Mistake(key_scale_for_head_dim, "Looks like 1 / head_dim. The square root is missing.",
                next="use head_dim ** -0.5 * key_scale"),
        Mistake(scales_before_the_root, "The root is drawn of the keys' scale too. It belongs to head_dim alone.",
                next="use head_dim ** -0.5 * key_scale"),
        Mistake(scales_as_they_are,
                "Multiplies by [kv_heads] as it is: torch lays that along the last dimension, not the query heads.",
                next=_HEADS),
        Mistake(first_scale, "Takes the first scale for every head.", next=_HEADS),
        Mistake(other_heads, "Looks like h % kv_heads, or repeat: neighbours share a KV head.",
                next="use repeat_interleave on the heads"),
        Mistake(other_heads_scale, "The scales are repeated in another order than the heads. Neighbours share one.",
                next=_HEADS),
        Mistake(keys_for_values, "Looks like keys twice. The output is a mean of values.", next="use values"),
        Mistake(quantizes_the_query, "Rounds the query to 8 bits too. It is used once, so nothing is saved by that.",
                next="leave the query as it is"),
    ),
    hints=(
        "Every key is key_scale times what is kept. A score is a sum of products of query and key: what happens to it "
        "if you leave that factor out, and how can you put it right with one multiplication?",
        "scores = (query · kept keys) * head_dim ** -0.5 * key_scale; output = (weights · kept values) * value_scale. "
        "Convert with .float() where they are used. With a scale a head, each query head takes that of its KV head.",
        "s = torch.as_tensor(key_scale).expand(kv_heads).repeat_interleave(share)[:, None]; scores = "
        'torch.einsum("hd,thd->ht", query, k) * head_dim ** -0.5 * s; the same for the output',
    ),
)
