"""Prints what the course says to a learner, on any terminal."""

from __future__ import annotations

import sys
import textwrap

WIDTH = 110


def say(text: str) -> None:
    """Prints `text`. A terminal that lacks a character gets a question mark in its place, not an exception."""
    try:
        print(text)
    except UnicodeEncodeError:
        encoding = getattr(sys.stdout, "encoding", None) or "ascii"
        print(text.encode(encoding, "replace").decode(encoding))


def wrapped(text: str, most: int, first: str = "", rest: str = "  ") -> list[str]:
    """`text` in at most `most` lines of at most 110 characters, the last one cut if it does not fit."""
    lines = textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=rest,
                          break_on_hyphens=False)
    if len(lines) > most:
        last = " ".join([lines[most - 1], *(line.strip() for line in lines[most:])])
        lines = [*lines[: most - 1], clip_line(last)]
    return lines


def paragraph(text: str, first: str = "", rest: str = "  ") -> str:
    """`text` broken into lines of at most 110 characters, as many as it takes."""
    return "\n".join(wrapped(text, 100, first, rest))


def clip_line(line: str) -> str:
    """`line` cut to 110 characters, with dots where it was cut. Its indentation is kept."""
    return line if len(line) <= WIDTH else line[: WIDTH - 4].rstrip() + " ..."
