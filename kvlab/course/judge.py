"""From a function or class to a verdict. `exercise` does this for the learner's, tests for finished parts and
mistakes."""

from __future__ import annotations

from types import FrameType
from typing import Any

from kvlab.course import borrowed, verdict
from kvlab.course.checker import Checker
from kvlab.course.declare import Exercise, Traces
from kvlab.course.guard import BrokenCheck, guarded
from kvlab.course.launches import Launches
from kvlab.course.lowering import lowered
from kvlab.course.notebooks import as_handed_out
from kvlab.course.ondevice import confirmed
from kvlab.course.registry import part_of
from kvlab.course.source import Source, source_of, untouched, untouched_methods
from kvlab.course.verdict import Verdict
from kvlab.mode import mode


def judge(entry: Exercise, part: Any, names: dict[str, Any] | None = None, source: Source | None = None) -> Verdict:
    """Checks `part` as a solution of `entry` and returns the verdict. Never raises what `part` raises; BrokenCheck
    if the check itself is at fault."""
    part_of(entry)  # what is imported here need not be imported in each forked check
    for check in entry.checks:
        if isinstance(check, Launches):
            check.prepare()
    if any(isinstance(check, Traces) and check.make is not None for check in entry.checks):
        import hypothesis  # noqa: F401
    ending = guarded(Checker(entry, part, names, _unwritten(entry, source)), entry.seconds, entry.isolate)
    if ending.how == "broken":
        raise BrokenCheck(ending.report["trouble"])
    return verdict.of_ending(entry.name, ending, entry.part)


def _unwritten(entry: Exercise, source: Source | None) -> list[str]:
    """The methods and properties of the finished part that the learner has left empty."""
    finished = part_of(entry)
    if source is None or not isinstance(finished, type):
        return []
    return [name for name in untouched_methods(source.node) if hasattr(finished, name)]


def judge_learners(entry: Exercise, part: Any, frame: FrameType) -> tuple[Verdict, Source | None]:
    """The verdict on what a learner wrote in the namespace of `frame`, and its source. The finished part in the
    learner's place, or an untouched body, is not checked at all."""
    source = source_of(part, frame)
    trouble = borrowed.sentence(entry, part, source, frame.f_globals)
    if trouble:
        return verdict.failed(entry.name, trouble), source
    if source is not None and (untouched(source.node) or as_handed_out(entry, source.node)):
        return verdict.untouched(entry.name, entry.part), source
    found = judge(entry, part, frame.f_globals, source)
    if hasattr(part, "fn"):
        found = confirmed(entry, part, found) if mode().name == "gpu" else lowered(entry, part, found)
    return found, source
