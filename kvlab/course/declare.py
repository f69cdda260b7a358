"""How an exercise is declared: its finished part, its checks, the mistakes people make, and three hints.

A lab's file `kvlab/course/exercises/labNN.py` holds a list `EXERCISES` of `Exercise`. Nothing else has to be
registered: the name of the exercise is the name of the function or class that the learner writes.

Three kinds of checks, in the order in which they are tried and named in the verdict:
- `Cases`: calls with fixed arguments; the finished part says what is expected.
- `Property`: a function that is given the learner's object and raises `Wrong("a sentence")` if the property does not
  hold.
- `Traces`: the same over a value that Hypothesis makes up and shrinks, usually a list of operations.

Sentences follow the name of the exercise ("BlockPool: after two takes num_free is 3, expected 2."), so they start in
lower case and end with a full stop, and they never name a way to do it, only what was seen and what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any


class Wrong(Exception):
    """Raised by a `Property` or `Traces` run: the learner's part did not do what it must. The text is one sentence.

    `next`: what to do about just this, in place of the check's own. `alike`: what a mistake must show to be this one,
    where the sentence says more than that (a line of the learner's) or less (one number of a tensor).
    """

    def __init__(self, sentence: str, next: str | None = None, alike: Any = None) -> None:
        super().__init__(sentence)
        self.next, self.alike = next, alike


class NotWritten(BaseException):
    """Raised during a check by a method that the learner has left empty; the text is its name, such as "take()". A
    `run` that can do without the method may catch it."""


@contextmanager
def shows(lines: Callable[[], list[str]]) -> Iterator[None]:
    """Whatever fails inside is shown with these lines of Python in place of the whole trace: those that were run."""
    try:
        yield
    except BaseException as error:
        if not hasattr(error, "shown_lines"):
            with suppress(AttributeError):
                error.shown_lines = lines()  # type: ignore[attr-defined]
        raise


@dataclass(frozen=True, init=False)
class Cases:
    """Calls of the learner's function with fixed positional arguments, compared with the finished part's answer.

    Each argument tuple is deep-copied for each call. An argument made of plain data (numbers, text, lists, dicts,
    arrays) must also be left by the call as the finished part leaves it.

    `raises`: the exception type (or a tuple of types) that every one of these calls must raise. Without it, a case in
    which the finished part raises expects that type. `compare(expected, got) -> bool`: replaces the comparison of
    results, for answers that may differ and be right; it may raise `Wrong` to say which part is not. `invariant` ("I3")
    goes into the verdict, and `next` ("treat the exact multiple") is said after a wrong value; other failures bring
    their own advice (`kvlab.course.advice`). Of the cases that fail, the one with the smallest numbers is shown.
    """

    name: str
    calls: tuple[tuple[Any, ...], ...]
    invariant: str | None = None
    next: str | None = None
    compare: Callable[[Any, Any], bool] | None = None
    raises: type[BaseException] | tuple[type[BaseException], ...] | None = None

    def __init__(self, name: str, *calls: tuple[Any, ...], invariant: str | None = None, next: str | None = None,
                 compare: Callable[[Any, Any], bool] | None = None,
                 raises: type[BaseException] | tuple[type[BaseException], ...] | None = None) -> None:
        wrong = [call for call in calls if not isinstance(call, tuple)]
        if not calls or wrong:
            raise TypeError(f"Cases({name!r}) needs tuples of arguments, as (1, 16) or ([3],); got {wrong or 'none'}")
        for field, value in (("name", name), ("calls", calls), ("invariant", invariant), ("next", next),
                             ("compare", compare), ("raises", raises)):
            object.__setattr__(self, field, value)


@dataclass(frozen=True)
class Property:
    """`run(part)` raises `Wrong("sentence.")` if `part`, the learner's function or class, lacks the property.

    What the part raises by itself is reported as such, so `run` needs no `try` around its calls.
    """

    name: str
    run: Callable[[Any], Any]
    invariant: str | None = None
    next: str | None = None


@dataclass(frozen=True)
class Traces:
    """`run(part, value)` must not raise `Wrong` for any `value` of `make`. A failing value is shrunk to the shortest
    one.

    `make`: a Hypothesis strategy, or a function without arguments that returns one; None tries the examples alone.
    Usually it makes pairs `(constructor arguments, operations)`, such as `((4,), [("take", 2), ("release", [0])])`.
    `examples`: values tried first, always the same. Mistakes are recognised by them (and by `Cases` and `Property`), so
    give one on which each mistake goes wrong.
    `render(value) -> list of lines`: the value as Python lines for the verdict. Left out, a pair as above is shown as
    `p = BlockPool(4)`, `p.take(2)`, `p.release([0])`, and anything else by its repr.
    """

    name: str
    make: Any
    run: Callable[[Any, Any], Any]
    examples: Sequence[Any] = ()
    render: Callable[[Any], list[str]] | None = None
    invariant: str | None = None
    next: str | None = None


Check = Cases | Property | Traces


@dataclass(frozen=True)
class Mistake:
    """A function or class that a beginner might write, and what to say to the person who did.

    `says` is one or two short sentences that name the thinking, not the person: "Looks like n // B + 1, which adds a
    block even when the last one is exactly full." It is said when the learner's code gives what this code gives
    wherever the learner's is wrong. `invariant` and `next` take the place of the failing check's. `mutates`: the name
    of the argument that this code changes although it must not, if that is the mistake. A mistake must end: an endless
    loop cannot be recognised.
    """

    code: Callable[..., Any]
    says: str
    invariant: str | None = None
    next: str | None = None
    mutates: str | None = None


@dataclass(frozen=True)
class Exercise:
    """One exercise. `part` is the dotted name of the finished part, with which the lab goes on until the learner's
    passes.

    `stars` 1-3, `core` False for extra ones, `minutes` as a learner needs. `hints`: a question, the idea, nearly code.
    `isolate` False checks in the kernel's own process instead of a forked copy of it (what uses a GPU has to);
    `seconds` is when a check that has not ended is stopped.
    """

    name: str
    lab: str
    part: str
    checks: tuple[Check, ...]
    mistakes: tuple[Mistake, ...] = ()
    hints: tuple[str, ...] = ()
    stars: int = 1
    core: bool = True
    minutes: int = 10
    isolate: bool = True
    seconds: float = 5.0
