"""`kvlab slides LAB [FILE]`: a lab as slides without answers, in one HTML file that opens without a network."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvlab.cli.failure import Refused
from kvlab.cli.places import lab_number, shown
from kvlab.course import registry
from kvlab.course.classroom.deck import slides
from kvlab.course.classroom.page import page
from kvlab.mode import installed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab slides` takes."""
    parser.add_argument("lab", metavar="LAB", help="its number, such as 03")
    parser.add_argument("out", nargs="?", metavar="FILE", help="the file to write; default slides-NN.html here")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")


def run(options: argparse.Namespace) -> int:
    """Write the deck; a file that is there already is left alone unless told otherwise."""
    lab = lab_number(options.lab)
    if not installed("mistune"):
        raise Refused("Slides need mistune, which is not in this Python. Install it with: pip install 'kvlab[lab]'")
    out = Path(options.out or f"slides-{lab}.html")
    if out.is_dir():
        out = out / f"slides-{lab}.html"
    if out.exists() and not options.force:
        raise Refused(f"{shown(out)} is there already. Replace it with --force, or name another file.")
    deck = slides(lab)
    out.write_text(page(registry.titled(lab), deck), encoding="utf-8")
    print(f"{shown(out)}: {len(deck)} slides, without answers. Arrow keys turn them; printing gives a PDF.")
    return 0
