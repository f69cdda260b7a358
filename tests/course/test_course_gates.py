"""Every exercise of the course through every gate."""

from __future__ import annotations

import pytest

from kvlab.course import registry
from tests.course import gates

EVERY = list(registry.every())
MISTAKES = [pytest.param(entry, index, id=f"{entry.name}-{mistake.code.__name__}")
            for entry in EVERY for index, mistake in enumerate(entry.mistakes)]

each = pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.name)


def test_there_are_exercises_and_no_two_have_the_same_name():
    names = [entry.name for entry in EVERY]
    assert len(names) >= 17 and len(set(names)) == len(names)


@each
def test_the_finished_part_passes(entry):
    gates.finished_part_passes(entry)


@each
def test_the_solved_cell_passes(entry):
    gates.solution_passes(entry)


@pytest.mark.parametrize("entry, index", MISTAKES)
def test_a_known_mistake_is_rejected_with_its_own_message(entry, index):
    gates.mistake_is_rejected_with_its_own_message(entry, index)


@each
def test_hints_and_mistakes_are_complete(entry):
    gates.texts_are_complete(entry)


@each
def test_an_untouched_body_is_not_attempted(entry):
    gates.untouched_is_not_attempted(entry)


@each
def test_the_cell_that_is_handed_out_is_not_attempted(entry):
    gates.handed_out_is_not_attempted(entry)


@each
def test_raising_in_every_body_passes_nothing(entry):
    gates.raising_passes_nothing(entry)


@each
def test_odd_results_are_told_kindly(entry):
    gates.odd_results_are_told_kindly(entry)
