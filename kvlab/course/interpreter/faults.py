"""What a kernel did wrong, in one or two sentences that name the argument, the index, the program and the line."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple

from kvlab.course.shorten import clip
from kvlab.errors import KVLabError

HERE = os.path.dirname(os.path.abspath(__file__))


class Line(NamedTuple):
    """A line of a kernel: its number within the function, the `def` being line 1, its text, and the function's name if
    it is a helper that the kernel calls."""

    number: int
    text: str
    helper: str = ""

    def __str__(self) -> str:
        where = f"line {self.number}" + (f" of {self.helper}" if self.helper else "")
        return f"{where}: {self.text}" if self.text else where


NOWHERE = Line(0, "")


class KernelFault(KVLabError):
    """A kernel did what would crash, or silently go wrong, on a GPU.

    kind: "range" (a load or store just outside an argument), "wild" (far outside, or by a block id from a table),
    "uninitialised" (what was never written reached a store), "race" (two programs touch one element and one of them
    writes), "overflow" (an address that left int32) or "bfloat16" (which the interpreter gets wrong). From the sandbox
    (`kvlab.course.sandbox`), where there is a GPU: "crash", "hang" or "device" (it does not compile, or raises).
    argument: the name of the tensor in the kernel's signature, "" if there is none.
    index: the element's offset in that argument, None if there is none.
    program: the program's id, as many numbers as the grid has. line: where in the kernel.
    sentence: all of that in words, with the line. alike: the same without the line, to compare two kernels by.
    """

    def __init__(self, kind: str, what: str, *, argument: str = "", index: int | None = None,
                 program: tuple[int, ...] = (), line: Line = NOWHERE, next: str = "") -> None:
        where = f" {named(program).capitalize()}, {line}" if line.number else ""
        self.sentence = f"{what}{where}{'' if line.text.endswith('.') or not where else '.'}"
        super().__init__(self.sentence)
        self.kind, self.alike, self.argument, self.index = kind, f"{kind}: {what}", argument, index
        self.program, self.line, self.next = program, line, next

    def __reduce__(self) -> tuple[object, ...]:  # the default would call __init__ with the message alone
        return _again, (self.kind, self.sentence, dict(vars(self)))


def _again(kind: str, sentence: str, state: dict[str, object]) -> KernelFault:
    fault = KernelFault(kind, sentence)
    vars(fault).update(state)
    return fault


def named(program: Sequence[int]) -> str:
    """"program 3" in a grid of one axis, "program (3, 0)" in a grid of two."""
    return f"program {program[0]}" if len(program) == 1 else f"program ({', '.join(map(str, program))})"


def current_line(kernel: str = "") -> Line:
    """The line of the kernel that is running: the innermost frame that is neither Triton's nor the guard's. `kernel`:
    the kernel's own name."""
    frame: FrameType | None = sys._getframe(1)
    foreign = (HERE + os.sep, os.sep + "triton" + os.sep)
    while frame is not None and any(part in frame.f_code.co_filename for part in foreign):
        frame = frame.f_back
    if frame is None:
        return NOWHERE
    code = frame.f_code
    text = linecache.getline(code.co_filename, frame.f_lineno).strip()
    helper = "" if code.co_name == kernel else code.co_name
    return Line(frame.f_lineno - code.co_firstlineno + 1, clip(text, 90), helper)
