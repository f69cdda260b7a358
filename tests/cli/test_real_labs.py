"""The command on the course's own labs: every exercise is found, filled in, and put back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvlab.cli import notebooks
from kvlab.cli.main import main
from kvlab.cli.places import labs, labs_folder, solutions_folder
from kvlab.course import registry

LABS = labs(labs_folder())


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder of the real labs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KVLAB_PROGRESS", raising=False)
    assert main(["start", "--no-lab"]) == 0
    return tmp_path / "my-labs"


def code(path: Path) -> dict[str, str]:
    """Exercise -> source of its cell, of one notebook."""
    notebook = notebooks.read(path)
    cells = notebooks.exercise_cells(notebook)
    return {name: notebooks.source(notebook["cells"][index]) for name, index in cells.items()}


@pytest.mark.parametrize("number", LABS)
def test_the_labs_the_solutions_and_the_declarations_name_the_same_exercises(number: str) -> None:
    declared = {entry.name for entry in registry.of_lab(number)}
    for folder in (labs_folder(), solutions_folder()):
        assert set(notebooks.exercise_cells(notebooks.read(labs(folder)[number]))) == declared


def test_catching_up_fills_in_every_solution_and_resetting_takes_each_out_again(mine: Path) -> None:
    last = max(LABS)
    assert main(["catch-up", last]) == 0
    for number, path in labs(mine).items():
        filled = code(path)
        solved = code(labs(solutions_folder())[number])
        wanted = {name: notebooks.without_markers(text) for name, text in solved.items()}
        assert (filled == wanted) == (number < last)
        for name in filled:
            assert main(["reset", name]) == 0
        assert json.loads(path.read_bytes()) == json.loads(LABS[number].read_bytes())
