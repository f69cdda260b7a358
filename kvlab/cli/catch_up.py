"""`kvlab catch-up LAB`: the solutions of the labs before LAB, for someone joining late. What passed stays theirs."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

from kvlab.cli import notebooks, record
from kvlab.cli.copying import copy_labs
from kvlab.cli.failure import Refused
from kvlab.cli.places import lab_number, labs, labs_folder, learners_folder, shown, solutions_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab catch-up` takes."""
    parser.add_argument("lab", metavar="LAB", help="the lab to be ready for, such as 03")
    parser.add_argument("--dir", metavar="DIR", help="the folder of your labs")


@dataclass
class Plan:
    """What will change in one lab: the learner's notebook, solutions in it, and those (exercise -> text)."""

    lab: str
    file: Path
    notebook: notebooks.Notebook
    solved: dict[str, str]


def _solutions(lab: Path) -> dict[str, str]:
    """Exercise -> text of its solved cell, from the solved notebook of a lab."""
    path = solutions_folder() / lab.name
    if not path.exists():
        raise Refused(f"The course has no solved {lab.stem} here. In a clone, build it with: make notebooks")
    solved = notebooks.read(path)
    cells = notebooks.exercise_cells(solved)
    return {name: notebooks.without_markers(notebooks.source(solved["cells"][index])) for name, index in cells.items()}


def plan(number: str, lab: Path, mine: Path, passed: set[str]) -> Plan:
    """The changes to one lab. Passed exercises are left alone, and so are cells that hold the solution already."""
    course, notebook, solved = notebooks.read(lab), notebooks.read(mine), _solutions(lab)
    wanted: dict[str, str] = {}
    for name in notebooks.exercise_cells(course):
        cells = notebooks.cells_of(notebook, name)
        held = any(notebooks.source(notebook["cells"][index]) == solved[name] for index in cells)
        if name not in passed and not held:
            notebooks.put(notebook, course, name, solved[name])
            wanted[name] = solved[name]
    return Plan(number, mine, notebook, wanted)


def carry_out(step: Plan, path: Path | None, stamp: str) -> None:
    """Write one lab after its backup, note what was caught up with, and say so."""
    kept = notebooks.backup(step.file, stamp)
    record.catch_up(path, step.lab, step.solved)
    notebooks.write(step.file, step.notebook)
    print(f"{step.file.name}: filled in {', '.join(step.solved)}. As it was before: {shown(kept)}.")


def run(options: argparse.Namespace) -> int:
    """Fill in what has not passed in every lab before LAB."""
    lab = lab_number(options.lab)
    folder = learners_folder(options.dir)
    before = {number: path for number, path in labs(labs_folder()).items() if number < lab}
    copy_labs([path for path in before.values() if not (folder / path.name).exists()], folder)
    path, stamp = record.path_for(folder), time.strftime("%Y%m%d-%H%M%S")
    passed = record.passed(path)
    plans = [plan(number, source, folder / source.name, passed) for number, source in before.items()]
    steps = [step for step in plans if step.solved]
    if not steps:
        print(f"Nothing to fill in before lab {lab}: every exercise there has passed or holds its solution.")
        return 0
    for step in steps:
        carry_out(step, path, stamp)
    print("They count as caught up with, not as passed. Exercises you had passed were left alone.")
    print(notebooks.RELOAD)
    return 0
