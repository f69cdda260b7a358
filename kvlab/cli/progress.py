"""`kvlab progress`: the course at a glance, as `progress()` shows it in a notebook."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from kvlab.cli.places import learners_folder, shown
from kvlab.course import state


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab progress` takes."""
    parser.add_argument("folder", nargs="?", metavar="DIR", help="the folder of your labs")


def state_line(folder: Path | None) -> str:
    """The state of a folder's progress file in a line. It reads a copy, so that a damaged file stays where it is."""
    from kvlab.cli.record import passed, path_for

    path = path_for(folder or Path("."))
    if path is None:
        return "kept in memory only (KVLAB_PROGRESS=off)"
    if not path.exists():
        return "nothing recorded yet"
    with tempfile.TemporaryDirectory() as scratch:
        said: list[str] = []
        copy = Path(shutil.copy(path, scratch))
        state.Progress(copy, said.append).read()
        if said:
            return f"{shown(path)} is damaged or of a newer kvlab ({path.stat().st_size} bytes); it was left as it is"
        return f"{len(passed(copy))} exercises passed, in {shown(path)}"


def run(options: argparse.Namespace) -> int:
    """Print the overview of one folder."""
    from kvlab.course.overview import progress
    from kvlab.course.session import restart

    here = restart()
    if options.folder is not None or not os.environ.get("KVLAB_PROGRESS", "").strip():
        here.progress = state.Progress(learners_folder(options.folder) / state.FILE)
    print(progress())
    return 0
