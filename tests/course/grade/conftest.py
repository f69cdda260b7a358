"""One template of processes for all tests of grading, since it takes seconds to load torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvlab.course.grade import Grade, Learner
from kvlab.course.grade.grader import graded
from kvlab.course.grade.house import House, Limits
from tests.course.grade.notebooks import notebook

Graded = Callable[..., dict[str, Grade]]


@pytest.fixture(scope="package")
def house() -> Iterator[House]:
    """Where processes come from."""
    with House() as opened:
        yield opened


@pytest.fixture
def graded_cells(house: House, tmp_path: Path) -> Graded:
    """Grades a notebook of these cells: grades by exercise. `only`: names that matter; `seconds`: for each."""

    def run(*cells: str, only: tuple[str, ...] = (), seconds: float = 20.0) -> dict[str, Grade]:
        path = notebook(tmp_path / "ana" / "lab.ipynb", *cells)
        found = graded(house, [Learner("ana", path)], Limits(seconds=seconds), only)
        return {one.exercise: one for one in found}

    return run
