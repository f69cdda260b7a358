"""Which machine the labs run on, in one sentence, and what that machine cannot check.

The first cell of each lab and `kvlab doctor` print it. Standard library only, and nothing heavy is imported to find out.
"""

from __future__ import annotations

import importlib.util
import os
from typing import NamedTuple

from kvlab import has_gpu


class Mode(NamedTuple):
    """`name` is "gpu", "interpreter" or "no torch"; `sentence` says what runs; `cannot_check` what this machine leaves open."""

    name: str
    sentence: str
    cannot_check: tuple[str, ...]


_TIMINGS = "how fast a kernel is: times measured here say nothing about a GPU"
_LABS_WITHOUT_TORCH = "Labs 00-03 run as they are; the later ones need torch."


def installed(module: str) -> bool:
    """Whether `module` could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a half-removed package, or one that was put into sys.modules by hand
        return False


def mode() -> Mode:
    """The mode of this machine. Never fails, never imports torch or triton, and gives the same answer all day."""
    if not installed("torch"):
        return Mode("no torch", f"No torch is installed. {_LABS_WITHOUT_TORCH}", ("attention and kernels (labs 04-11)",))
    if has_gpu() and os.environ.get("TRITON_INTERPRET") != "1":
        return Mode("gpu", "An NVIDIA GPU is there: kernels are compiled, sizes are large, timings are real.", ())
    bf16 = "bfloat16 arithmetic: Triton's interpreter gets it silently wrong, so the labs use float32 and float16"
    if not installed("triton"):
        return Mode("interpreter", "No GPU and no Triton: everything but the kernels (lab 05) runs.", ("kernels", _TIMINGS))
    why = "TRITON_INTERPRET is set" if has_gpu() else "No GPU"
    return Mode("interpreter", f"{why}: Triton kernels run in its interpreter, on small sizes.", (_TIMINGS, bf16))
