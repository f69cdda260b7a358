"""On a machine with a GPU, a kernel that is right in the interpreter is tried on the GPU before the notebook uses it.

The interpreter knows nothing of what only compilation shows: a construct that Triton does not compile, too much shared
memory, programs that wait for each other. The same launches are run in the sandbox, so whatever happens is a verdict.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from kvlab.course import verdict
from kvlab.course.declare import Exercise, Wrong
from kvlab.course.interpreter import Window
from kvlab.course.launches import Launches, run
from kvlab.course.sandbox import NoHelper, Sandbox, shared
from kvlab.course.say import wrapped
from kvlab.course.traces import rendered
from kvlab.course.verdict import PASSED, Verdict
from kvlab.errors import UsageError
from kvlab.mode import mode

_ALONE = "The GPU's helper process did not start ({}), so the kernel was tried in the interpreter alone."
TOLERANCE = 5e-3  # matrix units of a GPU round float32 to TF32, about three decimal digits (F31)


def confirmed(entry: Exercise, part: Any, found: Verdict, sandbox: Sandbox | None = None) -> Verdict:
    """`found`, or the verdict on what went wrong on the GPU. Where there is none, and for a kernel that did not pass,
    `found` as it is."""
    if found.status != PASSED or (sandbox is None and mode().name != "gpu"):
        return found
    sandbox = sandbox or shared()
    for check in (check for check in entry.checks if isinstance(check, Launches)):
        for value in check.examples:
            launch = check.build(value)
            if any(isinstance(argument, Window) for argument in launch.arguments.values()):
                continue  # what does not exist has no place on a GPU either
            try:
                run(part, launch, sandbox.launch, TOLERANCE)
            except NoHelper as none:
                return dataclasses.replace(found, lines=(*found.lines, *wrapped(_ALONE.format(none), 2)))
            except (Wrong, UsageError) as wrong:
                title = f"{entry.name}: right in the interpreter, but on a GPU not: {wrong}"
                return verdict.failed(entry.name, title, rendered(check, entry.name, value),
                                      next=getattr(wrong, "next", None), part=entry.part)
    return found
