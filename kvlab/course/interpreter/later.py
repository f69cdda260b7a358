"""`@kernel` and `tl`, for files that hold kernels and are read where there is no Triton: known mistakes of exercises.

    from kvlab.course.interpreter.later import kernel, tl

    @kernel
    def forgets_the_mask(source, target, n, TILE: tl.constexpr): ...

Such a file needs `from __future__ import annotations`. The guard runs these as it runs `@triton.jit` kernels; they call
no helpers of their own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


class _Language:
    """`triton.language`, imported when it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # somebody who looks what this is
            raise AttributeError(name)
        return getattr(importlib.import_module("triton.language"), name)


class Kernel:
    """A kernel that Triton has not seen yet. `fn` is its Python function, as in Triton's own."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn, self.__name__, self.__doc__ = fn, fn.__name__, fn.__doc__


tl: Any = _Language()


def kernel(fn: Callable[..., Any]) -> Kernel:
    """As `triton.jit`, for the guard alone."""
    return Kernel(fn)
