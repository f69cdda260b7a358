"""One call of a learner's part, and what was seen: right or not, why, and whether a mistake shows the same."""

from __future__ import annotations

import copy
import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvlab.course.compare import difference, is_plain, same
from kvlab.course.declare import Cases, Check, Wrong
from kvlab.course.guard import Stop
from kvlab.course.shorten import call_text, clip, show
from kvlab.course.tape import Tape

_SPOKEN = (TypeError, AttributeError, NameError)  # they have many causes: two are alike only if they say the same


@dataclass
class Seen:
    """What one probe showed. `kind`: "right", "value" (a wrong result), "raised", "wrong" (a property) or "argument"."""

    kind: str
    sentence: str = ""
    value: Any = None
    error: BaseException | None = None
    printed: str = ""
    lines: list[str] = field(default_factory=list)  # the trace, as Python

    @property
    def right(self) -> bool:
        return self.kind == "right"

    def like(self, other: Seen) -> bool:
        """Whether two wrong observations are of the same kind and say the same."""
        if self.kind != other.kind or self.right:
            return False
        if self.kind == "raised":
            alike = type(self.error) is type(other.error)
            return alike and (not isinstance(self.error, _SPOKEN) or str(self.error) == str(other.error))
        return self.sentence == other.sentence if self.kind == "wrong" else same(self.value, other.value)


@dataclass(frozen=True)
class Probe:
    """Something to try on a part, always the same: a call of `Cases`, a `Property`, or a value of `Traces`."""

    check: Check
    title: str  # how the verdict starts: the call, or the exercise's name
    look: Callable[[Any, Tape], Seen]

    def see(self, part: Any, tape: Tape) -> Seen:
        """Tries it on `part`. Nothing that the part raises comes out, but for `Stop` and what Hypothesis steers with."""
        tape.rewind()
        seen = self.look(part, tape)
        seen.printed = tape.text
        return seen


def attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The result of `call`, or what it raised."""
    try:
        return call(), None
    except Stop:
        raise
    except MemoryError as error:
        traceback.clear_frames(error.__traceback__)  # lets go of the list that grew
        return None, error
    except BaseException as error:
        if type(error).__module__.startswith("hypothesis"):
            raise
        return None, error


def case_probe(name: str, finished: Any, check: Cases, args: tuple[Any, ...]) -> Probe:
    """The probe that calls a part with `args` and compares it with the finished part."""

    def look(part: Any, tape: Tape) -> Seen:
        trouble = _arity(part, finished, args)
        if trouble:
            return Seen("wrong", trouble)
        wanted_args, got_args = copy.deepcopy(args), copy.deepcopy(args)
        wanted, refusal = attempt(lambda: finished(*wanted_args))
        tape.rewind()
        got, error = attempt(lambda: part(*got_args))
        if error is not None or refusal is not None or check.raises:
            return _judge_raised(check, wanted, refusal, got, error)
        return _judge_value(check, wanted, got, tape) or _judge_arguments(finished, args, wanted_args, got_args)

    return Probe(check, call_text(name, finished, args), look)


def _arity(part: Any, finished: Any, args: tuple[Any, ...]) -> str:
    """The sentence for a part that cannot be called with that many arguments, or an empty string."""
    try:
        signature = inspect.signature(part)
        signature.bind(*args)
    except TypeError:
        wanted = ", ".join(list(inspect.signature(finished).parameters)[: len(args)])
        return f"cannot be called with ({wanted}): your definition takes {clip(str(signature), 50)}."
    except ValueError:  # no signature to be had
        pass
    return ""


def _judge_raised(check: Cases, wanted: Any, refusal: BaseException | None, got: Any, error: BaseException | None) -> Seen:
    allowed = check.raises or (type(refusal) if refusal is not None else ())
    kinds = allowed if isinstance(allowed, tuple) else (allowed,)
    expected = f"expected {' or '.join(kind.__name__ for kind in kinds)}" if kinds else f"expected {show(wanted)}"
    if error is None:
        return Seen("value", f"returned {show(got)}, {expected}.", value=got)
    if isinstance(error, kinds):
        return Seen("right")
    return Seen("raised", f"{raised(error)}, {expected}.", error=error)


def raised(error: BaseException) -> str:
    """"raised ZeroDivisionError: division by zero"."""
    if isinstance(error, MemoryError):
        return "needed more memory than a check may take (512 MB)"
    if isinstance(error, RecursionError):
        return "called itself without end (RecursionError)"
    if isinstance(error, SystemExit):
        return "ended the program with exit()"
    try:
        text = clip(str(error), 120)
    except BaseException:
        text = ""
    return f"raised {type(error).__name__}: {text}" if text else f"raised {type(error).__name__}"


def _judge_value(check: Cases, wanted: Any, got: Any, tape: Tape) -> Seen | None:
    odd = _odd_result(wanted, got, tape)
    if odd:
        return Seen("value", odd, value=got)
    agree, _ = attempt(lambda: bool((check.compare or same)(wanted, got)))
    if agree:
        return None
    return Seen("value", f"{difference(wanted, got)}.", value=got)


def _odd_result(wanted: Any, got: Any, tape: Tape) -> str:
    """The sentence for the results that a beginner is puzzled by, or an empty string."""
    if inspect.iscoroutine(got):
        got.close()
        return "returned a coroutine, because of `async def`; a plain `def` is what is needed."
    if (inspect.isgenerator(got) or inspect.isasyncgen(got)) and not inspect.isgenerator(wanted):
        return f"returned a generator, because of `yield`, expected {show(wanted)}."
    if got is None and wanted is not None:
        if tape.text.strip():
            return f"printed {clip(tape.text, 40)} and returned nothing (None), expected it to return {show(wanted)}."
        return f"returned nothing (None), expected {show(wanted)}; is a `return` missing?"
    if got is NotImplemented or got is Ellipsis:
        return f"returned {show(got)}, which stands for something still to be written, expected {show(wanted)}."
    return ""


def _judge_arguments(finished: Any, given: tuple, wanted: tuple, got: tuple) -> Seen:
    """Whether the call left its arguments as the finished part leaves them."""
    try:
        names = list(inspect.signature(finished).parameters)
    except (TypeError, ValueError):
        names = []
    for place, (start, one, other) in enumerate(zip(given, wanted, got, strict=True)):
        if not is_plain(one) or same(one, other):
            continue
        name = names[place] if place < len(names) else f"number {place + 1}"
        left = "to be left as it was" if same(start, one) else f"it to be {show(one, 40)}"
        return Seen("argument", f"left its argument {name} as {show(other, 40)}, expected {left}.", value=other)
    return Seen("right")


def run_probe(check: Any, title: str, value: tuple[Any, ...] = (), lines: Callable[[], list[str]] = list) -> Probe:
    """The probe of a `Property` or of one value of `Traces`: their `run` must not raise."""

    def look(part: Any, tape: Tape) -> Seen:
        _, error = attempt(lambda: check.run(part, *copy.deepcopy(value)))
        if error is None:
            return Seen("right")
        if isinstance(error, Wrong):
            return Seen("wrong", str(error), error=error, lines=lines())
        return Seen("raised", f"{raised(error)}.", error=error, lines=lines())

    return Probe(check, title, look)
