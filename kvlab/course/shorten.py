"""Values as short text: one line, no flood of numbers, and never an exception, whatever `__repr__` does."""

from __future__ import annotations

import inspect
import re
import reprlib
from collections.abc import Callable
from typing import Any

from kvlab.course.guard import Stop

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class _Short(reprlib.Repr):
    """`reprlib` with the limits of one line of a verdict, and words for what has no short repr."""

    def __init__(self, items: int = 8, exact: bool = False) -> None:
        super().__init__()
        self.exact = exact
        self.maxlevel = 4
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdeque = items
        self.maxarray = self.maxdict = items
        self.maxstring = self.maxlong = 5 * items
        self.maxother = 9 * items

    def repr_ndarray(self, array: Any, level: int) -> str:
        if array.size <= self.maxlist:
            return f"array({self.repr1(array.tolist(), level)})"
        head = ", ".join(self.repr1(number, level) for number in array.ravel()[: self.maxlist // 2].tolist())
        return f"array of shape {array.shape}: {head}, ..."

    def repr_float(self, number: float, level: int) -> str:
        exact = repr(number)
        return exact if len(exact) <= 10 or self.exact else f"{number:.8g}"

    def repr_int(self, number: int, level: int) -> str:
        return f"a whole number of {number.bit_length()} bits" if number.bit_length() > 130 else str(number)

    def repr_instance(self, value: Any, level: int) -> str:
        if isinstance(value, type) or inspect.isroutine(value):
            return str(getattr(value, "__qualname__", "a callable"))
        text = super().repr_instance(value, level)
        return re.sub(r"^np\.\w+\((.*)\)$", r"\1", text)  # np.int64(3) reads as 3


def show(value: Any, width: int = 90, exact: bool = False) -> str:
    """`value` in at most `width` characters on one line, floats to 8 digits unless `exact`. Addresses are left out: the
    text is the same each time."""
    try:
        text = _Short(8 if width <= 110 else width // 6, exact).repr(value)
    except Stop:
        raise
    except BaseException:
        text = f"<{type(value).__name__} that cannot be shown>"
    return clip(text, width)


def clip(text: str, width: int) -> str:
    """`text` on one line of at most `width` characters, without addresses and characters that cannot be printed."""
    line = _ADDRESS.sub("", " ".join(str(text).split()))
    line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= width else line[: max(width - 4, 0)].rstrip() + " ..."


def parameters(part: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` positional parameters of `part`; empty if they cannot be had or are fewer."""
    try:
        found = inspect.signature(part).parameters.values()
    except (TypeError, ValueError):
        return []
    names = [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return names[:count] if len(names) >= count else []


def call_text(name: str, part: Callable[..., Any], args: tuple[Any, ...], width: int = 105) -> str:
    """`blocks_needed(num_tokens=32, block_size=16)`: a call with the parameter names of `part`, if it has them."""
    room = max(width - len(name) - 2, 20)
    each = max(24, room // max(len(args), 1) - 14)
    names = parameters(part, len(args)) or [""] * len(args)
    shown = [f"{one}={show(value, each)}" if one else show(value, each) for one, value in zip(names, args, strict=True)]
    return f"{name}({clip(', '.join(shown), room)})"


def with_article(kind: type) -> str:
    """"an int", "a float", "a numpy array": a type as a sentence says it."""
    name = {"ndarray": "numpy array", "NoneType": "None"}.get(kind.__name__, kind.__name__)
    return name if name == "None" else f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name}"
