"""From notebooks to grades: each exercise in a process of its own, judged here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab.course.declare import Exercise
from kvlab.course.grade import cells
from kvlab.course.grade.cells import BadNotebook, Written
from kvlab.course.grade.connection import Connection
from kvlab.course.grade.house import House, Limits
from kvlab.course.grade.referee import Referee
from kvlab.course.guard import Ending, guarded
from kvlab.course.notebooks import as_handed_out
from kvlab.course.registry import every, find, part_of
from kvlab.course.source import untouched

PASSED, WRONG, STOPPED, UNTOUCHED = "passed", "wrong", "stopped", "not attempted"
MISSING, NOT_GRADED, UNREADABLE = "missing", "not graded", "unreadable"


@dataclass(frozen=True)
class Grade:
    """One exercise of one notebook.

    `verdict`: "passed", "wrong", "stopped" (ended by a limit, or by itself), "not attempted", "missing" (the notebook
    has no such cell), "not graded" (a package is lacking, or the grader failed) or "unreadable" (the notebook).
    `points`: the exercise's stars if it passed, else 0, out of `possible`. `said`: why, in a sentence; `mistake`: the
    known mistake it behaves like.
    """

    learner: str
    notebook: str
    lab: str
    exercise: str
    verdict: str
    points: int = 0
    possible: int = 0
    core: bool = True
    said: str = ""
    mistake: str = ""


@dataclass(frozen=True)
class Learner:
    """Whose a notebook is, and where it lies."""

    name: str
    path: Path


def grade(learners: Iterable[Learner], limits: Limits | None = None, only: Iterable[str] = (),
          tell: Callable[[Grade], None] = lambda found: None, warn: Callable[[str], None] = lambda said: None
          ) -> list[Grade]:
    """Grades every notebook, in the order given. A notebook that cannot be read has one grade that says so. Where no
    process for learners' code starts, nothing is graded: `NoTemplate`.

    only: names of exercises; all of a notebook's labs otherwise. tell: is given each grade as soon as it is there.
    warn: is told what this system cannot hold back."""
    with House() as house:
        if house.lacks:
            warn(f"This system lacks {' and '.join(house.lacks)}, so only Python holds learners' code back there.")
        return graded(house, learners, limits or Limits(), only, tell)


def graded(house: House, learners: Iterable[Learner], limits: Limits, only: Iterable[str] = (),
           tell: Callable[[Grade], None] = lambda found: None) -> list[Grade]:
    """The same, with processes of a house that is open already."""
    found: list[Grade] = []
    for learner in learners:
        for one in _notebook(house, learner, limits, frozenset(only)):
            found.append(one)
            tell(one)
    return found


def _notebook(house: House, learner: Learner, limits: Limits, only: frozenset[str]) -> Iterator[Grade]:
    blank = Grade(learner.name, learner.path.name, "", "", UNREADABLE)
    try:
        written = cells.read(learner.path)
    except BadNotebook as trouble:
        yield dataclasses.replace(blank, said=f"{learner.path.name} {trouble}.")
        return
    entries = [entry for entry in _expected(written, learner.path) if not only or entry.name in only]
    if not entries:
        yield dataclasses.replace(blank, verdict=MISSING, said="There is no exercise of the course in it.")
    passed: set[str] = set()
    for entry in entries:
        start = dataclasses.replace(blank, lab=entry.lab, exercise=entry.name, possible=entry.stars, core=entry.core)
        try:
            one = _exercise(house, entry, written, passed, limits, start)
        except Exception as trouble:  # ours, or a text that even looking at it breaks: it must not cost the others
            said = f"The grader failed on it: {type(trouble).__name__}: {str(trouble)[:160]}"
            one = dataclasses.replace(start, verdict=NOT_GRADED, said=said)
        if one.verdict == PASSED:
            passed.add(entry.name)
        yield one


def _expected(written: Written, path: Path) -> list[Exercise]:
    """The exercises of the notebook's labs, in the course's order: those it has, and those that belong beside them."""
    names = {*written.parts, *written.broken}
    labs = {entry.lab for entry in map(find, names) if entry is not None} | {path.name[:2]}
    return [entry for entry in every() if entry.lab in labs]


def _exercise(house: House, entry: Exercise, written: Written, passed: set[str], limits: Limits, start: Grade) -> Grade:
    if entry.name in written.broken:
        return dataclasses.replace(start, verdict=WRONG, said=f"{entry.name} {written.broken[entry.name]}.")
    if entry.name not in written.parts:
        return dataclasses.replace(start, verdict=MISSING, said=f"The notebook has no cell of {entry.name}.")
    node = cells.definition(written.parts[entry.name])
    if untouched(node) or as_handed_out(entry, node):
        return dataclasses.replace(start, verdict=UNTOUCHED)
    try:
        finished = part_of(entry)
    except ImportError as lacking:
        return dataclasses.replace(start, verdict=NOT_GRADED, said=f"{lacking.name} is not installed here.")
    return _judged(house, entry, finished, cells.job(entry, written, passed), limits, start)


def _judged(house: House, entry: Exercise, finished: Any, job: dict[str, Any], limits: Limits, start: Grade) -> Grade:
    services = {name: cells.service(name) for name in job["services"]}
    pipe, pid = house.start(job, limits)
    try:
        connection = Connection(pipe, services)
        checker = Referee(entry, connection, job["pieces"][-1], finished)
        ending = guarded(checker, limits.seconds)
    finally:
        house.end(pipe, pid)
    return _of_ending(entry, ending, connection.stopped, limits, start)


def _of_ending(entry: Exercise, ending: Ending, stopped: str, limits: Limits, start: Grade) -> Grade:
    if ending.how == "interrupted":
        raise KeyboardInterrupt
    if ending.how == "broken":
        return dataclasses.replace(start, verdict=WRONG, said=f"{entry.name}: {ending.report.get('trouble', '')[:200]}")
    if ending.how == "done" and ending.report.get("passed") is not None and not stopped:
        return dataclasses.replace(start, verdict=PASSED, points=entry.stars)
    if stopped:
        return dataclasses.replace(start, verdict=STOPPED, said=f"{entry.name} {stopped}.")
    if ending.how == "late":
        said = f"{entry.name} did not finish within {limits.seconds:g} s."
        return dataclasses.replace(start, verdict=STOPPED, said=said)
    title = ending.report.get("title", f"{entry.name}: the check ended with {ending.how}.")
    index = ending.report.get("mistake")
    mistake = "" if index is None else entry.mistakes[index].says
    how = STOPPED if "needed more memory than" in title else WRONG
    return dataclasses.replace(start, verdict=how, said=" ".join(title.split()), mistake=mistake)
