"""`kvlab grade`: what learners' exercises are worth, each run in a process of its own and compared outside it.

Exit status: 0 every notebook was read and graded, whatever its points; 1 one of them could not be read; 2 asked
wrongly; 3 not on this machine (it needs Linux).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from kvlab.cli.failure import Refused
from kvlab.cli.places import shown
from kvlab.course.room.folders import names as telling


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab grade` takes."""
    parser.add_argument("notebooks", nargs="+", metavar="NOTEBOOK",
                        help="notebooks, or folders of them; the folder a notebook lies in names the learner")
    parser.add_argument("--only", action="append", default=[], metavar="EXERCISE", help="grade this one (repeatable)")
    parser.add_argument("--csv", metavar="FILE", help="write one row for each exercise")
    parser.add_argument("--json", metavar="FILE", help="the same as JSON; - prints it in place of the table")
    parser.add_argument("--seconds", type=float, default=20.0, help="time for one exercise (20)")
    parser.add_argument("--memory", type=int, default=512, metavar="MB", help="memory for one exercise (512)")


def run(options: argparse.Namespace) -> int:
    """Grade, print as it goes, and write the files."""
    if sys.platform != "linux":
        raise Refused("Grading needs Linux: what holds a learner's code back is the system's.", code=3)
    if not 1 <= options.seconds <= 3600 or not 64 <= options.memory <= 65536:
        raise Refused("--seconds takes 1 to 3600, and --memory 64 to 65536 MB.", code=2)
    from kvlab.course.grade import grader, report

    learners = [grader.Learner(name, path) for name, path in named(notebooks_in(options.notebooks))]
    _known(options.only)
    quiet = options.json == "-"
    told: list[tuple[str, str]] = []

    def tell(one: grader.Grade) -> None:
        if quiet:
            return
        if (one.learner, one.notebook) not in told:
            told.append((one.learner, one.notebook))
            print(report.heading(one))
        print(f"  {report.line(one)}", flush=True)

    grades = grader.grade(learners, grader.Limits(options.seconds, options.memory << 20), options.only, tell,
                          lambda said: print(f"kvlab: {said}", file=sys.stderr))
    print(report.as_json(grades) if quiet else f"\n{report.table(grades)}", end="" if quiet else "\n")
    for target, text in ((options.csv, report.as_csv(grades)), (options.json, report.as_json(grades))):
        if target is not None and target != "-":
            Path(target).write_text(text, encoding="utf-8", newline="\n")
    return 1 if any(one.verdict == grader.UNREADABLE for one in grades) else 0


def notebooks_in(places: Iterable[str]) -> list[Path]:
    """The notebooks named, and those in the folders named, without Jupyter's checkpoints and our backups."""
    found: list[Path] = []
    for place in map(Path, places):
        if place.is_dir():
            inside = [path for path in sorted(place.rglob("*.ipynb")) if not _aside(path.relative_to(place))]
            if not inside:
                raise Refused(f"There is no notebook in {shown(place)}.", code=2)
            found += inside
        else:
            found.append(place)
    return list(dict.fromkeys(found))


def _aside(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts) or ".backup-" in path.name


def named(paths: Sequence[Path]) -> list[tuple[str, Path]]:
    """Each notebook with its learner: the folder it lies in, with as many folders above it as tell learners apart."""
    folders = list(dict.fromkeys(path.absolute().parent for path in paths))
    names = dict(zip(folders, telling(folders), strict=True))
    return [(names[path.absolute().parent], path) for path in paths]


def _known(names: Sequence[str]) -> None:
    from kvlab.course.registry import find, unknown

    for name in names:
        if find(name) is None:
            raise Refused(unknown(name), code=2)
