"""A small course of three labs, a learner's folder of it, and the command run in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kvlab.cli import places
from kvlab.cli.main import main

VERDICT = [{"name": "stdout", "output_type": "stream", "text": ["○ not attempted\n"]}]


def code(cell_id: str, text: str, outputs: list[Any] | None = None, count: int | None = None) -> dict[str, Any]:
    """A code cell as a notebook file stores it."""
    lines = text.splitlines(keepends=True)
    fields: dict[str, Any] = {"cell_type": "code", "execution_count": count, "id": cell_id, "metadata": {}}
    return fields | {"outputs": outputs or [], "source": lines}


def exercise(name: str, body: str, keyword: str = "def") -> str:
    """The text of an exercise cell."""
    head = f"def {name}(a: int) -> int:" if keyword == "def" else f"class {name}:"
    return f'@exercise\n{head}\n    """What it gives."""\n{body}'


def lab(*names: str, solved: bool = False) -> dict[str, Any]:
    """A notebook with a first cell, an exercise cell for each name, and a last cell."""
    body = "    ### BEGIN SOLUTION\n    return a + 1\n    ### END SOLUTION" if solved else "    ..."
    outputs = None if solved else VERDICT
    cells = [code(f"ex-{name}", exercise(name, body), outputs) for name in names]
    cells = [code("open", "open_lab()"), *cells, code("close", "close_lab()")]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Save a notebook as Jupyter does."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Read a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def text_of(path: Path, cell_id: str) -> str:
    """The source of one cell of a notebook."""
    return next("".join(cell["source"]) for cell in load(path)["cells"] if cell["id"] == cell_id)


def edit(path: Path, cell_id: str, text: str, count: int | None = 7) -> None:
    """What a learner does: type into a cell, run it, save."""
    notebook = load(path)
    for cell in notebook["cells"]:
        if cell["id"] == cell_id:
            cell |= code(cell_id, text, VERDICT, count)
    write(path, notebook)


LABS = {"00_start": ("warm_up",), "01_cost": ("price", "count"), "02_waste": ("waste", "holes")}


@dataclass(frozen=True)
class Course:
    """The course's own folders."""

    root: Path

    def update(self, name: str, text: str) -> None:
        """Publish a new version of a lab: its first cell says something else."""
        edit(self.root / "labs" / f"{name}.ipynb", "open", text, None)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    root = tmp_path / "course" / "kvlab"
    root.mkdir(parents=True)
    for name, names in LABS.items():
        write(root / "labs" / f"{name}.ipynb", lab(*names))
        write(root / "solutions" / f"{name}.ipynb", lab(*names, solved=True))
    monkeypatch.setattr(places, "_PACKAGE", root)
    monkeypatch.delenv("KVLAB_PROGRESS", raising=False)
    return Course(root)


@pytest.fixture
def here(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the learner types commands."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@dataclass(frozen=True)
class Said:
    """What a command left: its exit status and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def kvlab(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def run(*arguments: str) -> Said:
        capsys.readouterr()
        status = main(list(arguments))
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return Said(status, printed.out, printed.err)

    return run


@pytest.fixture
def mine(kvlab: Callable[..., Said], here: Path) -> Path:
    """my-labs/, freshly made."""
    assert kvlab("start", "--no-lab").code == 0
    return here / "my-labs"
