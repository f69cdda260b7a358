"""Values as short text: one line, no flood of numbers, and never an exception, whatever `__repr__` does."""

from __future__ import annotations

import inspect
import re
import reprlib
import textwrap
from collections.abc import Callable
from typing import Any

from kvlab.course.guard import Stop

_WHOLE = 400  # characters of an argument that is shown on lines of its own
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


def call_text(name: str, part: Callable[..., Any], args: tuple[Any, ...], width: int = 105, below: bool = False) -> str:
    """`blocks_needed(num_tokens=32, block_size=16)`: a call with the parameter names of `part`, if it has them.

    below: whether `long_arguments` stand below it, so that those need only their names here.
    """
    return f"{name}({clip(', '.join(_arguments(name, part, args, width, below)), max(width - len(name) - 2, 20))})"


def long_arguments(name: str, part: Callable[..., Any], args: tuple[Any, ...], width: int = 105) -> list[str]:
    """`jobs = [...]`, in full and on as many lines as it takes, for each argument that `call_text` only names."""
    names = parameters(part, len(args))
    left_out = [one for one in _arguments(name, part, args, width, True) if one in names]
    given = dict(zip(names, args, strict=False))
    return [line for one in left_out for line in _in_lines(f"{one} = {show(given[one], _WHOLE)}", width - 1)]


def _in_lines(text: str, width: int) -> list[str]:
    """`text` on lines that do not end within brackets such as ('ana', 0, 1)."""
    whole = re.sub(r"\([^()]*\)", lambda found: found[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, width, subsequent_indent="    ", break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _arguments(name: str, part: Callable[..., Any], args: tuple[Any, ...], width: int, below: bool) -> list[str]:
    """The arguments of a call: whole if all fit, else each that is too long by its name alone, or cut if it has none
    or is too much to be shown at all."""
    room = max(width - len(name) - 2, 20)
    each = max(24, room // max(len(args), 1) - 14)
    names = parameters(part, len(args))
    whole, short = [show(value, _WHOLE) for value in args], [show(value, each) for value in args]
    if not names:
        return whole if len(", ".join(whole)) <= room else short
    full = [f"{one}={text}" for one, text in zip(names, whole, strict=True)]
    if len(", ".join(full)) <= room:
        return full
    return [one if below and cut != text and "..." not in text else f"{one}={cut}"
            for one, cut, text in zip(names, short, whole, strict=True)]


def with_article(kind: type) -> str:
    """"an int", "a float", "a numpy array": a type as a sentence says it."""
    name = {"ndarray": "numpy array", "NoneType": "None"}.get(kind.__name__, kind.__name__)
    return name if name == "None" else f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name}"
