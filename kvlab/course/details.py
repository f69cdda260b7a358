"""What help_me() shows about a failed check: where the learner's code was, and what it printed."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Iterable
from types import FrameType

from kvlab.course.declare import Wrong
from kvlab.course.observe import Probe, Seen, raised
from kvlab.course.shorten import clip

IsOwn = Callable[[str], bool]

_FRAMES = 8
_PRINTED = 15


def text(probe: Probe, seen: Seen, is_own: IsOwn) -> str:
    """The trace or call, the exception with the learner's own lines, and the end of what was printed."""
    parts = []
    if seen.lines:
        parts.append("What was run:\n" + _indented(seen.lines))
    if seen.error is not None and not isinstance(seen.error, Wrong):
        steps = _own_steps(seen.error, is_own)
        parts.append(f"It {raised(seen.error)}" + (".\n" + steps if steps else ", outside your code."))
    return "\n".join([*parts, *printed(seen)])


def where(probe: Probe, seen: Seen, frame: FrameType | None, is_own: IsOwn) -> str:
    """For code that ran out of time: the line at which it was."""
    steps = _steps(reversed(list(traceback.walk_stack(frame))), is_own) if frame is not None else ""
    return "\n".join([*(["When time was up, your code was here:\n" + steps] if steps else []), *printed(seen)])


def printed(seen: Seen) -> list[str]:
    """What the learner's code printed during the failing call, its last lines if it was much."""
    lines = [clip(line, 106) for line in seen.printed.rstrip().splitlines()]
    if not lines:
        return []
    head = "Your code printed:" if len(lines) <= _PRINTED else f"Your code printed, in its last {_PRINTED} lines:"
    return [f"{head}\n{_indented(lines[-_PRINTED:])}"]


def _own_steps(error: BaseException, is_own: IsOwn) -> str:
    return _steps(traceback.walk_tb(error.__traceback__), is_own)


def _steps(frames: Iterable[tuple[FrameType, int]], is_own: IsOwn) -> str:
    """One line per frame of the learner's: "line 3, in blocks_needed: return a // b"."""
    lines = []
    for frame, number in frames:
        code = frame.f_code
        if is_own(code.co_filename):
            source = linecache.getline(code.co_filename, number).strip()
            lines.append(clip(f"line {number}, in {code.co_name}: {source}", 106))
    if len(lines) > _FRAMES:
        lines = [*lines[:3], f"... {len(lines) - 6} more", *lines[-3:]]
    return _indented(lines)


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
