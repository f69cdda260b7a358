"""What a learner's process is given of his notebook: the cell of an exercise, and the definitions of the others.

Of the other cells it gets, in their order: imports, functions and classes, and names that are set to a plain value
(`TILE = 64`). Nothing else of them runs: no calls, no assignments into modules, no magics. Parts of other exercises are
among them as the learner wrote them, if they got their points; otherwise the finished part is asked for from afar, if
the course's own solution uses it too. What the notebook imports from `kvlab` is there if it is a constant, an exception
or a class of arguments, and else says that it is out of reach when it is used.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvlab.course.declare import Exercise
from kvlab.course.notebooks import solved_source
from kvlab.course.registry import find, part_of
from kvlab.errors import KVLabError

LARGEST = 16 << 20  # bytes of a notebook
_NAMED = re.compile(r"^@exercise\b.*\n(?:[@#].*\n|\s*\n)*(?:async +def|def|class)[ \t]+(\w+)", re.MULTILINE)
_PLACES = re.compile(r"kvlab(\.(memory|serve|compute|models|bench)(\.[a-z]\w*)*)?")  # where constants may come from
_COMMON = ("blocks_needed",)  # lab 03's first part, which later labs may use
Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class BadNotebook(KVLabError):
    """A file that is no notebook; the text says what is wrong with it."""


@dataclass
class Written:
    """What a notebook says. parts: the definition of each exercise, the last one of its name. broken: exercises whose
    cell is no Python, with the reason. around: everything else, as pieces of source in order, exercises' names with
    their own piece. imported: module and name of what comes from `kvlab`."""

    parts: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    around: list[tuple[str, str]] = field(default_factory=list)
    imported: set[tuple[str, str]] = field(default_factory=set)


def read(path: Path) -> Written:
    """The notebook at `path`. BadNotebook if it is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadNotebook(f"has {path.stat().st_size >> 20} MB, more than the {LARGEST >> 20} that are read")
        cells = json.loads(path.read_bytes())["cells"]
        sources = [_text(cell) for cell in cells if cell["cell_type"] == "code"]
    except OSError as trouble:
        raise BadNotebook(f"cannot be read ({trouble.strerror or trouble})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as trouble:
        raise BadNotebook(f"is no notebook ({type(trouble).__name__}: {str(trouble)[:80]})") from None
    written = Written()
    for source in sources:
        _add(written, source)
    return written


def _text(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(map(str, source))


def _add(written: Written, source: str) -> None:
    named = _NAMED.findall(source)
    try:
        tree = ast.parse("\n".join("" if line.startswith(("%", "!")) else line for line in source.splitlines()))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
        for name in named:
            written.parts.pop(name, None)
            line = getattr(trouble, "lineno", None)
            written.broken[name] = f"is no Python{f': line {line} of its cell' if line else ''} ({_why(trouble)})"
        return
    for node in tree.body:
        try:
            _add_statement(written, node)
        except (ValueError, RecursionError, MemoryError) as trouble:  # what can be read and not be written down
            written.broken |= {name: f"cannot be read ({_why(trouble)})" for name in named}


def _why(trouble: BaseException) -> str:
    return str(trouble.args[0])[:100] if trouble.args else type(trouble).__name__


def _add_statement(written: Written, node: ast.stmt) -> None:
    if isinstance(node, Node):
        ours = [one for one in node.decorator_list if not _is_exercise(one)]
        is_part, node.decorator_list = len(ours) < len(node.decorator_list), ours
        text = _source(node)
        if is_part:
            written.parts[node.name] = text
            written.broken.pop(node.name, None)
        written.around.append((node.name, text))
    elif isinstance(node, ast.Import | ast.ImportFrom):
        written.around.append(("", ast.unparse(node)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kvlab":
            written.imported |= {(str(node.module), alias.name) for alias in node.names if alias.name != "*"}
    elif isinstance(node, ast.Assign) and _is_plain(node.value) and all(
            isinstance(target, ast.Name) for target in node.targets):
        written.around.append(("", ast.unparse(node)))


def _source(node: Node) -> str:
    """The definition as text. Unparsed, since a cell's text may share its lines with other statements."""
    return textwrap.dedent(ast.unparse(node))


def _is_exercise(decorator: ast.expr) -> bool:
    inner = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")) == "exercise"


def _is_plain(value: ast.expr) -> bool:
    allowed = (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
    nodes = list(ast.walk(value))
    powers = sum(isinstance(node, ast.Pow) for node in nodes)
    return len(nodes) < 200 and powers < 2 and all(isinstance(node, allowed) for node in nodes)


def definition(source: str) -> Node:
    """The syntax tree of a part."""
    node = ast.parse(source).body[0]
    assert isinstance(node, Node)
    return node


def job(entry: Exercise, written: Written, passed: set[str]) -> dict[str, Any]:
    """What the process needs to define the part of `entry`. `passed`: exercises of this notebook with points."""
    services = {name for name in _helpers(entry) if name not in passed}
    pieces = [text for name, text in written.around if name != entry.name and name not in services
              and (name not in written.parts or name in passed or name in _names(written.parts[entry.name]))]
    return {"name": entry.name, "pieces": [*pieces, written.parts[entry.name]], "services": sorted(services),
            "constants": dict(_constants(written))}


def service(name: str) -> Any:
    """The finished part of that name."""
    entry = find(name)
    assert entry is not None
    return part_of(entry)


def _helpers(entry: Exercise) -> Iterator[str]:
    """Exercises whose finished parts the learner may use: those in the course's own solution, and few more."""
    for name in sorted({*_names(solved_source(entry)), *(_COMMON if entry.lab > "03" else ())}):
        other = find(name)
        if other is not None and name != entry.name and (other.lab, other.part) != (entry.lab, entry.part):
            yield name


def _names(source: str) -> set[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _constants(written: Written) -> Iterator[tuple[str, Any]]:
    """What is imported from `kvlab` and is a plain value."""
    for module, name in sorted(written.imported):
        if not _PLACES.fullmatch(module):
            continue
        try:
            value = getattr(importlib.import_module(module), name)
        except Exception:  # a module that is not there, or needs what is not installed
            continue
        if isinstance(value, (bool, int, float, str)):
            yield f"{module}.{name}", value
