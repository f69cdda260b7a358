"""What the exercises that run operations share: fixed scenarios as Python, and refusals by the named exception."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from kvlab.course.declare import Traces, Wrong
from kvlab.course.shorten import clip, show

Refusal = TypeVar("Refusal", bound=Exception)


def scenarios(name: str, run: Callable[[Any, Any], Any], render: Callable[[Any], list[str]], *values: Any,
              invariant: str | None = None, next: str | None = None) -> Traces:
    """A check that runs exactly these values, and shows the one that fails as Python lines."""

    def make() -> Any:
        from hypothesis import strategies as st  # not at import: the labs open faster without it

        return st.just(values[0])

    return Traces(name, make, run, examples=values, render=render, invariant=invariant, next=next)


def corners(name: str, run: Callable[[Any, Any], Any], render: Callable[[Any], list[str]], *values: Any,
            invariant: str | None = None, next: str | None = None) -> Traces:
    """The same, but not before everything else holds. A slip in a corner (nothing to do, an odd layout) is common
    beside a wrong thought, and would hide which thought it is: a mistake has to explain all that was seen."""

    def make() -> Any:
        from hypothesis import strategies as st

        return st.sampled_from(values)

    return Traces(name, make, run, render=render, invariant=invariant, next=next)


def refused(call: Callable[[], Any], what: str, kind: type[Refusal], why: str, damage: Callable[[], str] = str,
            accepted: str = "was accepted", next: str | None = None) -> Refusal:
    """The exception that `call` must raise: `kind` or a subclass, because that is what the callers catch.

    `damage()` says what an accepted call has changed, so that doing nothing and doing harm read differently;
    `accepted` is how an accepted call that returned None reads. `next`: what to do where it is not the part itself that
    should raise; else to raise `kind`.
    """
    try:
        got = call()
    except kind as refusal:
        return refusal
    except Exception as other:
        slip = isinstance(other, (TypeError, NameError, AttributeError)) and not _bare(other, kind)
        raise Wrong(f"{what} {_said(other, kind)}, expected {kind.__name__}, which callers catch: {why}.",
                    next=None if slip else next or f"raise {_written(kind)}") from other
    shown = f"returned {show(got, 40)}" if got is not None else accepted
    raise Wrong(f"{what} {shown}, expected {kind.__name__}: {why}{damage()}.",
                next=next or f"raise {_written(kind)}")


def _written(kind: type[Exception]) -> str:
    """How the exception is written: with its numbers, if it is made of some."""
    if "__init__" not in vars(kind):
        return kind.__name__
    return f"{kind.__name__}({', '.join(inspect.signature(kind).parameters)})"


def _bare(other: Exception, kind: type[Exception]) -> bool:
    return isinstance(other, TypeError) and f"{kind.__name__}.__init__" in str(other)


def _said(other: Exception, kind: type[Exception]) -> str:
    """How the wrong exception reads: with its text where it is a slip of the code and no refusal at all."""
    if _bare(other, kind):
        return f"made {kind.__name__} without its numbers ({', '.join(inspect.signature(kind).parameters)})"
    spoken = isinstance(other, (TypeError, NameError, AttributeError))
    return f"raised {type(other).__name__}" + (f": {clip(str(other), 60)}" if spoken else "")


def is_count(value: Any) -> bool:
    """Whether `value` is a whole number: an int or a numpy integer, not a float and not True."""
    return hasattr(value, "__index__") and not isinstance(value, bool)
