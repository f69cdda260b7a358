"""When a wrong answer is said to look like a known mistake, and when not."""

from __future__ import annotations

import dataclasses

from kvlab.course import registry
from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.judge import judge
from tests.course import small
from tests.course.cells import Notebook, fits

ADDS_ONE = "Looks like n // B + 1"


def test_a_mistake_with_a_special_case_around_it_is_recognised(notebook):
    notebook.run("from kvlab.errors import UsageError")
    said = notebook.exercise("""
        def blocks_up(n, b):
            if n == 0:
                return 0
            if n < 0:
                raise UsageError(n)
            return n // b + 1
    """)
    assert ADDS_ONE in said


def test_an_answer_that_meets_a_mistake_in_one_point_is_not_called_it(notebook):
    notebook.run("from kvlab.errors import UsageError")
    said = notebook.exercise("""
        def blocks_up(n, b):
            if n < 0:
                raise UsageError(n)
            return max(1, -(-n // b))
    """)
    assert said.splitlines() == [
        "✗ blocks_up(num_tokens=0, block_size=16) returned 1, expected 0.",
        "  Until it passes, blocks_up means tests.course.small.blocks_up in the other cells.",
        "  hint() · help_me()"]


def test_a_mistake_is_recognised_before_the_later_checks_were_thought_of(notebook):
    said = notebook.exercise("def blocks_up(n, b):\n    return n // b + 1")  # and it takes negative counts
    assert ADDS_ONE in said and "(I3)" in said


def test_an_answer_that_differs_from_a_mistake_in_the_first_failing_check_is_not_called_it(notebook):
    said = notebook.exercise("def blocks_up(n, b):\n    return n // b + (n != 16 or b)")
    assert "Looks like" not in said and "(I3)" in said


def same_as(number):
    def constant(n):
        return number

    return constant


def triple(n):
    return 3 * n


def test_the_first_declared_of_several_is_said_and_an_exact_one_before_others():
    entry = Exercise("triple", small.LAB, "tests.course.test_course_matching.triple",
                     checks=(Cases("c", (1,), (2,), (0,)),),
                     mistakes=(Mistake(lambda n: 0 if n < 2 else 5, "first"), Mistake(same_as(0), "second"),
                               Mistake(same_as(0), "third")))
    assert judge(entry, same_as(0)).mistake == 1
    assert judge(entry, lambda n: 0 if n < 2 else 7).mistake is None


def test_a_mistake_that_raises_is_recognised_by_its_exception():
    def pops(n):
        return [].pop()

    def asks(n):
        return {}["x"]

    entry = Exercise("triple", small.LAB, "tests.course.test_course_matching.triple", checks=(Cases("c", (1,), (2,)),),
                     mistakes=(Mistake(asks, "asks"), Mistake(pops, "pops")))
    assert judge(entry, lambda n: [][n]).mistake == 1
    assert judge(entry, lambda n: n.missing).mistake is None


def test_two_type_errors_with_different_words_are_not_the_same_mistake():
    entry = Exercise("triple", small.LAB, "tests.course.test_course_matching.triple", checks=(Cases("c", (1,)),),
                     mistakes=(Mistake(lambda n: n + "1", "adds text"),))
    assert judge(entry, lambda n: n + "2").mistake == 0
    assert judge(entry, lambda n: n()).mistake is None


def test_a_class_is_recognised_by_the_fixed_traces(notebook):
    notebook.run("from kvlab.errors import OutOfBlocks")
    said = notebook.exercise("""
        class Shelf:
            def __init__(self, books):
                self.books = list(range(books))
            @property
            def num_free(self):
                return len(self.books)
            def take(self, count):
                if count > len(self.books):
                    raise OutOfBlocks(count, len(self.books))
                given, self.books = self.books[:count], self.books[count:]
                return given
            def release(self, books):
                for book in books[1:]:
                    self.books.append(book)
    """)
    assert said.splitlines()[:-1] == [
        "✗ Shelf: num_free is 0, expected 1.",
        "      p = Shelf(2)",
        "      p.take(2)",
        "      p.release(1)",
        "  Looks like the first book of a release is lost.",
        "  Next: count what is free after each call.   hint() · help_me()"]


def test_a_mistake_that_never_ends_costs_the_name_and_not_the_verdict():
    def forever(n):
        while True:
            pass

    entry = Exercise("triple", small.LAB, "tests.course.test_course_matching.triple", checks=(Cases("c", (1,)),),
                     mistakes=(Mistake(forever, "never ends"),), seconds=0.4)
    for isolate in (True, False):
        verdict = judge(dataclasses.replace(entry, isolate=isolate), same_as(0))
        assert verdict.lines[0] == "✗ triple(n=1) returned 0, expected 3." and verdict.mistake is None


def test_a_message_that_is_too_long_is_cut_and_leaves_room_for_the_rest():
    entry = dataclasses.replace(small.SHELF, mistakes=(Mistake(small.Leaky, "Looks like this. " * 40),))
    verdict = judge(entry, small.Leaky)
    assert fits(verdict.text) and verdict.lines[-1].endswith("help_me()") and verdict.lines[-2].endswith(" ...")


def test_the_instructor_reads_which_mistake_it_was():
    with registry.declared(small.GROW):
        notebook = Notebook()
        notebook.exercise("def grow(table, extra):\n    return len(table + [0] * extra)")
        notebook.run("from kvlab.course.session import session\nkept = session().progress.read()")
    assert notebook.names["kept"]["exercises"]["grow"]["attempts"][0]["mistake"] == "Looks like it makes a new list."
