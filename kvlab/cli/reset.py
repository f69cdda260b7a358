"""`kvlab reset EXERCISE`: the exercise's cell as the course ships it, after a backup."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from kvlab.cli import notebooks, record
from kvlab.cli.failure import unknown
from kvlab.cli.places import labs, labs_folder, learners_folder, shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab reset` takes."""
    parser.add_argument("exercise", metavar="EXERCISE", help="its name, such as blocks_needed")
    parser.add_argument("--dir", metavar="DIR", help="the folder of your labs")
    parser.add_argument("--notebook", metavar="FILE", help="the notebook to change, if you gave it another name")


def home_of(exercise: str) -> Path:
    """The student lab of the course that holds an exercise; a name that is in none is refused with the nearest."""
    known: dict[str, Path] = {}
    for path in labs(labs_folder()).values():
        known |= dict.fromkeys(notebooks.exercise_cells(notebooks.read(path)), path)
    if exercise not in known:
        raise unknown("exercise", exercise, known, "kvlab progress lists them all.")
    return known[exercise]


def run(options: argparse.Namespace) -> int:
    """Back up, restore the cell, forget the pass, and say where everything is."""
    name, lab = options.exercise, home_of(options.exercise)
    folder = learners_folder(options.dir) if options.notebook is None else Path(options.notebook).parent
    mine = folder / lab.name if options.notebook is None else Path(options.notebook)
    notebook, stamp = notebooks.read(mine), time.strftime("%Y%m%d-%H%M%S")
    notebooks.put(notebook, notebooks.read(lab), name)
    kept = [notebooks.backup(mine, stamp), record.backup(record.path_for(folder), stamp)]
    notebooks.write(mine, notebook)
    dropped = record.forget(record.path_for(folder), name)
    print(f"{name} is as it was at the beginning, in {shown(mine)}.")
    backups = " and ".join(shown(path) for path in kept if path)
    print(f"{'Its pass is taken back. ' if dropped else ''}As it was before: {backups}.")
    if len(notebooks.cells_of(notebook, name)) > 1:
        print(f"Another cell of the notebook defines {name} too; it was left alone.")
    print(notebooks.RELOAD)
    return 0
