"""What stands behind "Next:" fits what went wrong."""

from __future__ import annotations

import pytest

from kvlab.course.declare import Cases, Exercise, Wrong
from kvlab.course.judge import judge
from tests.course import small
from tests.course.cells import Notebook, fits

NEXT = {
    "print(-(-n // b))": "return the value; print only shows it.",
    "n": "end with return.",
    "return math.ceil(n / b)": "put import math at the top of the cell.",
    "return np.ceil(n / b)": "put import numpy as np at the top of the cell.",
    "return ceil(n / b)": "put from math import ceil at the top of the cell.",
    "raise UsageError(n)": "put from kvlab.errors import UsageError at the top of the cell.",
    "return grow([], 1)": "run the lab's first code cell again: it binds grow.",
    "number = 1; return nubmer": "Did you mean number?",
    "return whatever": "give whatever a value first, or look how it is spelt elsewhere.",
    "n += m; m = 1": "give m a value before it is used.",
    "return blocks_up(n, b)": "give it a case in which it does not call itself.",
    "return str(n)": "return an int.",
    "return [n]": "return an int.",
    "return 1.0": "return an int: // and math.ceil() give one.",
    "return n + '1'": "look at line 3: return n + '1'.",
    "return min([])": "treat the empty list first.",
    "return max([])": "treat the empty list first, or give max() a default=0.",
    "raise SystemExit": "leave out exit(), and return the result.",
    "yield 1": "use return, without yield.",
}


def last_line(said: str) -> str:
    return said.splitlines()[-1].removesuffix("   hint() · help_me()").strip()


@pytest.mark.parametrize("body", NEXT)
def test_next_is_chosen_by_the_kind_of_failure(notebook: Notebook, body: str) -> None:
    said = notebook.exercise(f"def blocks_up(n, b):\n    {body}")
    assert last_line(said) == f"Next: {NEXT[body]}" and fits(said)


def test_an_exception_of_another_kind_is_to_be_the_one_that_is_expected(notebook: Notebook) -> None:
    body = "if n < 0:\n        raise LookupError(n)\n    return -(-n // b)"
    assert last_line(notebook.exercise(f"def blocks_up(n, b):\n    {body}")) == "Next: raise UsageError."


def test_an_exercise_of_another_lab_is_imported_as_the_lab_that_is_open_does_not_bind_it(notebook: Notebook) -> None:
    notebook.run('open_lab("03")')
    said = notebook.exercise("def blocks_needed(n, b):\n    return round_up_to_block(n, b) // b")
    assert last_line(said) == "Next: put from kvlab.memory import round_up_to_block at the top of the cell."


def test_a_list_where_one_item_was_meant_is_named(notebook: Notebook) -> None:
    said = notebook.exercise("def halves(numbers):\n    return [numbers / 2]")
    assert last_line(said) == "Next: numbers is a list: go through its items."


def test_a_changed_signature_is_to_be_put_back(notebook: Notebook) -> None:
    said = notebook.exercise("def blocks_up(n):\n    return n")
    assert last_line(said) == "Next: keep the signature (num_tokens, block_size) as it was."


@pytest.mark.parametrize(("result", "next"), [
    ("(n / 2 for n in numbers)", "return a list: [... for ...] makes one."),
    ("tuple(n / 2 for n in numbers)", "return a list."), ("len(numbers)", "return a list.")])
def test_a_list_is_asked_for(notebook: Notebook, result: str, next: str) -> None:
    assert last_line(notebook.exercise(f"def halves(numbers):\n    return {result}")) == f"Next: {next}"


def test_a_generator_expression_is_not_called_a_yield(notebook: Notebook) -> None:
    said = notebook.exercise("def halves(numbers):\n    return (n / 2 for n in numbers)")
    assert "because of the round brackets" in said


def test_an_endless_loop_is_told_where_it_was(notebook: Notebook) -> None:
    def blocks_up(n, b):
        while n:
            pass

    entry = Exercise("blocks_up", small.LAB, "tests.course.small.blocks_up", small.BLOCKS_UP.checks, seconds=0.3)
    for line in judge(entry, blocks_up).lines[-1:]:
        assert "Next: see why this goes on: line " in line and ("while n:" in line or "pass" in line)


METHODS = """
    class Shelf:
        def __init__(self{extra}):
            self.books = 3
        @property
        def num_free(self):
            return {free}
        def take(self{count}):
            return self.books[count]
        def release(self, books):
            return {{}}[books]
"""


@pytest.mark.parametrize(("changes", "next"), [
    ({"extra": ""}, "keep the parameters of __init__() as they were."),
    ({"count": ""}, "keep the parameters of take() as they were."),
    ({}, "look at line 9: return self.books[count]."),
])
def test_methods_have_advice_of_their_own(notebook: Notebook, changes: dict[str, str], next: str) -> None:
    source = METHODS.format(**{"extra": ", books", "free": "self.books", "count": ", count"} | changes)
    assert last_line(notebook.exercise(source)) == f"Next: {next}"


def test_a_forgotten_self_is_named(notebook: Notebook) -> None:
    source = METHODS.format(extra=", books", free="self.books", count=", count").replace("self.books[count]", "books")
    assert last_line(notebook.exercise(source)) == "Next: write self.books."


def test_a_check_can_say_which_part_is_wrong_and_what_to_do() -> None:
    def compare(expected, got):
        raise Wrong("the second half is not.", next="look at the second half")

    entry = Exercise("grow", small.LAB, "tests.course.small.grow", (Cases("c", ([], 1), compare=compare),))
    lines = judge(entry, small.grow).lines
    assert lines[0].endswith(": the second half is not.") and "Next: look at the second half." in lines[-1]


def test_the_case_with_the_smallest_numbers_is_shown(notebook: Notebook) -> None:
    entry = Exercise("blocks_up", small.LAB, "tests.course.small.blocks_up", (Cases("c", (20, 16), (9, 4), (30, 2)),))
    assert judge(entry, lambda n, b: 0).lines[0] == "✗ blocks_up(num_tokens=9, block_size=4) returned 0, expected 3."


def test_help_says_when_there_is_no_more_to_see_and_shows_the_mistake(notebook: Notebook) -> None:
    notebook.exercise("def blocks_up(n, b):\n    return n // b + 1")
    said = notebook.run("help_me()")
    assert "Looks like n // B + 1" in said and "Nothing was printed, and there is no more to see." in said


def test_a_refusal_of_the_wrong_kind_shows_the_learners_line(notebook: Notebook) -> None:
    def run(part):
        try:
            part(1, 0)
        except ZeroDivisionError as error:
            raise Wrong("raised ZeroDivisionError.") from error

    from kvlab.course import registry
    from kvlab.course.declare import Property

    with registry.declared(Exercise("blocks_up", small.LAB, "tests.course.small.blocks_up", (Property("p", run),))):
        notebook.exercise("def blocks_up(n, b):\n    return n // b")
        assert "line 3, in blocks_up: return n // b" in notebook.run("help_me()")
