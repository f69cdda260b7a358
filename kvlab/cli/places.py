"""Where things are: the course's own notebooks, and the folder a learner works in."""

from __future__ import annotations

import os
import re
from pathlib import Path

import kvlab
from kvlab.cli.failure import Refused, unknown

DEFAULT_FOLDER = "my-labs"
RECORD = ".kvlab-labs.json"  # what `kvlab start` copied into a folder; its presence marks a learner's folder

_PACKAGE = Path(kvlab.__file__).parent
_LAB_FILE = re.compile(r"(\d\d)_\w+\.ipynb")


def _course_folder(name: str) -> Path:
    """`labs` or `solutions`: through the link inside the package, or beside it where git wrote links as text files."""
    for folder in (_PACKAGE / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder.resolve()
    raise Refused(f"This installation of kvlab carries no {name}. Reinstall it, or use a clone of the course.")


def labs_folder() -> Path:
    """The folder of the student notebooks as the course ships them."""
    return _course_folder("labs")


def solutions_folder() -> Path:
    """The folder of the solved notebooks."""
    return _course_folder("solutions")


def labs(folder: Path) -> dict[str, Path]:
    """The labs in `folder`, in order: two-digit number -> file. Backups, offered updates and the like are no labs."""
    found = ((_LAB_FILE.fullmatch(path.name), path) for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")))
    return {match[1]: path for match, path in found if match}


def lab_number(text: str) -> str:
    """"3", "03", "lab03", "03_blocks_and_tables" or its file name -> "03". Anything that names no lab is refused."""
    known = labs(labs_folder())
    match = re.fullmatch(r"(?:lab[ _-]?)?(\d{1,2})(?:_.*)?", text.strip().lower())
    if match and match[1].zfill(2) in known:
        return match[1].zfill(2)
    names = {path.stem: number for number, path in known.items()}
    by_title = [number for stem, number in names.items() if stem[3:] == text.strip().lower()]
    if by_title:
        return by_title[0]
    raise unknown("lab", text, () if match else names, f"The labs are {', '.join(known) or 'not built yet'}.")


def is_learners(folder: Path) -> bool:
    """Whether `folder` was made by `kvlab start`, or holds lab notebooks and is not the course's own."""
    if (folder / RECORD).exists():
        return True
    return bool(labs(folder)) and folder.resolve() not in (labs_folder(), solutions_folder())


def learners_folder(given: str | None) -> Path:
    """The folder meant by `--dir`: the one given, else the current one if a learner works in it, else my-labs/."""
    if given is not None:
        folder = Path(given)
        if not folder.is_dir():
            raise Refused(f"There is no folder {given}. Make it with: kvlab start {given}")
        return folder
    for folder in (Path("."), Path(DEFAULT_FOLDER)):
        if folder.is_dir() and is_learners(folder):
            return folder
    raise Refused("No labs of yours are here. Make a folder of them with: kvlab start (or name yours with --dir)")


def shown(path: Path) -> str:
    """`path` as a person would type it: relative to where they are if below it, else with ~ for the home folder."""
    absolute = Path(os.path.abspath(path))
    for base, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if absolute.is_relative_to(base):
            return prefix + absolute.relative_to(base).as_posix()
    return str(absolute)
