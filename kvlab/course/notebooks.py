"""The course's own notebooks: the solved code of an exercise, and its cell as it is handed out."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import kvlab
from kvlab.course.declare import Exercise
from kvlab.course.registry import part_of
from kvlab.course.source import Definition, plain

_MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION")


def folder(name: str) -> Path | None:
    """`labs` or `solutions`: through the link inside the package, or beside the package; None if it is not there."""
    package = Path(kvlab.__file__).parent
    return next((place for place in (package / name, package.parent / name) if place.is_dir()), None)


def solved_source(entry: Exercise) -> str:
    """The solved definition, without `@exercise`: the notebook's if there is one, else the finished part's. A kernel
    keeps its `@triton.jit`."""
    found = _definition("solutions", entry)
    if found is None:
        return inspect.getsource(plain(part_of(entry))).rstrip()
    cell, node = found
    kept = [one.lineno for one in node.decorator_list if ast.unparse(one) != "exercise"]
    lines = cell.splitlines()[min([node.lineno, *kept]) - 1 : node.end_lineno]
    return "\n".join(line for line in lines if line.strip() not in _MARKERS).rstrip()


def as_handed_out(entry: Exercise, node: Definition) -> bool:
    """Whether the learner's definition is the one in the student notebook, but for comments, layout and docstrings.

    This finds the untouched ones among definitions that are handed out with some of their code written."""
    try:
        found = _definition("labs", entry)
    except (OSError, ValueError, KeyError):  # a notebook that cannot be read
        return False
    return found is not None and _skeleton(found[1]) == _skeleton(node)


def _skeleton(node: Definition) -> str:
    """The syntax tree as text, without decorators and docstrings."""
    copy = ast.parse(ast.unparse(node)).body[0]
    for inner in ast.walk(copy):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner.decorator_list = [one for one in inner.decorator_list if ast.unparse(one) != "exercise"]
            if ast.get_docstring(inner) is not None:
                inner.body = inner.body[1:]
    return ast.dump(copy)


def _definition(name: str, entry: Exercise) -> tuple[str, Definition] | None:
    """The cell that defines the exercise in the lab's notebook in folder `name`, and the definition in it."""
    for cell in cells(name, entry.lab):
        for node in _definitions(cell):
            if node.name == entry.name:
                return cell, node
    return None


def cells(name: str, lab: str) -> Iterator[str]:
    """The code cells of a lab's notebook in folder `name`, in order; of its source where it has not been built yet."""
    place = folder(name)
    for path in sorted(place.glob(f"{lab}_*.ipynb")) if place else []:
        yield from _cells_of(path, path.stat().st_mtime)
        return
    for path in sorted(place.glob(f"{lab}_*.py")) if place else []:
        for cell in re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            head, _, body = cell.partition("\n")
            if "[markdown]" not in head:
                yield body


@functools.lru_cache(maxsize=8)
def _cells_of(path: Path, _changed: float) -> tuple[str, ...]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return tuple("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


def _definitions(cell: str) -> list[ast.FunctionDef | ast.ClassDef]:
    try:
        tree = ast.parse(cell)
    except SyntaxError:  # a cell with magics
        return []
    return [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
