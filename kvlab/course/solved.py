"""Finds the solved code of an exercise: in the solved notebooks, or else the finished part's own source."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import kvlab
from kvlab.course.declare import Exercise
from kvlab.course.registry import part_of

_MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION")


def solutions_folder() -> Path | None:
    """The folder of the solved notebooks: through the link inside the package, or beside the package; None if not there."""
    package = Path(kvlab.__file__).parent
    return next((folder for folder in (package / "solutions", package.parent / "solutions") if folder.is_dir()), None)


def solved_source(entry: Exercise) -> str:
    """The solved definition, without the decorator: the notebook's if there is one, else the finished part's."""
    found = from_notebook(entry)
    return found if found is not None else inspect.getsource(part_of(entry)).rstrip()


def from_notebook(entry: Exercise) -> str | None:
    """The definition of `entry` in the solved notebook of its lab, or None if there is none."""
    for cell in solved_cells(entry.lab):
        for node in _definitions(cell):
            if node.name == entry.name:
                lines = cell.splitlines()[node.lineno - 1 : node.end_lineno]
                return "\n".join(line for line in lines if line.strip() not in _MARKERS).rstrip()
    return None


def solved_cells(lab: str) -> Iterator[str]:
    """The code cells of a lab's solved notebook, in order."""
    folder = solutions_folder()
    for path in sorted(folder.glob(f"{lab}_*.ipynb")) if folder else []:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                yield "".join(cell["source"])


def _definitions(cell: str) -> list[ast.FunctionDef | ast.ClassDef]:
    try:
        tree = ast.parse(cell)
    except SyntaxError:  # a cell with magics
        return []
    return [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
