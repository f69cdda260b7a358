"""Runs a check so that nothing a learner's code does reaches the notebook: no exception, no endless loop, no lost
memory.

Two ways. On Linux the check runs in a forked copy of the kernel, which is killed when its time is up (`forked.py`).
That stops everything, and whatever the code changes is gone with the copy. Elsewhere, and for exercises that need this
process (a GPU does), it runs in a thread that is stopped by exceptions (`threaded.py`). That stops Python code, but not
a call into C that never returns.
"""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from kvlab.errors import KVLabError

Report = dict[str, Any]
Emit = Callable[[Report], None]

MEMORY = 256 * 2**20  # bytes that a check may take on top of what the kernel has
GRACE = 1.0  # seconds after the time limit in which a check may still say where it was
STRETCH = 1.6  # by which the time limit is stretched for a check that hardly got to run, on a machine that is busy


class BrokenCheck(KVLabError):
    """A check raised by itself: its declaration, or the engine, has a fault. The text names what it raised."""


def described(trouble: BaseException) -> str:
    """What a check raised by itself, and where, in one line."""
    last = traceback.extract_tb(trouble.__traceback__)[-1:]
    place = "".join(f" in {os.path.basename(frame.filename)}, line {frame.lineno}" for frame in last)
    return f"{type(trouble).__name__}: {trouble}{place}"


def starved(processor_seconds: float, seconds: float) -> bool:
    """Whether a check that ran out of its `seconds` had the processor for less than half of them."""
    return processor_seconds < seconds / 2


class Stop(BaseException):
    """Thrown into a learner's code that ran out of time in a thread. Only the guard catches it."""


def throw(thread: int, what: type[Stop] | None) -> None:
    """Has the thread of that id raise `what` before its next step in Python; None takes back what has not arrived."""
    thrown = ctypes.py_object(what) if what else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), thrown)


class Work(Protocol):
    """What can be run under guard. Reports are plain data (JSON); the last one given counts."""

    def setting(self) -> AbstractContextManager[None]:
        """What must hold while it runs, and be put back afterwards: where prints go, what a name means."""

    def run(self, emit: Emit) -> None:
        """Does the work and hands over reports as soon as there is one."""

    def late(self, frame: FrameType | None) -> Report:
        """A report for the moment at which time ran out; `frame` is where the code was."""


@dataclass
class Ending:
    """How it ended: "done", "late", "memory", "crashed" (by a signal), "ended" (by itself), "interrupted" (by the user)
    or "broken" (the work itself raised, which is no fault of the code it checks)."""

    how: str = "ended"
    report: Report = field(default_factory=dict)


def guarded(work: Work, seconds: float = 5.0, isolate: bool = True) -> Ending:
    """Runs `work` and returns how it ended, whatever the code does: after `seconds` it is stopped, or after 1.6 times
    as many if the machine was too busy to let it run. With 5 seconds nothing takes longer than ten."""
    if isolate and sys.platform == "linux" and hasattr(os, "fork"):
        from kvlab.course import forked

        try:
            return forked.run(work, seconds)
        except OSError:  # no more processes allowed here
            pass
    from kvlab.course import threaded

    return threaded.run(work, seconds)
