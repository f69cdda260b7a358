"""One call of a learner's part, and what was seen: right or not, why, and whether a mistake shows the same."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvlab.course.compare import same
from kvlab.course.declare import Check, NotWritten, Property, Traces, Wrong
from kvlab.course.guard import Stop
from kvlab.course.shorten import clip
from kvlab.course.tape import Tape

SLIPS = (TypeError, AttributeError, NameError)  # they have many causes: two are alike only if they say the same


@dataclass
class Seen:
    """What one probe showed.

    `kind`: "right", "value" (a wrong result), "argument" (wrongly changed), "raised", "wrong" (a property does not
    hold), "missing" (a method is not written yet) or "late". `sentence` follows the call or the name. `value` and
    `wanted`: the result and the expected one. `next`: what to do about it, where whoever saw it knows.
    """

    kind: str
    sentence: str = ""
    value: Any = None
    wanted: Any = None
    error: BaseException | None = None
    printed: str = ""
    lines: list[str] = field(default_factory=list)  # the trace, as Python
    next: str | None = None

    @property
    def right(self) -> bool:
        """Whether there is nothing to complain about."""
        return self.kind == "right"

    def like(self, other: Seen) -> bool:
        """Whether two wrong observations are of the same kind and show the same."""
        if self.kind != other.kind or self.right:
            return False
        if self.kind == "raised":
            alike = type(self.error) is type(other.error)
            return alike and (not isinstance(self.error, SLIPS) or self.sentence == other.sentence)
        if self.kind != "wrong":
            return same(self.value, other.value)
        marks = [getattr(seen.error, "alike", None) for seen in (self, other)]
        return self.sentence == other.sentence if marks[0] is None else same(*marks)


@dataclass(frozen=True)
class Probe:
    """Something to try on a part, always the same: a call of `Cases`, a `Property`, or one value of `Traces`."""

    check: Check
    title: str  # how the verdict starts: the call, or the exercise's name
    look: Callable[[Any, Tape], Seen]
    args: tuple[Any, ...] = ()  # of a call of `Cases`

    def see(self, part: Any, tape: Tape) -> Seen:
        """Tries it on `part`. What the part raises does not come out, nor what its results raise when looked at."""
        tape.rewind()
        seen, trouble = attempt(lambda: self.look(part, tape))
        if trouble is not None:
            seen = Seen("value", f"gave something that cannot be looked at: that {raised(trouble)}.", error=trouble)
        seen.printed = tape.text
        return seen


def attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The result of `call`, or what it raised. Only the guard's `Stop` and Hypothesis's own signals pass through."""
    try:
        return call(), None
    except Stop:
        raise
    except BaseException as error:
        if type(error).__module__.startswith(("hypothesis", "kvlab.course.traces")):
            raise
        if isinstance(error, (MemoryError, RecursionError)):
            traceback.clear_frames(error.__traceback__)  # lets go of the list that grew
        return None, error


def raised(error: BaseException) -> str:
    """What a learner is told of an exception: "raised ZeroDivisionError: division by zero"."""
    if isinstance(error, MemoryError):
        return "needed more memory than a check may take"
    if isinstance(error, RecursionError):
        return "called itself without end (RecursionError)"
    if isinstance(error, SystemExit):
        return "ended the program with exit()"
    text, _ = attempt(lambda: clip(str(error), 120))
    return f"raised {type(error).__name__}: {text}" if text else f"raised {type(error).__name__}"


def run_probe(check: Property | Traces, title: str, value: tuple[Any, ...] = (),
              lines: Callable[[], list[str]] = list) -> Probe:
    """The probe of a `Property`, or of one value of `Traces`: `run` must not raise."""

    def look(part: Any, tape: Tape) -> Seen:
        _, error = attempt(lambda: check.run(part, *copy.deepcopy(value)))
        if error is None:
            return Seen("right")
        if isinstance(error, NotWritten):
            return Seen("missing", str(error), error=error)
        trace = getattr(error, "shown_lines", None) or lines()
        if isinstance(error, Wrong):
            return Seen("wrong", clip(str(error), 400), error=error, lines=trace, next=error.next)
        return Seen("raised", f"{raised(error).rstrip('.')}.", error=error, lines=trace)

    return Probe(check, title, look)
