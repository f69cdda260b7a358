"""What the guard remembers of a program, to explain a fault that comes later."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kvlab.course.interpreter.arguments import Region
from kvlab.course.interpreter.faults import Line


class TableRead(NamedTuple):
    """A load from an integer argument."""

    region: Region
    addresses: np.ndarray
    values: np.ndarray
    mask: np.ndarray


class Overflow(NamedTuple):
    """The first lane of an operation on int32 whose result does not fit, in words: "70,000,000 * 32 = 2,240,000,000".

    operands, exact, wrapped: its two numbers, the result, and what int32 makes of it. lanes: those that do not fit,
    None if that was lost. line: where in the kernel.
    """

    said: str
    operands: tuple[int, int]
    exact: int
    wrapped: int
    lanes: np.ndarray | None
    line: Line


class Suspect(NamedTuple):
    """The first load of a program from elements of one argument that were never written."""

    region: Region
    element: int
    line: Line
