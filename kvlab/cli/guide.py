"""`kvlab guide LAB`: answers and likely wrong answers of a lab, for whoever teaches it."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvlab.cli.failure import Refused
from kvlab.cli.places import lab_number, shown
from kvlab.course import terms
from kvlab.course.classroom import handout


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab guide` takes."""
    parser.add_argument("lab", nargs="?", metavar="LAB", help="its number, such as 03")
    parser.add_argument("--write", metavar="DIR", help="write WRONG-ANSWERS.md, ANSWERS.md and GLOSSARY.md into DIR")
    parser.epilog = "It prints Markdown, and every answer: not for learners."


def documents() -> dict[str, str]:
    """File name -> text of the documents of docs/ that are made and not written."""
    return handout.documents() | {"GLOSSARY.md": terms.document()}


def run(options: argparse.Namespace) -> int:
    """Print a lab's section, or write the documents of all labs."""
    if options.lab is None and options.write is None:
        raise Refused("Name a lab, such as kvlab guide 03, or a folder with --write.", code=2)
    if options.lab is not None:
        lab = lab_number(options.lab)
        print(f"{handout.answers(lab)}\n{handout.wrong_answers(lab)}")
    if options.write is not None:
        folder = Path(options.write)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in documents().items():
            (folder / name).write_text(text, encoding="utf-8")
        print(f"{shown(folder)}: {', '.join(documents())} written.")
    return 0
