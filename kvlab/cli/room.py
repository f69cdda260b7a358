"""`kvlab room`: a class from its progress files, again and again until it is interrupted. It only reads."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from kvlab.cli.failure import Refused
from kvlab.cli.places import shown as path_text

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab room` takes."""
    parser.add_argument("folders", nargs="+", metavar="DIR", help="folders of learners, or one above them")
    parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS", help="look again so often (5)")
    parser.add_argument("--once", action="store_true", help="look once and end")
    parser.add_argument("--json", action="store_true", help="look once, and print what is known as JSON")


def run(options: argparse.Namespace) -> int:
    """Look, print, wait, and again. Exit status 0, also when it is interrupted; 2 for a folder that is not there."""
    from kvlab.course.room import Room, board
    from kvlab.course.room.shown import as_json, text

    if not 0.2 <= options.every <= 3600:
        raise Refused("--every takes 0.2 to 3600 seconds.", code=2)
    for folder in map(Path, options.folders):
        if not folder.is_dir():
            raise Refused(f"{path_text(folder)} is no folder.", code=2)
    room = Room(options.folders)
    if options.json:
        print(as_json(board(room.look(), time.time())))
        return 0
    if options.once:
        print(text(board(room.look(), time.time()), _width()))
        return 0
    try:
        while True:
            words = text(board(room.look(), time.time()), _width())
            print(f"{_CLEAR if sys.stdout.isatty() else ''}{time.strftime('%H:%M:%S')}\n{words}", flush=True)
            time.sleep(options.every)
    except KeyboardInterrupt:
        return 0


def _width() -> int:
    return max(60, shutil.get_terminal_size((100, 24)).columns)
