"""From saved sources to parts: each runs in a namespace of its own, where the course's names mean what they should."""

from __future__ import annotations

import ast
import functools
import importlib
import linecache
import textwrap
import types
from collections.abc import Mapping
from typing import Any

from kvlab.course import registry
from kvlab.course.myparts.watch import TooLong, timed
from kvlab.course.observe import raised
from kvlab.course.source import name_of, plain

_SECONDS = 5.0
_NAMES = {  # what the labs have imported before their exercises, by the name that is bound
    "math": "math", "random": "random", "itertools": "itertools", "functools": "functools", "heapq": "heapq",
    "collections": "collections", "bisect": "bisect", "np": "numpy", "numpy": "numpy", "torch": "torch",
    "triton": "triton", "tl": "triton.language",
    "OutOfBlocks": "kvlab.errors.OutOfBlocks", "UsageError": "kvlab.errors.UsageError",
    "OutOfMemory": "kvlab.errors.OutOfMemory", "BLOCK_SIZE": "kvlab.memory.BLOCK_SIZE",
    "CachedBlock": "kvlab.memory.CachedBlock", "RadixNode": "kvlab.memory.RadixNode", "Match": "kvlab.memory.Match",
}


class CannotLoad(Exception):
    """A source that cannot be run; the text follows the part's name: "its source ends in a SyntaxError"."""


def namespace(stand_ins: Mapping[str, Any]) -> dict[str, Any]:
    """The names a saved source may use: those of its lab's first cells, the finished parts, and over them
    `stand_ins`."""
    return _usual() | dict(stand_ins)


@functools.cache
def _usual() -> dict[str, Any]:
    dotted = {entry.name: entry.part for entry in registry.every()} | _NAMES
    found = {name: _resolved(home) for name, home in dotted.items()}
    return {"__name__": "__main__"} | {name: part for name, part in found.items() if part is not None}


def _resolved(dotted: str) -> Any:
    """The module, or the name in one; None where it is not installed."""
    try:
        return importlib.import_module(dotted)
    except ImportError:
        pass
    module, _, name = dotted.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name) if module else None
    except (ImportError, AttributeError):
        return None


def from_source(name: str, text: str, stand_ins: Mapping[str, Any]) -> Any:
    """The function, class or kernel `name` that `text` defines. `CannotLoad` with the reason if it does not."""
    text, filename = textwrap.dedent(text).strip("\n") + "\n", f"<your {name}>"
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise CannotLoad(f"its saved source is no Python: {error}") from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.decorator_list = [one for one in node.decorator_list if ast.unparse(one) != "exercise"]
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)  # Triton reads it there
    names = namespace(stand_ins)
    try:
        timed(lambda: exec(compile(tree, filename, "exec"), names), _SECONDS)
    except TooLong as late:
        raise CannotLoad(f"its saved source {late}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise CannotLoad(f"its saved source {raised(error)}") from None
    if name not in names or names[name] is namespace(stand_ins).get(name):
        raise CannotLoad(f"its saved source defines no {name}")
    return names[name]


def from_notebook(name: str, part: Any, stand_ins: Mapping[str, Any]) -> Any:
    """A live object of a notebook. A function is given the same stand-ins for what it calls; others stay as they
    are."""
    if not isinstance(part, types.FunctionType):
        return part
    names = part.__globals__ | {key: value for key, value in stand_ins.items() if key in part.__globals__}
    made = types.FunctionType(part.__code__, names, part.__name__, part.__defaults__, part.__closure__)
    made.__kwdefaults__ = part.__kwdefaults__
    names[name] = made
    return made


def is_finished(name: str, part: Any) -> bool:
    """Whether an object of a notebook is the finished part, which `open_lab` has bound there."""
    entry = registry.find(name)
    finished = None if entry is None else _resolved(entry.part)
    return finished is not None and (part is finished or plain(part) is plain(finished))


def is_part(part: Any) -> bool:
    """Whether an object of a notebook can be a part at all: a function, a class or a kernel."""
    return isinstance(part, type) or (name_of(part) is not None and (callable(part) or hasattr(part, "fn")))
