"""The first and the last cell of a lab, and the course at a glance."""

from __future__ import annotations

import pytest

import kvlab.course
from kvlab.course import registry
from kvlab.course.overview import progress
from kvlab.course.session import session
from tests.course import small

RIGHT = "def grow(table, extra):\n    table += [0] * extra\n    return len(table)"


def test_opening_a_lab_binds_every_finished_part(notebook):
    said = notebook.run("open_lab('97')")
    assert said.splitlines()[0] == "Lab 97: 3 exercises and 1 extra."
    assert all(notebook.names[entry.name] is registry.part_of(entry) for entry in small.EXERCISES)


def test_the_labs_without_torch_say_so_in_the_same_words_everywhere(notebook):
    assert notebook.run("open_lab('00')").splitlines() == [
        "Lab 00 · Start here: 1 exercise.", "Plain Python: it runs the same with and without a GPU."]
    assert notebook.run("open_lab(0)") == notebook.run("open_lab('00')")


@pytest.mark.parametrize("lab", ["'98'", "98", "'three'", "None"])
def test_an_unknown_lab_is_said(notebook, lab):
    for call in ("open_lab", "close_lab"):
        assert notebook.run(f"{call}({lab})").startswith("✗ There is no lab ")


def test_closing_a_lab_has_one_line_per_exercise(notebook):
    notebook.exercise(RIGHT)
    notebook.exercise("def blocks_up(n, b):\n    return 0")
    notebook.exercise("class Shelf:\n    ...")
    assert notebook.run("close_lab('97')").splitlines() == [
        "✗ blocks_up: wrong", "✓ grow: passed",
        "✗ halves: not defined: no cell has defined it under @exercise  (extra)",
        "○ Shelf: not attempted", "1 of 4 passed."]


def test_what_passed_and_was_broken_is_told_in_the_same_words_everywhere(notebook):
    notebook.exercise(RIGHT)
    notebook.exercise(RIGHT.replace("return", "return 1 +"))
    words = "passed, but changed since: what is here now is wrong"
    assert f"✗ grow: {words}" in notebook.run("close_lab('97')").splitlines()
    assert f"  ✗ grow                      ★   {words} (2 tries)" in str(progress()).splitlines()
    assert "Lab 97: 0 of 4 passed" in str(progress())


def test_running_a_passed_cell_again_is_no_new_try(notebook):
    for _ in range(3):
        notebook.exercise(RIGHT)
    assert "passed (1 try)" in str(progress())
    notebook.exercise(RIGHT + "  # and tidied")
    assert "passed (2 tries)" in str(progress())


def test_progress_shows_the_course_as_text_and_as_html(notebook):
    notebook.exercise("def grow(table, extra):\n    return 0")
    notebook.exercise(RIGHT)
    notebook.exercise("class Shelf:\n    def take(self, n):\n        return 0")
    notebook.run("hint()\nsolution()")
    shown = progress()
    lines = str(shown).splitlines()
    assert "Lab 97: 1 of 4 passed" in lines
    assert "  ✓ grow                      ★   passed (2 tries)" in lines
    assert "  ✗ Shelf                     ★   not there yet (1 try, 1 hint, solution seen)" in lines
    assert "  ○ halves                    ★★  not attempted  (extra)" in lines
    assert "<table>" in shown._repr_html_() and shown._repr_mimebundle_()["text/plain"] == str(shown) == repr(shown)


def test_progress_counts_predictions_recall_and_what_was_said(notebook):
    assert progress().notes == ""
    notebook.run("predict('a', 10)\nreveal('a', 14)\npredict('b', 10)\nreveal('b', 90)\npredict('c', 1)")
    session().progress.change(lambda all_: all_["recall"].update(x={"right": True}, y={"right": False}))
    session().progress.change(lambda all_: all_["say_it"].update({"03": {}, "01": {}}))
    assert str(progress()).splitlines()[-1] == ("1 of 2 predictions close · 1 of 2 recall questions right · "
                                                "said aloud: lab 01, 03")


def test_a_solution_that_was_filled_in_is_not_called_passed(notebook):
    def fill_in(all_):
        all_["exercises"]["grow"] = {"lab": "97", "caught_up_at": "2000", "caught_up_source": "@exercise\n" + RIGHT}

    session().progress.change(fill_in)
    assert "» grow                      ★   caught up with, not solved" in str(progress())
    notebook.exercise(RIGHT)
    assert "caught up with, not solved" in str(progress())
    notebook.exercise("def grow(table, extra):\n    return 0")
    assert "✗ grow" in str(progress())
    notebook.exercise(RIGHT.replace("table += [0]", "table += [0]  "))
    assert "passed (2 tries)" in str(progress())


def test_star_import_gives_the_thirteen_names_and_no_module():
    names = {}
    exec("from kvlab.course import *", names)
    assert set(names) - {"__builtins__"} == set(kvlab.course.__all__)
    assert len(kvlab.course.__all__) == 13 and all(callable(names[name]) for name in kvlab.course.__all__)


def test_a_lab_that_cannot_be_loaded_does_not_stop_another(monkeypatch, notebook):
    notebook.run("open_lab('00')")
    monkeypatch.setattr(registry, "_load", lambda lab: 1 / 0)
    monkeypatch.setattr(registry, "_loaded", {"00": registry.of_lab("00")})
    assert registry.find("round_up_to_block").lab == "00"
