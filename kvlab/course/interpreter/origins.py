"""Which integer tables an address is made of, by the text of the kernel: a number may equal an entry by chance."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from typing import Any

from kvlab.course.interpreter.faults import Line

_ACCESS = {"reads": ("load",), "writes": ("store",), "updates": ("atomic_",)}


def tree_of(fn: Any) -> ast.FunctionDef | None:
    """The definition of a kernel's Python function; None where its text is not to be had."""
    lines = linecache.getlines(fn.__code__.co_filename)[fn.__code__.co_firstlineno - 1 :]
    try:
        (found,) = ast.parse(textwrap.dedent("".join(inspect.getblock(lines)))).body
    except (SyntaxError, ValueError, IndexError):
        return None
    return found if isinstance(found, ast.FunctionDef) else None


def tables_in(fn: Any, line: Line, verb: str) -> set[str] | None:
    """The arguments from which the address of the access in `line` was made, directly or through what was loaded from
    them. A loop's counter and a mask are no part of an address. None if it cannot be said."""
    tree = tree_of(fn)
    if tree is None or line.helper:
        return None
    number = tree.lineno + line.number - 1
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args and _is(node, _ACCESS[verb])
             and node.lineno <= number <= (node.end_lineno or node.lineno)]
    made = _flows(tree)
    return set().union(*(_sources(call.args[0], made) for call in calls)) if calls else None


def _is(call: ast.Call, names: tuple[str, ...]) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr.startswith(names)


def _flows(tree: ast.FunctionDef) -> dict[str, set[str]]:
    """By name: the arguments that its value is made of."""
    made = {argument.arg: {argument.arg} for argument in tree.args.args}
    for _ in range(3):  # a name may be given its value below the line that uses it, in a loop
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    _assign(target, node.value, made)
            elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                _assign(node.target, node.value, made)
    return made


def _assign(target: ast.expr, value: ast.expr, made: dict[str, set[str]]) -> None:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts, strict=True):
            _assign(one, other, made)
        return
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            made[node.id] = made.get(node.id, set()) | _sources(value, made)


def _sources(value: ast.AST, made: dict[str, set[str]]) -> set[str]:
    """The arguments an expression is made of. What is loaded is made of what it is loaded from, not of the index."""
    if isinstance(value, ast.Call) and _is(value, ("load",)) and value.args:
        pointers = [node.id for node in ast.walk(value.args[0]) if isinstance(node, ast.Name)]
        return set().union(*(made.get(name, set()) for name in pointers))
    if isinstance(value, ast.Name):
        return made.get(value.id, set())
    return set().union(*(_sources(child, made) for child in ast.iter_child_nodes(value)))
