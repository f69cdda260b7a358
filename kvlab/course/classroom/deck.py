"""A lab as slides: headings, figures, predictions, exercises and questions, and no answer to any of them.

Text comes from the student notebook, which holds no solution; figures from the solved one, which was executed. What
could give an answer away is left out by rule:
- text in front of a cell's first heading comments on what was just computed, so it is not shown;
- a paragraph or figure that names the answer of one of the lab's predictions is not shown;
- nor is a figure that stands between a prediction and what reveals it, or in the cell that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvlab.course.classroom.asked import (
    PREDICTED,
    REVEALED,
    Cell,
    Prediction,
    cells,
    paragraphs,
    predictions,
    question_in,
    recalls,
    source,
)
from kvlab.course.questions import Recall

STARS = re.compile(r"^★{1,3}☆{0,2} · (?:core|extra) · \d+ min$")
_HEADING = re.compile(r"^(#{1,3}) (.+)$")
CONCLUDES = ("Where are the 2-4 times?",)  # headings whose text weighs what was predicted: shown alone
_SKIPPED = ("Recall", "Read on", "Where you stand")  # headings with nothing to show: their content has its own slides
_WORDS = 60  # of running text on a slide; the rest is left to the speaker and the notebook
_TASK_WORDS = 80  # of what stands above an exercise; half as many over a stub of _LONG_STUB lines
_LONG_STUB = 15


@dataclass(frozen=True)
class Slide:
    """One slide. `kind`: "title", "text", "predict", "exercise", "question" or "figure". `text` is Markdown; `code` a
    stub to fill in; `image` a PNG in base64, `alt` what it shows in words; `note` a line at the foot."""

    kind: str
    title: str
    text: str = ""
    code: str = ""
    image: str = ""
    alt: str = ""
    note: str = ""


def slides(lab: str) -> list[Slide]:
    """The slides of a lab, in the order of its notebook. FileNotFoundError if the course has no such lab."""
    asked, figures = predictions(lab), _figures(lab)
    deck: list[Slide] = []
    title, last = "", ""
    for cell in cells("labs", lab):
        text = source(cell)
        if cell["cell_type"] == "markdown":
            deck += _of_text("\n\n".join(part for part in paragraphs(text) if not _gives_away(part, asked)))
            title, last = _title(text) or title, text
        for one in _of_code(cell, title, last, lab) if cell["cell_type"] == "code" else ():
            _add(deck, one)
        if cell.get("id") in figures:
            _add(deck, replace(figures[cell["id"]], title=title))
    return deck


def _add(deck: list[Slide], slide: Slide) -> None:
    """Append a slide. What it shows is taken off the text slide of the same heading before it, and with nothing left
    that goes."""
    if deck and deck[-1].kind == "text" and deck[-1].title == slide.title:
        before = deck.pop()
        again = " ".join(slide.text.split())
        left = [part for part in paragraphs(before.text) if " ".join(part.split()) not in again]
        deck += [replace(before, text="\n\n".join(left))] if left else []
    deck.append(slide)


def _title(text: str) -> str:
    """The last heading of a Markdown cell, or an empty string."""
    found = [match[2] for line in text.splitlines() if (match := _HEADING.match(line))]
    return found[-1] if found else ""


def _of_text(text: str) -> Iterator[Slide]:
    """A slide for each heading of a Markdown cell, with its lists, its tables and its first paragraph."""
    kind, title, seen = "", "", False
    body: list[str] = []
    for part in [*paragraphs(text), "# "]:
        heading = _HEADING.match(part)
        if heading or part == "# ":
            if seen and title not in _SKIPPED:
                yield Slide(kind, title, "\n\n".join(body))
            if heading:
                kind, title, body, seen = "title" if heading[1] == "#" else "text", heading[2], [], True
        elif part.startswith(("- ", "|", "1. ")):
            body.append(part)
        elif seen and not body and title not in CONCLUDES and not STARS.match(part) and "**Predict" not in part:
            body += _opening(part)


def _opening(part: str) -> list[str]:
    """The paragraph, or as many of its first sentences as are short enough for a slide; none if not even one is."""
    kept: list[str] = []
    for sentence in re.split(r"(?<=[.?])\s+(?=[A-Z`\"])", part):
        if sum(len(one.split()) for one in [*kept, sentence]) > _WORDS:
            break
        kept.append(sentence)
    return [" ".join(kept)] if kept else []


def _of_code(cell: Cell, title: str, above: str, lab: str) -> Iterator[Slide]:
    """What a code cell asks: an exercise, a prediction, a question. `above` is the Markdown cell before it."""
    text = source(cell)
    if text.startswith("@exercise"):
        parts = paragraphs(above)
        stars = next((part for part in parts if STARS.match(part)), "")
        task = [part for part in parts[: parts.index(stars)] if not _HEADING.match(part)] if stars else []
        code = re.sub(r"\n\s*\n", "\n", text)
        most = _TASK_WORDS if code.count("\n") < _LONG_STUB else _TASK_WORDS // 2
        yield Slide("exercise", title, _task(task, most), code=code, note=stars)
    if PREDICTED.search(text):  # one question may ask for two numbers
        yield Slide("predict", "Predict", question_in(above))
    for question in recalls(lab):
        if re.search(rf"^recall\([\"']{question.key}[\"']", text, re.MULTILINE):
            yield Slide("question", "Question", _asked(question))


def _task(parts: list[str], most: int) -> str:
    """The end of the text above an exercise, which says what to write: as many paragraphs as have `most` words."""
    kept: list[str] = []
    for part in reversed(parts):
        if kept and sum(len(one.split()) for one in [*kept, part]) > most:
            break
        kept.insert(0, part)
    return "\n\n".join(kept)


def _asked(question: Recall) -> str:
    """A question with its choices and without its answer."""
    return "\n".join([question.prompt, "", *(f"- {letter}) {text}" for letter, text in question.choices.items())])


def _figures(lab: str) -> dict[str, Slide]:
    """Cell id -> its picture, of the cells whose pictures answer no prediction."""
    asked = predictions(lab)
    found: dict[str, Slide] = {}
    open_: set[str] = set()
    for cell in cells("solutions", lab):
        text = source(cell)
        revealed = set(REVEALED.findall(text))
        open_ |= set(PREDICTED.findall(text))
        for image, alt in _pictures(cell):
            if not (open_ or revealed or _gives_away(alt, asked)):
                found[cell["id"]] = Slide("figure", "", image=image, alt=alt)
        open_ -= revealed
    return found


def _pictures(cell: Cell) -> Iterator[tuple[str, str]]:
    """The PNG pictures that a cell showed, each with all that the cell says of it in words."""
    shown = [one["data"] for one in cell.get("outputs", []) if "data" in one]
    words = "\n".join("".join(data.get("text/plain", "")) for data in shown)
    for data in shown:
        if "image/png" in data:
            yield "".join(data["image/png"]).replace("\n", ""), words


def _gives_away(text: str, asked: list[Prediction]) -> bool:
    """Whether `text` names the answer of a prediction: a small whole number counts only with its unit behind it."""
    return any(re.search(_answer_pattern(one.actual), text) for one in asked if one.actual)


def _answer_pattern(actual: str) -> str:
    number, _, unit = actual.partition(" ")
    telling = len(number) > 2  # "64" stands in many places, "4,796" in one
    return rf"(?<![\d.,]){re.escape(number)}(?![\d.,]*\d)" + ("" if telling else rf"\s*{re.escape(unit)}")
