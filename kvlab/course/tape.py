"""Keeps what a learner's code prints during a check, and keeps it from asking for input."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LIMIT = 20_000


class Tape(io.TextIOBase):
    """A text stream that remembers the last 20,000 characters written since `rewind`, however much is printed."""

    def __init__(self) -> None:
        self._text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._text = (self._text + text)[-_LIMIT:] if len(text) < _LIMIT else text[-_LIMIT:]
        return len(text)

    def rewind(self) -> None:
        """Forgets what was printed so far."""
        self._text = ""

    @property
    def text(self) -> str:
        """What was printed since the last `rewind`, its end if it was much."""
        return self._text


def _no_input(*_: Any) -> str:
    raise RuntimeError("input() cannot be used in an exercise: everything it needs is in its arguments")


@contextmanager
def recording(tape: Tape) -> Iterator[None]:
    """Sends print, standard output and standard error to `tape`, and makes `input()` raise, while it lasts."""
    before = sys.stdout, sys.stderr, builtins.input
    sys.stdout, sys.stderr, builtins.input = tape, tape, _no_input
    try:
        yield
    finally:
        sys.stdout, sys.stderr, builtins.input = before
