"""Plain data between the checks and a learner's process: JSON alone, so that reading it never runs anything.

Both sides have it, and it imports nothing of the course. Lists, dictionaries, sets, arrays, tensors and
generators keep their identity while a `Wire` lives: each has a number, every message brings the present contents of all
of them, and what one side changes in place changes on the other. Whatever has no place here arrives as `Opaque`, which
is equal to nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

SPECIAL = ("__contains__", "__len__", "__getitem__")  # methods that operators call, of classes that have them


class Unreadable(Exception):
    """A message that is none."""


class Opaque:
    """Something that cannot travel. `kind`: the name of its type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"


class Wire:
    """One side of a connection. `first`: 0 or 1, so that both sides number apart.

    kinds: classes by name that travel by value: tuples with names, and objects whose attributes are all in `vars`.
    errors: exceptions by name, besides Python's own. foreign: makes the text for an object that stays here, or returns
    None; native: finds what such a text of the other side stands for.
    """

    def __init__(self, first: int, kinds: dict[str, type], errors: dict[str, type],
                 foreign: Callable[[Any], list[Any] | None], native: Callable[[list[Any]], Any]) -> None:
        self.first, self.kinds, self.errors = first, kinds, errors
        self.foreign, self.native = foreign, native
        self.clear()

    def clear(self) -> None:
        """Forgets what travelled so far."""
        self.known: dict[int, Any] = {}
        self._numbers: dict[Any, int] = {}
        self._next = self.first

    def pack(self, value: Any) -> dict[str, Any]:
        """`value`, and the contents of everything that has a number."""
        from kvlab.course.grade.far.packing import Packer

        return Packer(self).message(value)

    def unpack(self, message: Any) -> Any:
        """What was packed. Unreadable for anything else."""
        try:
            from kvlab.course.grade.far.unpacking import Unpacker

            return Unpacker(self, message).value()
        except Unreadable:
            raise
        except Exception as trouble:
            raise Unreadable(f"{type(trouble).__name__}: {trouble}") from None

    def number(self, thing: Any) -> int:
        """The number of a thing that keeps its identity; it has one from now on."""
        key = _identity(thing)
        if key not in self._numbers:
            self.know(self._next, thing)
            self._next += 2
        return self._numbers[key]

    def know(self, number: int, thing: Any) -> None:
        """Gives a thing its number."""
        self.known[number], self._numbers[_identity(thing)] = thing, number


def _identity(thing: Any) -> Any:
    """A storage is another object each time it is asked for, and one memory."""
    return ("storage", thing._cdata) if type(thing).__name__ == "UntypedStorage" else id(thing)


def torch() -> Any:
    """torch, if it is loaded."""
    return sys.modules.get("torch")
