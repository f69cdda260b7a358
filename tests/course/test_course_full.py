"""What does not fit into a verdict is cut where it matters least, and help_me() has all of it."""

from __future__ import annotations

from kvlab.course import verdict
from kvlab.course.judge import judge
from kvlab.course.registry import find
from kvlab.course.shorten import call_text, long_arguments
from kvlab.serve import schedule_step
from tests.course.cells import fits

JOBS = [("ana", "decoding", 1), ("ben", "prompt", 300), ("carl", "decoding", 1), ("dora", "waiting", 50)]
LONG = "gather all length rows through the table, the new ones included, and cut them in two before they are multiplied"


def step(jobs, budget):
    """Stands for a part with a list and a number."""


def test_a_call_that_fits_is_shown_whole():
    running = [("dora", 0, 3), ("ana", 0, 1), ("carl", 0, 2)]
    assert call_text("choose_victim", lambda running, asks: None, (running, "dora")) == (
        "choose_victim(running=[('dora', 0, 3), ('ana', 0, 1), ('carl', 0, 2)], asks='dora')")
    assert long_arguments("step", step, (JOBS[:2], 20)) == []


def test_an_argument_too_long_for_the_call_is_named_there_and_written_below_in_full():
    assert call_text("step", step, (JOBS, 20), below=True) == "step(jobs, budget=20)"
    assert "jobs=[('ana', " in call_text("step", step, (JOBS, 20)), "where nothing follows, what fits is shown"
    lines = long_arguments("step", step, (JOBS, 20))
    assert " ".join(line.strip() for line in lines) == f"jobs = {JOBS}"
    assert all(len(line) <= 104 and line.endswith((")]", "),")) for line in lines), "no line ends within a job"


def test_what_is_too_much_to_show_at_all_is_cut():
    assert call_text("step", step, (list(range(10_000)), 20), below=True).endswith(", ...], budget=20)")
    assert long_arguments("step", step, (list(range(10_000)), 20)) == []
    assert call_text("step", None, (list(range(10_000)), 20)).startswith("step([0, 1")


def test_every_job_of_a_failing_step_can_be_read_in_the_verdict_and_in_help_me():
    entry = find("schedule_step")
    assert entry is not None
    found = judge(entry, lambda jobs, budget: {} if len(jobs) > 3 else schedule_step(jobs, budget))
    assert fits(found.text)
    for text in (found.text, found.details):
        whole = " ".join(text.split())
        assert "schedule_step(jobs, budget=512) returned" in whole and f"jobs = {JOBS}" in whole
        assert "..." not in whole and "no more to see" not in whole


def test_a_long_advice_takes_a_second_line_where_there_is_room():
    found = verdict.failed("part", "part: it returned 3, expected 2.", ["one", "two"], next=LONG)
    assert fits(found.text) and found.advice == f"Next: {LONG}."
    assert " ".join(found.text.split()).endswith(f"{LONG}. hint() · help_me()")


def test_where_there_is_no_room_the_trace_matters_more_than_the_end_of_the_advice():
    title = "part: " + "very " * 60 + "wrong, expected 2."
    found = verdict.failed("part", title, ["x = " + "1" * 90] * 3, says="Looks like this. " * 10, next=LONG)
    assert fits(found.text) and found.advice == f"Next: {LONG}."
    assert found.lines[-1].endswith("...   hint() · help_me()")


def test_an_advice_of_any_length_fits():
    for length in range(1, 300):
        assert fits(verdict.failed("part", "part: no.", next="x " * length).text)
        assert fits(verdict.failed("part", "part: no.", next="x" * length).text)


def test_none_that_was_meant_is_not_called_a_missing_return(notebook):
    said = notebook.exercise("def halves(numbers):\n    return None if len(numbers) == 3 else [n / 2 for n in numbers]")
    assert "returned None, expected [0.5, 1.0, 1.5]." in said and "missing" not in said
    said = notebook.exercise("def halves(numbers):\n    if len(numbers) != 3:\n        return [n / 2 for n in numbers]")
    assert "is a `return` missing?" in said


def test_a_changed_argument_is_told_to_be_copied(notebook):
    said = notebook.exercise("def halves(numbers):\n    numbers.sort(reverse=True)\n    return [0.5, 1.0, 1.5]")
    assert "Next: leave numbers as it came: work on list(numbers)." in said
