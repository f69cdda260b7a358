"""What help_me() shows about a failed check: the whole of what was seen, where the code was, and what it printed."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FrameType

from kvlab.course import observe
from kvlab.course.declare import Wrong
from kvlab.course.observe import Seen
from kvlab.course.say import paragraph
from kvlab.course.shorten import clip, show

IsOwn = Callable[[FrameType], bool]  # whether a frame is of the learner's code
Place = tuple[FrameType, int]

_FRAMES = 8
_PRINTED = 15
_LONG = 600  # characters of a value


def text(title: str, seen: Seen, is_own: IsOwn, says: str | None = None) -> str:
    """The sentence, the trace or the values in full, the exception with the learner's own lines, what was printed."""
    parts = [paragraph(f"✗ {title}")]
    if says:
        parts.append(paragraph(says, "  "))
    if seen.lines:
        parts.append("What was run:\n" + _indented(seen.lines))
    if seen.kind == "value" and len(show(seen.value, _LONG)) > 60:
        parts.append(paragraph(f"It returned: {show(seen.value, _LONG)}"))
        parts.append(paragraph(f"Expected: {show(seen.wanted, _LONG)}"))
    error = seen.error.__cause__ if isinstance(seen.error, Wrong) else seen.error
    if error is not None:
        steps = _steps(traceback.walk_tb(error.__traceback__), is_own)
        parts.append("Where, in your code:\n" + steps if steps else "That happened outside your code.")
    parts += _printed(seen)
    if len(parts) == 1 + bool(says):
        parts.append("Nothing was printed, and there is no more to see. hint() asks the question that comes next.")
    return "\n".join(parts)


def own_frames(frame: FrameType | None, is_own: IsOwn) -> list[Place]:
    """The learner's frames above the check, the innermost last."""
    return [place for place in reversed(list(_down_to_check(frame))) if is_own(place[0])]


def where(title: str, seen: Seen, frame: FrameType | None, is_own: IsOwn) -> str:
    """For code that ran out of time: the line at which it was."""
    steps = _steps(own_frames(frame, is_own), is_own)
    parts = [paragraph(f"✗ {title}"), "When time was up, your code was here:\n" + steps if steps else ""]
    return "\n".join([*filter(None, parts), *_printed(seen)])


def _down_to_check(frame: FrameType | None) -> Iterator[Place]:
    """The frames from where the code was down to the check that called it."""
    for place in traceback.walk_stack(frame) if frame is not None else ():
        if place[0].f_code.co_filename == observe.__file__:
            return
        yield place


def _printed(seen: Seen) -> list[str]:
    """What the learner's code printed during the failing call, its last lines if it was much."""
    lines = [clip(line, 106) for line in seen.printed.rstrip().splitlines()]
    if not lines:
        return []
    head = "Your code printed:" if len(lines) <= _PRINTED else f"Your code printed, in its last {_PRINTED} lines:"
    return [f"{head}\n{_indented(lines[-_PRINTED:])}"]


def _steps(frames: Iterable[Place], is_own: IsOwn) -> str:
    """One line per frame of the learner's: "line 3, in blocks_needed: return a // b"."""
    lines = []
    for frame, number in frames:
        code = frame.f_code
        if is_own(frame):
            source = linecache.getline(code.co_filename, number).strip()
            lines.append(clip(f"line {number}, in {code.co_name}: {source}", 106))
    if len(lines) > _FRAMES:
        lines = [*lines[:3], f"... {len(lines) - 6} more", *lines[-3:]]
    return _indented(lines)


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
