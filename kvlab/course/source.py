"""The learner's source: where it stands, whether it was touched, and whether it is the learner's at all.

The source of a class defined in a notebook is not to be had from `inspect` before Python 3.13, so it is looked up
through the file name and line of one of its methods, or of the frame that called the decorator.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType, FrameType
from typing import Any, NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Source(NamedTuple):
    """The text of one definition, decorators included, its syntax tree, and the file (or cell) it stands in."""

    text: str
    node: Definition
    filename: str


def plain(thing: Any) -> Any:
    """The Python function or class inside `thing`: `@triton.jit` objects and `functools.wraps` wrappers hold one."""
    while not isinstance(thing, type) and not inspect.isroutine(thing) and hasattr(thing, "fn"):
        thing = thing.fn
    return inspect.unwrap(thing) if inspect.isroutine(thing) or hasattr(thing, "__wrapped__") else thing


def name_of(thing: Any) -> str | None:
    """The name under which `thing` was defined, or None if it has none."""
    name = getattr(plain(thing), "__name__", None) or getattr(thing, "__name__", None)
    return name if isinstance(name, str) else None


def codes_of(thing: Any) -> list[CodeType]:
    """The code objects of a function, or of the methods of a class that were written in the class body."""
    thing = plain(thing)
    if not isinstance(thing, type):
        code = getattr(thing, "__code__", None)
        return [code] if code else []
    found = []
    for member in vars(thing).values():
        inner = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        code = getattr(plain(inner), "__code__", None)
        if code and getattr(inner, "__qualname__", "").startswith(thing.__qualname__ + "."):
            found.append(code)
    return found


def source_of(thing: Any, frame: FrameType | None = None) -> Source | None:
    """The source of `thing`, or None if it is not to be had. `frame`: where it was defined, for a class without
    methods."""
    name = name_of(thing)
    places = [(code.co_filename, code.co_firstlineno) for code in codes_of(thing)]
    if frame is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno))
    for filename, line in places:
        found = _definition(filename, line, name)
        if found:
            return found
    return None


def _definition(filename: str, line: int, name: str | None) -> Source | None:
    lines = linecache.getlines(filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None  # a file that has changed since, or a cell with magics
    for node in ast.walk(tree):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node.name == name:
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            if first <= line <= (node.end_lineno or first):
                return Source("".join(lines[first - 1 : node.end_lineno]).rstrip(), node, filename)
    return None


def untouched(node: Definition) -> bool:
    """Whether nothing was written: a docstring, `...`, `pass` or `raise NotImplementedError`; in a class, in every
    method."""
    if isinstance(node, _FUNCTIONS):
        return all(_is_placeholder(statement) for statement in node.body)
    methods = [statement for statement in node.body if isinstance(statement, _FUNCTIONS)]
    return all(untouched(method) for method in methods) if methods else all(map(_is_placeholder, node.body))


def untouched_methods(node: Definition) -> list[str]:
    """The methods of a class whose bodies are still empty, in the order in which they stand."""
    methods = [statement for statement in node.body if isinstance(statement, _FUNCTIONS)]
    return [method.name for method in methods if untouched(method)] if isinstance(node, ast.ClassDef) else []


def _is_placeholder(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Raise) and statement.exc is not None:
        raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return False
