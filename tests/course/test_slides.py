"""Slides hold what a lab asks, and neither solutions nor answers."""

from __future__ import annotations

import base64
import re

import pytest

from kvlab.course import registry
from kvlab.course.classroom.asked import REVEALED, cells, predictions, printed, recalls, source
from kvlab.course.classroom.deck import CONCLUDES, Slide, slides
from kvlab.course.classroom.page import page
from kvlab.course.questions import SAY_IT
from tests.labs.notebooks import names, sources
from tests.labs.notebooks import source as solved_source

each_lab = pytest.mark.parametrize("name", names())


def said(deck: list[Slide]) -> str:
    """Everything in a deck that can be read, pictures by their text."""
    text = "\n".join("\n".join((one.title, one.text, one.code, one.alt, one.note)) for one in deck)
    return " ".join(text.split())


def flat(text: str) -> str:
    return " ".join(text.split())


@each_lab
def test_no_line_of_a_solution_stands_on_a_slide(name: str) -> None:
    text, solved = said(slides(name[:2])), solved_source(name)
    public = flat("\n".join(cell.source for cell in sources().as_lab(solved).cells))
    bodies = [body for cell in solved.cells if cell.cell_type == "code"
              for body in re.findall(rf"(?s){sources().BEGIN}\n(.*?){sources().END}", cell.source)]
    lines = [flat(line) for body in bodies for line in body.splitlines() if len(line.strip()) > 9]
    assert lines and [line for line in lines if line in text and line not in public] == []
    assert "SOLUTION" not in text


@each_lab
def test_no_answer_to_a_prediction_or_question_stands_on_a_slide(name: str) -> None:
    lab = name[:2]
    text = said(slides(lab))
    beside = said([one for one in slides(lab) if one.kind != "predict"])  # a question may name a number for itself
    known = [one for one in predictions(lab) if one.actual]
    assert [one.key for one in known if re.search(rf"(?<![\d,.]){re.escape(one.actual)}", beside)] == []
    assert [one.key for one in recalls(lab) if flat(one.why) in text] == []
    assert [one.lab for one in SAY_IT if flat(one.model) in text] == []
    assert [point.text for one in SAY_IT if one.lab == lab for point in one.rubric if flat(point.text) in text] == []


@each_lab
def test_no_figure_comes_before_the_answer_it_could_give(name: str) -> None:
    """Of the cells whose pictures are on slides, none reveals, and none stands between a prediction and its answer."""
    shown = {one.image for one in slides(name[:2]) if one.image}
    waiting: set[str] = set()
    for cell in cells("solutions", name[:2]):
        text = source(cell)
        waiting |= set(re.findall(r"^predict\([\"']([\w-]+)", text, re.MULTILINE))
        pictures = ["".join(one["data"].get("image/png", "")) for one in cell.get("outputs", []) if "data" in one]
        here = {picture.replace("\n", "") for picture in pictures} & shown
        assert not (here and waiting), cell["id"]
        waiting -= set(REVEALED.findall(text))
    assert not waiting


@each_lab
def test_every_exercise_prediction_and_question_of_the_lab_has_its_slide(name: str) -> None:
    lab = name[:2]
    deck = slides(lab)
    kinds = [one.kind for one in deck]
    stubs = "\n".join(one.code for one in deck)
    assert all(re.search(rf"(def|class) {entry.name}\b", stubs) for entry in registry.of_lab(lab))
    assert kinds.count("exercise") == len(registry.of_lab(lab)) and kinds[0] == "title"
    assert kinds.count("predict") == len({one.question for one in predictions(lab)})
    assert kinds.count("question") == len(recalls(lab))
    assert all(one.text or one.code or one.image for one in deck if one.kind != "text")
    assert all(one.note.startswith("★") for one in deck if one.kind == "exercise")


@each_lab
def test_a_prediction_has_a_question_and_the_answer_that_was_found(name: str) -> None:
    found = predictions(name[:2])
    assert found
    outputs = " ".join(flat(printed(cell)) for cell in cells("solutions", name[:2]) if cell["cell_type"] == "code")
    timed = {key for cell in cells("solutions", name[:2]) if "nbval-ignore-output" in cell["metadata"].get("tags", [])
             for key in REVEALED.findall(source(cell))}
    for one in found:
        assert "?" in one.question and (one.key in timed or f"actual {one.actual}:" in outputs), one.key


def test_a_slide_that_only_repeats_its_exercise_is_left_out() -> None:
    deck = slides("03")
    pairs = [(one, after) for one, after in zip(deck, deck[1:], strict=False) if one.kind == "text"]
    assert all(flat(one.text) not in flat(after.text) for one, after in pairs if after.title == one.title)


def test_a_heading_whose_text_weighs_a_prediction_is_shown_alone() -> None:
    headings = {one.title: one.text for name in names() for one in slides(name[:2])}
    assert CONCLUDES and all(headings[title] == "" for title in CONCLUDES)


def test_figures_come_from_the_solved_notebook_and_are_pictures() -> None:
    pictures = [base64.b64decode(one.image) for one in slides("03") if one.image]
    assert len(pictures) >= 3 and all(picture.startswith(b"\x89PNG") for picture in pictures)


def test_the_page_needs_no_network_and_shows_markup_as_text() -> None:
    text = page("A <b>deck</b>", [Slide("text", "Title", "<script>alert(1)</script> and `a < b`", code="x < y")])
    assert "http" not in text and "<b>" not in text and "alert(1)</script>" not in text and "x &lt; y" in text
    assert not re.search(r"(src|href)=[\"'](?!data:)", text) and "{{" not in text


def test_a_lab_that_does_not_exist_has_no_slides() -> None:
    with pytest.raises(FileNotFoundError, match="lab 99"):
        slides("99")
