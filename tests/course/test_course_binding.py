"""What a name means after an exercise cell, and whose code is checked."""

from __future__ import annotations

import pytest

import kvlab.course
from kvlab.course.session import session
from tests.course import small

RIGHT = """
    def grow(table, extra):
        table += [0] * extra
        return len(table)
"""


def test_a_pass_binds_the_learners_own_and_anything_else_the_finished_part(notebook):
    notebook.exercise(RIGHT)
    assert notebook.names["grow"].__module__ == "__main__"
    notebook.exercise("def grow(table, extra):\n    return 0")
    assert notebook.names["grow"] is small.grow
    notebook.exercise("def grow(table, extra):\n    ...")
    assert notebook.names["grow"] is small.grow


def test_the_first_verdict_with_a_diagnosis_says_once_with_what_the_lab_goes_on(notebook):
    wrong = "def blocks_up(n, b):\n    return n // b + 1"
    first, second = notebook.exercise(wrong), notebook.exercise(wrong)
    assert first == f"{second}\nUntil it passes, the other cells go on with the finished part from kvlab."


def test_an_unknown_name_is_said_with_the_one_that_was_meant_and_left_alone(notebook):
    said = notebook.exercise("def blocks_upp(n, b):\n    return 7")
    assert said == "✗ blocks_upp is not an exercise of this course. Did you mean blocks_up?"
    assert notebook.names["blocks_upp"](1, 1) == 7
    assert notebook.exercise("def xyzzy():\n    return 7") == "✗ xyzzy is not an exercise of this course."


@pytest.mark.parametrize("code", ["exercise(3)", "exercise(lambda n, b: 1)", "exercise(None)", "exercise('blocks_up')"])
def test_what_is_no_definition_is_answered_with_a_sentence(notebook, code):
    assert notebook.run(code) == "✗ @exercise belongs on the line above a `def` or a `class`, without parentheses."


def test_a_cell_that_is_copied_split_or_retyped_still_works(notebook):
    notebook.run("def helper(extra):\n    return [0] * extra")
    for _ in range(2):
        assert notebook.exercise("def grow(table, extra):\n    table += helper(extra)\n    return len(table)")[0] == "✓"
    notebook.run("def grow(table, extra):\n    table += helper(extra)\n    return len(table)")
    assert notebook.run("grow = exercise(grow)") == "✓ grow: in place"


OWN = "@exercise\ndef grow(a, b):\n"
BORROWED = {
    "blocks_up = exercise(small.blocks_up)": "is the finished part itself",
    "@exercise\ndef blocks_up(n, b):\n    return small.blocks_up(n, b)": "uses tests.course.small.blocks_up",
    "@exercise\ndef blocks_up(n, b):\n    return theirs(n, b)": "uses tests.course.small.blocks_up",
    "@exercise\ndef blocks_up(n, b):\n    return tests.course.small.blocks_up(n, b)": "uses tests.course.small",
    "Shelf = exercise(small.Shelf)": "is the finished part itself",
    "@exercise\nclass Shelf(small.Shelf):\n    pass": "inherits from the finished part",
    "@exercise\nclass Shelf(small.Shelf):\n    def take(self, n):\n        return super().take(n)": "inherits from",
    "@exercise\nclass Shelf:\n    def __init__(self, n):\n        self.n = small.Shelf(n)": "uses tests.course.small",
    "class Mid(small.Shelf):\n    pass\n@exercise\nclass Shelf(Mid):\n    def x(self):\n        n = 1": "inherits from",
    OWN + "    from tests.course.small import grow\n    return grow(a, b)": "uses tests.course",
    OWN + "    import tests.course.small as s\n    return s.grow(a, b)": "uses tests.course",
    OWN + "    import tests.course.small\n    return tests.course.small.grow(a, b)": "uses tests",
    OWN + "    from tests.course import small as x\n    return x.grow(a, b)": "uses tests",
}


@pytest.mark.parametrize("cell", BORROWED)
def test_the_finished_part_is_never_checked_in_the_learners_place(notebook, cell):
    notebook.run("import tests.course.small\nfrom tests.course import small\ntheirs = small.blocks_up")
    said = notebook.run(cell)
    assert said.startswith("✗") and BORROWED[cell] in said and "of yours to check" in said


def test_a_function_that_calls_itself_is_checked_with_itself(notebook):
    notebook.run("open_lab('97')")
    said = notebook.exercise("def blocks_up(n, b):\n    return 0 if n <= 0 else 2 + blocks_up(n - b, b)")
    assert "returned 2, expected 1" in said
    said = notebook.exercise("def grow(table, extra):\n    if extra == 0:\n        return len(table)\n"
                             "    table.append(0)\n    return grow(table, extra - 1)")
    assert said == "✓ grow: in place"


def test_a_class_that_names_itself_is_checked_with_itself(notebook):
    notebook.run("open_lab('97')\nfrom kvlab.errors import OutOfBlocks")
    said = notebook.exercise("""
        class Shelf:
            lost = 1
            def __init__(self, books):
                self.num_free = books - Shelf.lost
            def take(self, count):
                return []
            def release(self, books):
                pass
    """)
    assert "raised AttributeError" not in said and said.startswith("✗ Shelf")


def test_a_failure_of_the_course_itself_is_one_sentence(notebook, monkeypatch):
    monkeypatch.setattr(kvlab.course.decorator, "judge_learners", lambda *_: 1 / 0)
    said = notebook.exercise(RIGHT)
    assert said.splitlines() == ["✗ The check itself failed. That is the fault of kvlab, not yours; please report it:",
                                 "  ZeroDivisionError: division by zero"]
    assert "grow" not in session().verdicts


def test_the_same_cell_prints_the_same_every_time(notebook):
    cells = [RIGHT, "def grow(table, extra):\n    return object()",
             "class Shelf:\n    def take(self, n):\n        return [self]"]
    for cell in cells:
        first = notebook.exercise(cell)
        notebook.run("hint()\nsolution()")
        assert notebook.exercise(cell) == first
