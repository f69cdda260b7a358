"""Right answers of every plausible form pass; wrong ones get the verdict that was meant for them."""

from __future__ import annotations

import pytest

from kvlab.course import registry
from tests.course.cells import Notebook, fits
from tests.exercises.conftest import answers, cell


def given(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "answer"), [pytest.param(name, one, id=f"{name}-{number}")
                                                        for name, number, one in answers(kind)])


def try_out(name: str, answer: str, notebook: Notebook) -> str:
    """What the cell prints in a lab that was opened."""
    entry = registry.find(name)
    assert entry is not None
    notebook.run(f"open_lab({entry.lab!r})")
    return notebook.run(cell(answer))


@given("RIGHT")
def test_a_right_answer_passes_whatever_its_form(name: str, answer: str, notebook: Notebook) -> None:
    said = try_out(name, answer, notebook)
    assert said.startswith(f"✓ {name}:"), said


@given("WRONG")
def test_a_wrong_answer_gets_the_verdict_meant_for_it(name: str, answer: tuple[str, str], notebook: Notebook) -> None:
    source, meant = answer
    said = try_out(name, source, notebook)
    assert said.startswith(f"✗ {name}") and fits(said), said
    found = meant.lower() in " ".join(said.split()).lower()
    assert found, f"meant: {meant}\n{source}\n{said}"
