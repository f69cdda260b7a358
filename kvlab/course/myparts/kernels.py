"""The learner's kernels where the engine launches them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kvlab.course.interpreter import guarded
from kvlab.course.interpreter.launch import function_of


class _Interpreted:
    """A kernel that is launched in Triton's interpreter under the bounds guard."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.arg_names = kernel, list(inspect.signature(function_of(kernel)).parameters)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *arguments: guarded(self.kernel, grid, *arguments, poisoned=())


def launchable(kernel: Any, device: Any) -> Any:
    """What is launched on a grid: the kernel itself on a GPU, and under guard elsewhere. device: a `torch.device`."""
    return kernel if device.type == "cuda" else _Interpreted(kernel)
