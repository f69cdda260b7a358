"""Random traces: shrunk to the shortest, shown as Python, the same each time, and soon over."""

from __future__ import annotations

import dataclasses
import time

import pytest
from hypothesis import strategies as st

from kvlab.course import traces
from kvlab.course.declare import Exercise, Traces, Wrong
from kvlab.course.guard import BrokenCheck
from kvlab.course.judge import judge
from kvlab.course.tape import Tape
from tests.course import small
from tests.course.cells import fits

HIDDEN = dataclasses.replace(small.SHELF, checks=(Traces("random traces", small.OPERATIONS, small.walk),), mistakes=())


class Third(small.Shelf):
    """Finds a book that was never there at the third take of at least one."""

    def __init__(self, books):
        super().__init__(books)
        self.takes = 0

    def take(self, count):
        taken = super().take(count)
        self.takes += count > 0
        if self.takes == 3:
            self._free.append(99)
        return taken


def test_a_failing_trace_is_shrunk_to_the_shortest():
    for isolate in (True, False):
        verdict = judge(dataclasses.replace(HIDDEN, isolate=isolate), Third)
        assert verdict.lines == (
            "✗ Shelf: num_free is 1, expected 0.", "      p = Shelf(3)", "      p.take(1)", "      p.take(1)",
            "      p.take(1)", "  Until it passes, Shelf means tests.course.small.Shelf in the other cells.",
            "  hint() · help_me()"), verdict.text


class Raises(small.Shelf):
    def release(self, books):
        if len(books) > 1:
            raise ZeroDivisionError("oh")
        super().release(books)


def test_an_exception_of_the_part_is_shown_with_its_trace():
    verdict = judge(HIDDEN, Raises)
    assert verdict.lines[0] == "✗ Shelf raised ZeroDivisionError: oh."
    assert verdict.lines[1] == "      p = Shelf(2)" and verdict.lines[-3] == "      p.release(2)"


class Moody(small.Shelf):
    """Fails once, whatever it is asked."""

    failed = False

    def take(self, count):
        if not Moody.failed:
            Moody.failed = True
            raise OSError("today not")
        return super().take(count)


def test_code_that_fails_now_and_then_is_wrong_and_not_a_crash():
    assert judge(HIDDEN, Moody).lines[0] == "✗ Shelf raised OSError: today not."


class Late(small.Shelf):
    """Goes wrong after many operations only, and takes its time."""

    def __init__(self, books):
        super().__init__(books)
        self.calls = 0

    def take(self, count):
        self.calls += 1
        time.sleep(0.002)
        if self.calls > 6:
            raise ValueError("worn out")
        return super().take(count)


def test_a_long_trace_is_packed_into_the_lines_there_are_and_help_shows_all_of_it():
    verdict = judge(HIDDEN, Late)
    assert fits(verdict.text) and "; p.take(0)" in verdict.text
    assert verdict.details.count("p.take(") >= 7


def test_a_trace_too_long_for_packing_keeps_its_beginning_and_its_end():
    def run(part, value):
        raise Wrong("it is long.")

    check = Traces("long", st.just(0), run, examples=[0], render=lambda _: [f"step_{n}({'x' * 90})" for n in range(30)])
    verdict = judge(Exercise("Shelf", small.LAB, "tests.course.small.Shelf", (check,)), small.Shelf)
    assert fits(verdict.text)
    assert "step_0" in verdict.text and "step_29" in verdict.text and "help_me() shows them" in verdict.text


def test_a_value_that_cannot_be_rendered_is_shown_as_it_is():
    def run(part, value):
        raise Wrong("no.")

    for render in (None, lambda value: 1 / 0):
        check = Traces("odd", st.integers(), run, render=render)
        verdict = judge(Exercise("Shelf", small.LAB, "tests.course.small.Shelf", (check,)), small.Shelf)
        assert verdict.lines[:2] == ("✗ Shelf: no.", "      0")


@pytest.mark.parametrize("isolate", [True, False])
def test_a_strategy_that_makes_nothing_is_a_fault_of_the_check(isolate):
    check = Traces("impossible", st.integers().filter(lambda _: False), small.walk)
    with pytest.raises(BrokenCheck, match="Unsatisfiable"):
        judge(dataclasses.replace(HIDDEN, checks=(check,), isolate=isolate), small.Shelf)


def test_a_strategy_may_be_made_when_it_is_first_needed():
    check = Traces("later", lambda: small.OPERATIONS, small.walk)
    entry = dataclasses.replace(HIDDEN, checks=(check,))
    assert judge(entry, small.Shelf).status == "passed" and judge(entry, Third).status == "wrong"


def test_the_search_leaves_no_folder_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    judge(HIDDEN, Third)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("least", [0, 7])
def test_so_many_traces_are_tried_though_the_time_for_them_is_over(least, monkeypatch):
    monkeypatch.setattr(traces, "BUDGET", -1.0)
    seen = []
    check = Traces("numbers", st.integers(), lambda part, value: seen.append(value))
    assert traces.search(check, "anything", lambda value: value, Tape(), least) is None
    assert len(seen) == least


def test_two_checks_print_the_same():
    assert judge(HIDDEN, Third) == judge(HIDDEN, Third)
