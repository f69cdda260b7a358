"""Predictions, recall questions and "say it"."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kvlab.course import questions
from kvlab.course.numbers import shown
from kvlab.course.predictions import score
from kvlab.course.questions import Point, Recall, SayIt
from kvlab.course.session import session
from kvlab.course.speak import say_it

HOLES = Recall("97-holes", "Free slots add up to 40, and 30 are refused. Why?", answer="b", why="One hole is needed.",
               choices={"a": "It keeps a reserve.", "b": "No hole has 30.", "c": "It is full."})
KIB = Recall("97-kib", "How many KiB is a token?", answer=128, unit="KiB", why="2 x 32 x 8 x 128 x 2 bytes.")
PAGES = SayIt("97", "Why do blocks waste less?", model="Only the last block of a sequence is partly empty.", seconds=30,
              rubric=(Point("names reserving", ("reserv",)), Point("says last block", ("last block", "partly"))))


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    monkeypatch.setattr(questions, "RECALL", [HOLES, KIB])
    monkeypatch.setattr(questions, "SAY_IT", [PAGES])


def test_no_prediction_yet_is_said_and_the_answer_still_shown(notebook):
    assert notebook.run("predict('97-x', ...)").startswith("○ No prediction yet")
    assert notebook.run("reveal('97-x', 40)") == "Actual: 40. There was no prediction to compare it with."


def test_a_prediction_is_scored_by_its_ratio(notebook):
    assert notebook.run("predict('97-x', 30, unit='GiB')") == "Your prediction: 30 GiB."
    assert notebook.run("reveal('97-x', 40)") == "Predicted 30 GiB, actual 40 GiB: within 1.3x, close."
    kept = session().progress.read()["predictions"]["97-x"]
    assert (kept["guess"], kept["actual"], kept["unit"]) == (30, 40, "GiB")


def test_a_share_where_percent_are_asked_for_is_written_down_with_a_word(notebook):
    said = notebook.run("predict('97-x', 0.6, unit='%')")
    assert said == "Your prediction: 0.6 %. That is less than 1 in 100; if you meant a share of 0.6, put 60."
    assert session().progress.read()["predictions"]["97-x"]["guess"] == 0.6
    for guess, unit in ((0, "%"), (1, "%"), (60, "%"), (-0.5, "%"), (0.6, "GiB")):
        assert "share" not in notebook.run(f"predict('97-x', {guess}, unit='{unit}')")


def test_a_prediction_can_change_until_the_answer_is_shown(notebook):
    notebook.run("predict('97-x', 30)\npredict('97-x', 35)\nreveal('97-x', 40)")
    said = notebook.run("predict('97-x', 40)")
    assert said == "You have seen the answer, so your first prediction stays: 35."
    assert notebook.run("predict('97-x', 35)") == "Your prediction: 35."


@pytest.mark.parametrize("guess", ["'64'", "True", "[64]", "float('nan')", "float('inf')", "object()", "predict",
                                   "1j", "b'64'",
                                   "__import__('numpy').array([1, 2])"])
def test_a_guess_that_is_no_number_is_answered_kindly(notebook, guess):
    said = notebook.run(f"predict('97-x', {guess})")
    assert said.startswith("○ A prediction is one number, such as 64 or 2.5, not ")
    assert session().progress.read()["predictions"] == {}


def test_an_actual_value_that_is_no_number_is_answered_kindly(notebook):
    assert notebook.run("reveal('97-x', 'many')") == "reveal() needs the number that came out, not 'many'."


def test_numpy_numbers_are_numbers(notebook):
    notebook.names["np"] = np
    notebook.run("predict('97-x', np.float64(2.5))")
    assert notebook.run("reveal('97-x', np.array(2.5))") == "Predicted 2.5, actual 2.5: exactly right."


@pytest.mark.parametrize("guess, actual, words", [
    (100, 105, "within 1.05x, very close"), (100, 130, "within 1.3x, close"), (130, 100, "within 1.3x, close"),
    (1, 2.5, "within 2.5x, the right size"), (2, 14, "within 7.0x, a surprise worth keeping"),
    (1, 25, "off by 25x, another order of magnitude"), (3, 12345, "off by 4,100x, another order of magnitude"),
    (0, 5, "off by 5"), (5, 0, "off by 5"), (-2, 2, "off by 4"), (0, 0, "exactly right"), (3, 2, "off by 1"),
    (9, 12, "within 1.3x, close")])
def test_scores_are_words(guess, actual, words):
    assert score(guess, actual) == words


@pytest.mark.parametrize("guess, words", [
    (10, "Predicted 10, actual 9: 1 less, the last needs none."),
    (7, "Predicted 7, actual 9: 2 more, the last needs none."),
    (9, "Predicted 9, actual 9: exactly right: the last needs none.")])
def test_a_count_whose_point_is_the_exact_number_is_compared_by_counting(notebook, guess, words):
    notebook.run(f"predict('97-x', {guess})")
    assert notebook.run("reveal('97-x', 9, exact='the last needs none')") == words
    assert ("1 of 1 predictions close" in notebook.run("print(progress())")) == (guess == 9)


@pytest.mark.parametrize("guess, actual, unit, words", [
    (50, 99, "of 100 refusals", "off by 49 points, a surprise worth keeping"), (95, 99, "%", "off by 4 points, close"),
    (30, 45, "percent", "off by 15 points"), (98, 99, "% of the memory", "off by 1 point, very close"),
    (10, 0, "%", "off by 10 points"), (99, 100, "%", "off by 1 point"),
    (3, 0.01, "%", "off by 2.99 points, 300 times too much, another order of magnitude"),
    (0.5, 4, "%", "off by 3.5 points, 8 times too little, a surprise worth keeping"),
    (0, 0.01, "%", "off by 0.01 points, very close"), (1.2, 1, "% of them", "off by 0.2 points, close"),
    (150, 190, "of 200", "off by 40 of 200"), (3, 2, "of five", "off by 1"), (64, 80, "offers", "within 1.2x, close")])
def test_parts_of_a_whole_are_scored_in_points_and_small_ones_by_their_size_too(guess, actual, unit, words):
    assert score(guess, actual, unit) == words


@pytest.mark.parametrize("number, text", [
    (131072, "131,072"), (0.384512, "0.3845"), (38.25, "38.25"), (1234567.8, "1,234,568"), (1e20, "1e+20"),
    (1e-7, "1e-07"), (5.0, "5"), (12345.6, "12,346")])
def test_numbers_are_readable(number, text):
    assert shown(number) == text


def test_a_recall_question_shows_its_choices(notebook):
    assert notebook.run("recall('97-holes', ...)").splitlines() == [
        "Free slots add up to 40, and 30 are refused. Why?", "  a) It keeps a reserve.", "  b) No hole has 30.",
        "  c) It is full.",
        '○ Not answered yet: put a letter, such as "a", in place of `...`.']


@pytest.mark.parametrize("answer, said", [
    ("b", "✓ Yes: b) No hole has 30. One hole is needed."),
    (" B) ", "✓ Yes: b) No hole has 30. One hole is needed."),
    ("a", "✗ Not quite. It is b) No hole has 30. One hole is needed."),
    ("d", "○ The answer is one of the letters a, b, c, not 'd'."),
    (2, "○ The answer is one of the letters a, b, c, not 2.")])
def test_an_answer_by_letter_is_judged_and_explained(notebook, answer, said):
    assert notebook.run(f"recall('97-holes', {answer!r})") == said


@pytest.mark.parametrize("answer, said", [
    (128, "✓ Yes: 128 KiB. 2 x 32 x 8 x 128 x 2 bytes."), (128.5, "✓ Yes: 128 KiB. 2 x 32 x 8 x 128 x 2 bytes."),
    (64, "✗ Not quite. It is 128 KiB. 2 x 32 x 8 x 128 x 2 bytes."), ("many", "○ The answer is a number, not 'many'.")])
def test_an_answer_by_number_is_judged_and_explained(notebook, answer, said):
    assert notebook.run(f"recall('97-kib', {answer!r})") == said


def test_the_first_answer_counts_and_a_later_one_is_kept_beside_it(notebook):
    notebook.run("recall('97-holes', 'a')")
    assert notebook.run("recall('97-holes', 'b')").startswith("✓ Yes")
    kept = session().progress.read()["recall"]["97-holes"]
    assert (kept["answer"], kept["right"], kept["again"]["right"]) == ("'a'", False, True)


def test_a_wrong_letter_with_a_reason_of_its_own_is_told_it(notebook, monkeypatch):
    monkeypatch.setattr(questions, "RECALL", [dataclasses.replace(HOLES, reasons={"a": "It keeps none."})])
    assert notebook.run("recall('97-holes', 'A')").splitlines()[1:] == ["  As for a): It keeps none."]
    assert len(notebook.run("recall('97-holes', 'c')").splitlines()) == 1


def test_a_misspelt_prediction_is_noticed_at_once_and_when_it_is_revealed(notebook):
    notebook.run("open_lab('00')")
    said = notebook.run("predict('00-fitt', 5)")
    assert said == "Your prediction: 5. But this lab never reveals '00-fitt'. Did you mean 00-fit?"
    assert notebook.run("reveal('00-fit', 5)") == ("Actual: 5. There was no prediction to compare it with. "
                                                   "There is one for '00-fitt'.")
    assert notebook.run("predict('00-fit', 5)") == "Your prediction: 5."


def test_answers_are_recorded_and_an_unknown_key_is_said(notebook):
    notebook.run("recall('97-holes', 'a')")
    assert session().progress.read()["recall"]["97-holes"]["right"] is False
    assert notebook.run("recall('97-hole')") == "There is no recall question '97-hole'. Did you mean 97-holes?"


def test_the_rubric_stays_hidden_until_something_was_written(notebook):
    for asked in ("...", "''", "'   '", "None"):
        said = notebook.run(f"say_it('97', {asked})")
        assert said.startswith("Say it aloud in 30 seconds: Why do blocks waste less?")
        assert "names reserving" not in said and "Only the last" not in said
    assert session().progress.read()["say_it"] == {}


def test_ticks_are_guessed_and_can_be_corrected(notebook):
    said = notebook.run("say_it('97', 'Reserving holds room for nothing.')")
    assert said.splitlines()[1:] == ["  ✓ 1. names reserving", "  ○ 2. says last block", "A model answer:",
                                     "  Only the last block of a sequence is partly empty."]
    assert said.splitlines()[0].endswith('say_it("97", my_words, ticks=[1, 3]) sets them right.')
    assert "  ○ 1." in notebook.run("say_it(97, 'Reserving', ticks=[2])")
    assert session().progress.read()["say_it"]["97"]["ticks"] == [2]
    assert notebook.run("say_it('96', 'x')") == "There is nothing to say aloud for lab 96 yet."


def test_the_box_of_a_notebook_hides_the_rubric_until_something_was_written(capsys):
    pytest.importorskip("ipywidgets")
    box = say_it("97", ...)
    assert "with a timer of 30 seconds" in box._repr_mimebundle_()["text/plain"]
    box.done.click()
    assert "first" in box.after.children[0].value and len(box.after.children) == 1
    box.text.value = "partly filled"
    box.done.click()
    assert [tick.value for tick in box.ticks] == [False, True]
    box.ticks[0].value = True
    assert session().progress.read()["say_it"]["97"]["ticks"] == [1, 2]
    assert "Only the last block" in box.after.children[-1].value
