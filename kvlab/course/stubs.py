"""Methods of a learner's class that are still empty, while a check runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kvlab.course.declare import NotWritten


def called(owner: Any, name: str) -> str:
    """How a sentence names a member: "take()", or "num_free" for a property."""
    return f"{name}()" if callable(getattr(owner, name)) else name


@contextmanager
def stubbed(part: Any, names: Sequence[str]) -> Iterator[None]:
    """While it lasts, each of the methods `names` of the class `part` raises `NotWritten` in place of doing nothing."""
    before = {name: vars(part)[name] for name in names if name in vars(part)} if isinstance(part, type) else {}
    try:
        for name, member in before.items():
            raiser = _raiser(f"{name}()" if callable(member) else name)
            setattr(part, name, raiser if callable(member) else property(raiser))
        yield
    finally:
        for name, member in before.items():
            setattr(part, name, member)


def _raiser(name: str) -> Any:
    def unwritten(*_args: Any, **_named: Any) -> Any:
        raise NotWritten(name)

    return unwritten
