"""The course's sources and notebooks, as the tests see them."""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]


@cache
def builder() -> ModuleType:
    """`solutions/build.py` as a module (solutions/ is not a package, and `build` is somebody else's name)."""
    sys.path.append(str(ROOT / "solutions"))
    spec = importlib.util.spec_from_file_location("kvlab_build", ROOT / "solutions" / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def sources() -> ModuleType:
    """`solutions/_source.py` as a module."""
    builder()
    return sys.modules["_source"]


def names() -> list[str]:
    """`00_start_here`, `01_...`: every lab that has a source."""
    return [path.stem for path in builder().find_sources(ROOT)]


def source(name: str) -> NotebookNode:
    """The solved notebook as its source gives it, not executed."""
    return builder().read_source(ROOT / "solutions" / f"{name}.py")


def committed(folder: str, name: str) -> NotebookNode:
    """`labs/name.ipynb` or `solutions/name.ipynb` as it lies in the repository."""
    return nbformat.read(ROOT / folder / f"{name}.ipynb", as_version=4)


def cells(notebook: NotebookNode, kind: str) -> list[NotebookNode]:
    """The notebook's cells of one type, "code" or "markdown"."""
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def is_exercise(cell: NotebookNode) -> bool:
    """Whether the builder sees an exercise in the cell."""
    builder()
    return sys.modules["_execute"].is_exercise(cell)


def exercise_name(cell: NotebookNode) -> str:
    """Name of the function or class that an exercise cell decorates."""
    for node in ast.parse(cell.source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.decorator_list:
            return node.name
    raise ValueError(f"cell {cell.id}: no decorated function or class")


def output_text(cell: NotebookNode) -> str:
    """What the cell's outputs say in text: streams, text/plain, text/html."""
    pieces = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        pieces += [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")]
    return "\n".join(pieces)


def write(path: Path, *cells_: NotebookNode) -> Path:
    """A notebook file of these cells, for the tests' own samples."""
    notebook = nbformat.v4.new_notebook(cells=list(cells_), metadata=sources().METADATA)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    return path
