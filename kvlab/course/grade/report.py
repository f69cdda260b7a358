"""Grades as text, CSV and JSON."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Sequence
from itertools import groupby

from kvlab.course.grade.grader import (
    MISSING,
    NOT_GRADED,
    PASSED,
    STOPPED,
    UNREADABLE,
    UNTOUCHED,
    WRONG,
    Grade,
)

SIGNS = {PASSED: "✓", WRONG: "✗", STOPPED: "■", UNTOUCHED: "○", MISSING: "·", NOT_GRADED: "?", UNREADABLE: "!"}
COLUMNS = [field.name for field in dataclasses.fields(Grade)]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet would begin to compute


def line(one: Grade) -> str:
    """One exercise: "✗ BlockPool  0 of 3  wrong: after take(2) ...", on one line without control characters."""
    what = one.verdict if one.exercise else f"{one.notebook}: {one.verdict}"
    said = f": {one.said}" if one.said else ""
    mistake = f" {one.mistake}" if one.mistake else ""
    points = f"{one.points} of {one.possible}" if one.exercise else ""
    return _printable(f"{SIGNS[one.verdict]} {one.exercise:22} {points:7} {what}{said}{mistake}".replace("  : ", ": "))


def heading(one: Grade) -> str:
    """Whose notebook begins."""
    return _printable(f"{one.learner} · {one.notebook}")


def table(grades: Sequence[Grade]) -> str:
    """Points by learner and lab, with the sum; learners in the order in which they came."""
    labs = sorted({one.lab for one in grades if one.lab})
    names = list(dict.fromkeys(one.learner for one in grades))
    width = max([len("learner"), *map(len, names)]) if names else 0
    lines = [f"{'learner':{width}}  " + "  ".join(f"lab {lab:>4}" for lab in labs) + "     all"]
    for name in names:
        own = [one for one in grades if one.learner == name]
        shares = [_share([one for one in own if one.lab == lab]) for lab in labs]
        lines.append(_printable(f"{name:{width}}  " + "  ".join(f"{share:>8}" for share in [*shares, _share(own)])))
    return "\n".join(lines)


def _share(grades: Sequence[Grade]) -> str:
    possible = sum(one.possible for one in grades)
    return f"{sum(one.points for one in grades)}/{possible}" if possible else "-"


def text(grades: Sequence[Grade]) -> str:
    """Every notebook with its exercises, then the table."""
    lines: list[str] = []
    for _, group in groupby(grades, key=lambda one: (one.learner, one.notebook)):
        own = list(group)
        lines += [heading(own[0]), *(f"  {line(one)}" for one in own), ""]
    return "\n".join([*lines, table(grades)])


def as_csv(grades: Iterable[Grade]) -> str:
    """One row for each exercise, with a header. What a spreadsheet would take for a formula gets a ' before it."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in grades:
        values = dataclasses.astuple(one)
        writer.writerow([f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
                         for value in values])
    return target.getvalue()


def as_json(grades: Iterable[Grade]) -> str:
    """A list with one object for each exercise; the keys are the columns of the CSV."""
    return json.dumps([dataclasses.asdict(one) for one in grades], indent=1, ensure_ascii=False) + "\n"


def _printable(said: str) -> str:
    """What a learner's code may have put into a sentence must not steer the terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in said)
