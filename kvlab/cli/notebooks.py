"""Reading and changing a learner's notebook: one cell at a time, everything else as it was."""

from __future__ import annotations

import copy
import json
import os
import re
from pathlib import Path
from typing import Any

from kvlab.cli.copying import create_first_free
from kvlab.cli.failure import Refused
from kvlab.cli.places import shown

Cell = dict[str, Any]
Notebook = dict[str, Any]

RELOAD = 'If the notebook is open in JupyterLab, reload it before you type: File menu, "Reload Notebook from Disk".'

# Not `ast`: a learner's cell may be half-typed. Further decorators and comments may stand between the two lines.
_EXERCISE = re.compile(r"^@exercise\b.*\n(?:[@#].*\n|\s*\n)*(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_MARKER = re.compile(r"^[ \t]*###[ \t]*(?:BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)


def source(cell: Cell) -> str:
    """The text of a cell, which a notebook stores as a string or as a list of lines."""
    text = cell.get("source", "")
    return text if isinstance(text, str) else "".join(text)


def exercises_of(cell: Cell) -> list[str]:
    """The names of the exercises a cell defines."""
    return _EXERCISE.findall(source(cell)) if cell.get("cell_type") == "code" else []


def exercise_cells(notebook: Notebook) -> dict[str, int]:
    """Exercise name -> index of its cell; of several cells for one name, the first."""
    found: dict[str, int] = {}
    for index, cell in enumerate(notebook["cells"]):
        for name in exercises_of(cell):
            found.setdefault(name, index)
    return found


def without_markers(text: str) -> str:
    """A solved cell as a learner would have written it: the solution markers gone."""
    return _MARKER.sub("", text)


def read(path: Path) -> Notebook:
    """The notebook at `path`; a file that is none is refused by name."""
    try:
        notebook = json.loads(path.read_bytes())
        if not all(isinstance(cell, dict) for cell in notebook["cells"]):
            raise ValueError("a cell is no object")
    except FileNotFoundError:
        raise Refused(f"{shown(path)} is missing. Copy it with: kvlab start {shown(path.parent)} --no-lab") from None
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{shown(path)} cannot be read as a notebook ({error}); it was left as it is.") from None
    return notebook


def write(path: Path, notebook: Notebook) -> None:
    """Replace the notebook at once, laid out as Jupyter does, so that a crash leaves the old one."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8", errors="surrogatepass", newline="\n")
    os.replace(fresh, path)


def backup(path: Path, stamp: str) -> Path:
    """Copy `path` beside itself under a name with the date, never over another file. Returns the copy."""
    return create_first_free(path.parent, f"{path.stem}.backup-{stamp}", path.read_bytes(), path.suffix)


def cells_of(notebook: Notebook, exercise: str) -> list[int]:
    """The indices of the cells that define an exercise: more than one where a learner copied it."""
    return [index for index, cell in enumerate(notebook["cells"]) if exercise in exercises_of(cell)]


def find(notebook: Notebook, exercise: str, cell_id: str | None) -> int | None:
    """The cell of an exercise: by name, of several the one with the course's id; without any, the cell with that id."""
    cells = notebook["cells"]
    named = cells_of(notebook, exercise)
    with_id = [index for index, cell in enumerate(cells) if cell_id is not None and cell.get("id") == cell_id]
    both = [index for index in named if index in with_id]
    return next(iter(both + named + with_id), None)


def _home(notebook: Notebook, course: Notebook, position: int) -> int:
    """Where a deleted cell belongs: after the nearest cell before it that the learner still has."""
    ids = {cell.get("id"): index for index, cell in enumerate(notebook["cells"])}
    for cell in reversed(course["cells"][:position]):
        if cell.get("id") in ids:
            return ids[cell.get("id")] + 1
    return 0


def put(notebook: Notebook, course: Notebook, exercise: str, text: str | None = None) -> None:
    """Set an exercise's cell to the course's, or to `text`, not run yet. A deleted cell comes back in its place."""
    position = exercise_cells(course)[exercise]
    cell = copy.deepcopy(course["cells"][position])
    if text is not None:
        cell |= {"source": text.splitlines(keepends=True), "outputs": [], "execution_count": None}
    index = find(notebook, exercise, cell.get("id"))
    if index is None:
        notebook["cells"].insert(_home(notebook, course, position), cell)
        return
    if "id" in notebook["cells"][index]:
        cell["id"] = notebook["cells"][index]["id"]
    notebook["cells"][index] = cell
