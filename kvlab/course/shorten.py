"""Values as short text: one line, no flood of numbers, and never an exception, whatever `__repr__` does."""

from __future__ import annotations

import inspect
import re
import reprlib
from collections.abc import Callable
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class _Short(reprlib.Repr):
    """`reprlib` with the limits of one line of a verdict, and names for what has no short repr."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdeque = 8
        self.maxarray = self.maxdict = 6
        self.maxstring = self.maxlong = 40
        self.maxother = 70

    def repr_ndarray(self, array: Any, level: int) -> str:
        if array.size <= 8:
            return f"array({self.repr1(array.tolist(), level)})"
        head = ", ".join(self.repr1(number, level) for number in array.ravel()[:4].tolist())
        return f"array of shape {array.shape}: {head}, ..."

    def repr_int(self, number: int, level: int) -> str:
        if number.bit_length() > 130:
            return f"a whole number of {number.bit_length()} bits"
        return str(number)

    def repr_instance(self, value: Any, level: int) -> str:
        scalar = getattr(value, "item", None)
        if type(value).__module__ == "numpy" and callable(scalar):
            return f"{type(value).__name__}({scalar()!r})"
        if isinstance(value, type) or inspect.isroutine(value):
            return getattr(value, "__qualname__", "a callable")
        return super().repr_instance(value, level)


def show(value: Any, width: int = 90) -> str:
    """`value` in at most `width` characters on one line. Addresses are left out, so that the text is the same each time."""
    try:
        text = _Short().repr(value)
    except Exception:
        text = f"<{type(value).__name__} that cannot be shown>"
    return clip(_ADDRESS.sub("", text), width)


def clip(text: str, width: int) -> str:
    """`text` on one line of at most `width` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= width else line[: max(width - 4, 0)].rstrip() + " ..."


def arguments(part: Callable[..., Any], args: tuple[Any, ...], width: int) -> str:
    """`num_tokens=32, block_size=16`: positional arguments under the parameter names of `part`, where it has such names."""
    try:
        names = list(inspect.signature(part).bind(*args).arguments)
    except (TypeError, ValueError):
        names = []
    if len(names) != len(args):
        names = []
    each = max(12, width // max(len(args), 1) - 14)
    shown = [show(value, max(each, 24)) for value in args]
    return clip(", ".join(f"{name}={text}" for name, text in zip(names, shown)) if names else ", ".join(shown), width)


def call_text(name: str, part: Callable[..., Any], args: tuple[Any, ...], width: int = 105) -> str:
    """`blocks_needed(num_tokens=32, block_size=16)`."""
    return f"{name}({arguments(part, args, max(width - len(name) - 2, 20))})"


def with_article(kind: type) -> str:
    """"an int", "a float", "a numpy array", "nothing (None)": a type as a sentence says it."""
    if kind is type(None):
        return "nothing (None)"
    name = {"ndarray": "numpy array"}.get(kind.__name__, kind.__name__)
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
