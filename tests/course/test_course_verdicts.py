"""What a learner reads after running an exercise cell."""

from __future__ import annotations

import pytest

from tests.course.cells import fits


def test_a_right_answer_lists_the_checks_that_hold(notebook):
    said = notebook.exercise("def blocks_up(n, b):\n    return (n + b - 1) // b if n >= 0 else fail(n)")
    assert said.startswith("✗") and "NameError" in said
    said = notebook.exercise("""
        def blocks_up(n, b):
            if n < 0:
                raise ValueError(n)
            return (n + b - 1) // b
    """)
    assert "raised ValueError: -1, expected UsageError." in said
    notebook.run("from kvlab.errors import UsageError")
    said = notebook.exercise("""
        def blocks_up(n, b):
            if n < 0:
                raise UsageError(n)
            return (n + b - 1) // b
    """)
    assert said == "✓ blocks_up: values · exact multiple · zero tokens · negative counts"


def test_a_known_mistake_is_named_as_in_the_design(notebook):
    notebook.run("from kvlab.errors import UsageError")
    said = notebook.exercise("""
        def blocks_up(tokens, size):
            if tokens < 0:
                raise UsageError("no")
            full = tokens // size
            return full + 1
    """)
    assert said.splitlines() == [
        "✗ blocks_up(num_tokens=16, block_size=16) returned 2, expected 1.",
        "  Looks like n // B + 1, which adds a block even when the last one is exactly full.  (I3)",
        "  Next: treat the exact multiple.   hint() · help_me()",
        "Until it passes, the other cells go on with the finished part from kvlab."]


def test_an_untouched_cell_is_not_attempted(notebook):
    said = notebook.exercise("def blocks_up(num_tokens, block_size):\n    ...")
    assert said == "○ blocks_up: not attempted. The lab goes on with tests.course.small.blocks_up."


BODIES = {
    "return None": "returned nothing (None), expected 1; is a `return` missing?",
    "print(-(-n // b))": "printed 1 and returned nothing (None), expected it to return 1.",
    "return n / b * 16": "returned 1.0 (a float), expected 1 (an int).",
    "return True": "returned True (a bool), expected 1 (an int).",
    "return '1'": "returned '1' (a str), expected 1 (an int).",
    "yield 1": "returned a generator, because of `yield`, expected 1.",
    "return ...": "returned Ellipsis, which stands for something still to be written, expected 1.",
    "return 1 // 0": "raised ZeroDivisionError: integer division or modulo by zero",
    "raise": "raised RuntimeError: No active exception to reraise",
    "raise SystemExit(0)": "ended the program with exit(), expected 1.",
    "import sys; sys.exit('bye')": "ended the program with exit(), expected 1.",
    "raise KeyboardInterrupt": "raised KeyboardInterrupt, expected 1.",
    "raise GeneratorExit": "raised GeneratorExit, expected 1.",
    "return blocks_up(n, b)": "called itself without end (RecursionError), expected 1.",
    "return input()": "raised RuntimeError: input() cannot be used in an exercise",
    "import os; os._exit(3)": "ended Python itself, as os._exit() does",
    "import ctypes; ctypes.string_at(0)": "crashed Python itself.",
    "return [0] * 10**10": "needed more memory than a check may take, expected 1.",
    "return n.size": "raised AttributeError: 'int' object has no attribute 'size', expected 1.",
}


@pytest.mark.parametrize("body", BODIES)
def test_whatever_the_code_does_is_one_plain_sentence(notebook, body):
    said = notebook.exercise(f"def blocks_up(n, b):\n    {body}")
    assert BODIES[body] in " ".join(said.split()) and fits(said)


def test_an_async_function_is_told_to_be_plain(notebook):
    said = notebook.exercise("async def blocks_up(n, b):\n    return 1")
    assert "returned a coroutine, because of `async def`" in said


@pytest.mark.parametrize("head", ["", "n", "n, b, c", "*, n, b", "self, n, b"])
def test_the_wrong_number_of_arguments_is_said_before_any_call(notebook, head):
    said = notebook.exercise(f"def blocks_up({head}):\n    return 1")
    assert said.splitlines()[0] == f"✗ blocks_up takes ({head}), but is called as blocks_up(num_tokens, block_size)."


@pytest.mark.parametrize(("empty", "next"), [
    ("if n > 99: return 1", "return a value on every way out"), ("n = n + b", "end with return"),
    ("if n < 99: return\n    return 1", None),
])
def test_what_returns_nothing_is_told_where_a_return_is_missing(notebook, empty, next):
    said = notebook.exercise(f"def blocks_up(n, b):\n    {empty}")
    assert ("is a `return` missing?" in said) == (next is not None) and "None" in said
    assert next is None or f"Next: {next}." in said


def test_a_changed_argument_is_named(notebook):
    said = notebook.exercise("""
        def halves(numbers):
            return [numbers.pop(0) / 2 for _ in range(len(numbers))]
    """)
    assert said.splitlines()[0] == "✗ halves(numbers=[1, 2, 3]) changed its argument numbers to [], " \
                                   "expected it to be left alone."


def test_an_argument_that_should_grow_and_does_not_is_named(notebook):
    said = notebook.exercise("def grow(table, extra):\n    table = table + [0] * extra\n    return len(table)")
    assert said.splitlines()[:2] == [
        "✗ grow(table=[], extra=1) left its argument table at [], expected it to become [0].",
        "  Looks like it makes a new list."]


def test_numpy_integers_are_integers_and_a_tuple_is_no_list(notebook):
    notebook.run("import numpy as np\nfrom kvlab.errors import UsageError")
    said = notebook.exercise("""
        def blocks_up(n, b):
            if n < 0:
                raise UsageError("no")
            return np.int64(-(-n // b))
    """)
    assert said.startswith("✓")
    said = notebook.exercise("def halves(numbers):\n    return tuple(n / 2 for n in numbers)")
    assert said.startswith("✗ halves(numbers=[1, 2, 3]) returned (0.5, 1.0, 1.5)")


def test_a_long_result_is_shortened_to_the_place_where_it_differs(notebook):
    said = notebook.exercise("def halves(numbers):\n    return [n / 2 if n < 150 else 0 for n in numbers]")
    assert "whose item [150] is 0, expected 75.0." in " ".join(said.split())
    assert fits(said)


def test_a_sentence_too_long_for_a_line_breaks_where_the_expectation_begins(notebook):
    said = notebook.exercise("def halves(numbers):\n    return ['something no number', 'nor this one', *numbers]")
    assert said.splitlines()[:2] == [
        "✗ halves(numbers=[1, 2, 3]) returned 5 items, ['something no number', 'nor this one', 1, 2, 3],",
        "  expected 3: [0.5, 1.0, 1.5]."]


def test_an_exception_without_end_is_cut(notebook):
    said = notebook.exercise("def blocks_up(n, b):\n    raise ValueError('x\\n' * 100_000 + chr(27) + '[31m')")
    assert fits(said) and "\x1b" not in said


HOSTILE = """
    class Odd:
        def __eq__(self, other): {body}
        def __repr__(self): {body}
        def __len__(self): {body}
        def __bool__(self): {body}
        def __getattr__(self, name): {body}
        @property
        def __class__(self): {body}
    class OddList(list):
        def __eq__(self, other): return True
        def __len__(self): {body}
        def __iter__(self): {body}
        def __repr__(self): {body}
    class OddInt(int):
        def __eq__(self, other): return True
        def __index__(self): {body}
        def __repr__(self): {body}
"""


@pytest.mark.parametrize("body", ["raise SystemExit", "raise ValueError('no')", "return True", "1 / 0",
                                  "raise KeyboardInterrupt", "return 'x' * 10**6"])
@pytest.mark.parametrize("result", ["Odd()", "OddList()", "OddInt(5)", "[Odd()] * 3", "{'a': Odd()}", "Odd"])
def test_a_hostile_result_is_wrong_and_nothing_more(notebook, body, result):
    notebook.run(HOSTILE.format(body=body))
    for said in (notebook.exercise(f"def blocks_up(n, b):\n    return {result}"),
                 notebook.exercise(f"def halves(numbers):\n    return {result}")):
        assert said.startswith("✗") and fits(said), said
