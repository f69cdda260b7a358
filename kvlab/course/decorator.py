"""`@exercise`: checks what the learner wrote, says so, and binds the name to it or to the finished part."""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any, TypeVar

from kvlab.course import registry
from kvlab.course.declare import Exercise
from kvlab.course.guard import BrokenCheck
from kvlab.course.interpreter import unavailable
from kvlab.course.judge import judge_learners
from kvlab.course.say import paragraph, say
from kvlab.course.session import session
from kvlab.course.shorten import clip
from kvlab.course.source import name_of
from kvlab.course.verdict import LINES, PASSED

Part = TypeVar("Part")
_MEANWHILE = "Until it passes, the other cells go on with the finished part from kvlab."


def exercise(part: Part) -> Part:
    """Checks a function or class against the exercise of its name, prints the verdict, and returns it if it passed.

    Otherwise the finished part is returned, so that the rest of the lab runs. What has no exercise of its name is
    returned as it is, with a line that says so. Nothing is raised, whatever the learner's code does.
    """
    frame = sys._getframe(1)
    try:
        return _checked(part, frame)
    except KeyboardInterrupt:
        say("✗ The check was interrupted, so it did not count. Run the cell again.")
    except BaseException as trouble:
        name = "" if isinstance(trouble, BrokenCheck) else f"{type(trouble).__name__}: "
        what = clip(f"{name}{trouble}", 105)
        say(f"✗ The check itself failed. That is the fault of kvlab, not yours; please report it:\n  {what}")
    return part


def _checked(part: Any, frame: FrameType) -> Any:
    name = name_of(part)
    if name is None or name == "<lambda>" or not (callable(part) or hasattr(part, "fn")):
        say("✗ @exercise belongs on the line above a `def` or a `class`, without parentheses.")
        return part
    entry = registry.find(name)
    if entry is None:
        say("✗ " + registry.unknown(name))
        return part
    try:
        return _judged(entry, part, frame)
    except ModuleNotFoundError as missing:
        sentence = registry.lacking(entry.lab, missing)
        if not sentence:
            raise
        say(sentence)
        return part


def _say_once(sentence: str) -> None:
    """Says it if it has not been said since the kernel started."""
    if sentence and sentence not in session().said:
        session().said.append(sentence)
        say(paragraph(sentence))


def _judged(entry: Exercise, part: Any, frame: FrameType) -> Any:
    started = time.monotonic()
    verdict, source = judge_learners(entry, part, frame)
    session().note(entry, verdict, source, time.monotonic() - started)
    say(verdict.text)
    if verdict.mistake is not None and len(verdict.lines) < LINES:  # without a diagnosis the verdict says it itself
        _say_once(_MEANWHILE)
    if hasattr(part, "fn"):
        _say_once(unavailable())
    return part if verdict.status == PASSED else registry.part_of(entry)
