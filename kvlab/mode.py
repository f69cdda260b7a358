"""Which machine the labs run on, in one sentence, and what that machine cannot check.

The first cell of each lab and `kvlab doctor` print it. Standard library only, and nothing heavy is imported for it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from types import ModuleType
from typing import NamedTuple

from kvlab import has_gpu


class Mode(NamedTuple):
    """How the labs run here.

    name: "gpu", "interpreter", "cpu torch" (a GPU that this torch cannot use) or "no torch".
    sentence: what runs, to print as it is.
    cannot_check: what this machine leaves open, a phrase each.
    """

    name: str
    sentence: str
    cannot_check: tuple[str, ...]


_TIMINGS = "how fast a kernel is: times measured here say nothing about a GPU"
_BF16 = "bfloat16 arithmetic: Triton's interpreter gets it silently wrong, so the labs use float32 and float16"


def installed(module: str) -> bool:
    """Whether `module` could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a half-removed package, or one that was put into sys.modules by hand
        return False


def widgets() -> ModuleType | None:
    """ipywidgets, or None where it is not installed or older than 8, whose widgets show themselves in another way.

    Colab comes with version 7, and its notebooks with its own copy of what draws them: pictures and text remain there.
    """
    try:
        import ipywidgets
    except ImportError:
        return None
    return ipywidgets if int(ipywidgets.__version__.split(".")[0]) >= 8 else None


def _torch_is_a_cpu_build() -> bool:
    try:
        return importlib.metadata.version("torch").endswith("+cpu")
    except importlib.metadata.PackageNotFoundError:
        return False


def _with_gpu() -> Mode:
    if _torch_is_a_cpu_build():
        advice = "install torch's default build to use it"
        return Mode("cpu torch", f"A GPU is there, but this torch is a CPU build: {advice}.", ("kernels", _TIMINGS))
    return Mode("gpu", "An NVIDIA GPU is there: kernels are compiled, sizes are large, timings are real.", ())


def mode() -> Mode:
    """The mode of this machine. Never fails, never imports torch or triton, and gives the same answer all day."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not installed("torch"):
        sentence = "No torch is installed: labs 00-03 run as they are, the later ones need it."
        return Mode("no torch", sentence, ("attention and kernels (labs 04-11)",))
    if has_gpu() and not interpreted:
        return _with_gpu()
    why = "TRITON_INTERPRET is set" if has_gpu() else "No GPU"
    if not installed("triton"):
        return Mode("interpreter", f"{why}, and no Triton: all but the kernels (lab 05) runs.", ("kernels", _TIMINGS))
    return Mode("interpreter", f"{why}: Triton kernels run in its interpreter, on small sizes.", (_TIMINGS, _BF16))
