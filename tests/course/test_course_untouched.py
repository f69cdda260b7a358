"""What counts as "not attempted", wherever the definition stands."""

from __future__ import annotations

import importlib.util
import json

import pytest

from kvlab.course import notebooks, registry
from tests.course import small
from tests.course.cells import fits

UNTOUCHED = ["...", "pass", "raise NotImplementedError", "raise NotImplementedError('write me')", '"""Only this."""',
             '"""This."""\n    ...', "'''This.'''\n    # a comment\n    pass"]


@pytest.mark.parametrize("body", UNTOUCHED)
def test_an_empty_function_is_not_attempted(notebook, body):
    said = notebook.exercise(f"def blocks_up(n, b):\n    {body}")
    assert said.startswith("○ blocks_up: not attempted.")
    assert notebook.names["blocks_up"] is small.blocks_up


@pytest.mark.parametrize("body", ["return None", "return ...", "n = 3", "print(n)", "raise ValueError",
                                  "return 0\n    ..."])
def test_anything_written_is_an_attempt(notebook, body):
    assert notebook.exercise(f"def blocks_up(n, b):\n    {body}").startswith("✗ blocks_up")


@pytest.mark.parametrize("body", UNTOUCHED)
def test_a_class_with_nothing_but_empty_methods_is_not_attempted(notebook, body):
    inner = body.replace("\n", "\n    ")
    said = notebook.exercise(
        f"class Shelf:\n    '''A shelf.'''\n    size = 3\n    def __init__(self, books):\n        {inner}\n"
        f"    @property\n    def num_free(self):\n        {inner}\n    def take(self, n):\n        {inner}")
    assert said.startswith("○ Shelf: not attempted.")


@pytest.mark.parametrize("body", ["...", "pass", '"""Only this."""'])
def test_a_class_without_methods_is_not_attempted(notebook, body):
    assert notebook.exercise(f"class Shelf:\n    {body}").startswith("○ Shelf: not attempted.")


def test_a_class_with_some_methods_names_the_first_that_a_check_needs(notebook):
    said = notebook.exercise("""
        class Shelf:
            def __init__(self, books):
                self.num_free = books
            def release(self, books):
                ...
            def take(self, count):
                ...
    """)
    assert said.splitlines() == [
        "✗ Shelf: take() is not written yet.",
        "  Until it passes, Shelf means tests.course.small.Shelf in the other cells.",
        "  Next: write take().   hint() · help_me()"]


TAKES = """
    class Shelf:
        def __init__(self, books):
            self.num_free = books
        def take(self, count):
            if count > self.num_free:
                raise OutOfBlocks(count, self.num_free)
            self.num_free -= {less}
            return list(range(count))
        def release(self, books):
            ...
"""


def test_a_half_finished_class_is_told_what_holds_already(notebook):
    notebook.run("from kvlab.errors import OutOfBlocks")
    said = notebook.exercise(TAKES.format(less="count"))
    assert said.splitlines()[0] == "✗ Shelf: release() is not written yet. Right so far: refusal."
    assert notebook.names["Shelf"].__name__ == "Shelf"


def test_what_is_wrong_in_a_half_finished_class_is_said_before_what_is_missing(notebook):
    notebook.run("from kvlab.errors import OutOfBlocks")
    said = notebook.exercise(TAKES.replace("count > self.num_free", "count > 9").format(less="count"))
    assert said.splitlines()[0] == "✗ Shelf: take(3) with 2 free gave [0, 1, 2], expected OutOfBlocks.  (I13)"


def test_the_empty_methods_are_the_learners_own_again_after_the_check(notebook):
    notebook.run("class Shelf:\n    def take(self, n):\n        ...\n    def release(self, n):\n        return 0")
    notebook.run("from kvlab.course.stubs import stubbed\nwith stubbed(Shelf, ['take', 'nothing']):\n"
                 "    during = Shelf.take\nafter = Shelf.take")
    assert notebook.names["during"] is not notebook.names["after"] and notebook.names["after"](None, 1) is None


def test_a_method_that_is_not_there_at_all_is_named_when_it_is_needed(notebook):
    said = notebook.exercise("""
        class Shelf:
            def __init__(self, books):
                self.num_free = books
    """)
    assert said.splitlines()[0] == "✗ Shelf: take() is not written yet."


def test_a_class_with_all_it_needs_passes_beside_an_empty_method_of_its_own(notebook):
    notebook.run("from kvlab.errors import OutOfBlocks")
    said = notebook.exercise("""
        class Shelf:
            def __init__(self, books):
                self.num_free = books
            def take(self, count):
                if count > self.num_free:
                    raise OutOfBlocks(count, self.num_free)
                self.num_free -= count
                return [0] * count
            def release(self, books):
                self.num_free += len(books)
            def note(self):
                pass
    """)
    assert said.startswith("✓")


def test_a_definition_that_is_handed_out_half_written_is_not_attempted(notebook, monkeypatch, tmp_path):
    handed_out = ("@exercise\ndef blocks_up(n, b):\n    '''Blocks.'''\n"
                  "    if n < 0:\n        raise ValueError(n)\n    ...\n")
    (tmp_path / "97_small.ipynb").write_text(json.dumps({"cells": [
        {"cell_type": "markdown", "source": ["# Small"]}, {"cell_type": "code", "source": handed_out}]}))
    monkeypatch.setattr(notebooks, "folder", lambda name: tmp_path)
    assert notebook.run(handed_out.replace("...", "...  # here").replace("Blocks.", "B")).startswith("○ blocks_up")
    assert notebook.run(handed_out.replace("...", "return n")).startswith("✗ blocks_up")


def test_exercises_work_in_a_plain_python_file(tmp_path, capsys, notebook):
    file = tmp_path / "mine.py"
    file.write_text("from kvlab.course import exercise\n\n@exercise\ndef blocks_up(n, b):\n    pass\n\n"
                    "@exercise\nclass Shelf:\n    ...\n\n@exercise\ndef grow(table, extra):\n    return 1\n")
    spec = importlib.util.spec_from_file_location("mine", file)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("○ blocks_up") and said[1].startswith("○ Shelf") and said[2].startswith("✗ grow")


def test_without_a_source_the_code_is_checked_as_it_is(notebook):
    exec("@exercise\ndef blocks_up(n, b):\n    ...", notebook.names)
    assert notebook.names["blocks_up"] is small.blocks_up


def test_decorators_in_between_do_not_hide_the_source(notebook):
    notebook.run("import functools")
    said = notebook.run("@exercise\n@functools.lru_cache\ndef blocks_up(n, b):\n    ...")
    assert said.startswith("○ blocks_up")
    said = notebook.run("@exercise\n@functools.cache\ndef blocks_up(n, b):\n    return -(-n // b)")
    assert "expected it to raise UsageError" in said and fits(said)


def test_a_kernel_object_that_holds_a_function_is_found_by_it(notebook):
    notebook.run("class Jit:\n    def __init__(self, fn):\n        self.fn = fn\n        self.__name__ = fn.__name__\n"
                 "    def __getitem__(self, grid):\n        return self.fn")
    assert notebook.run("@exercise\n@Jit\ndef blocks_up(n, b):\n    ...").startswith("○ blocks_up")
    assert registry.find("blocks_up") is small.BLOCKS_UP
