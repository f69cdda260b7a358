"""What a lab asks before it answers: its predictions with what came out, and its recall questions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab.course.notebooks import folder
from kvlab.course.questions import RECALL, Recall

Cell = dict[str, Any]

PREDICTED = re.compile(r"^predict\([\"']([\w-]+)[\"']", re.MULTILINE)
REVEALED = re.compile(r"^[ \t]*reveal\([\"']([\w-]+)[\"']", re.MULTILINE)
_ACTUAL = re.compile(r"\bactual (.+?): (.*)", re.DOTALL)
_LABEL = re.compile(r"^\*\*Predict[^*]*\*\*\s*")


@dataclass(frozen=True)
class Prediction:
    """One `predict` of a lab: the question in Markdown, and the answer that the solved notebook printed, "9 copies";
    an empty text where each machine measures another.

    `because` is what `reveal` says of a number that has to be exact; empty for the others.
    """

    key: str
    question: str
    actual: str
    because: str


def source(cell: Cell) -> str:
    """The text of a cell, which a notebook stores as a string or as a list of lines."""
    return "".join(cell["source"])


def printed(cell: Cell) -> str:
    """What a cell wrote to its output as text."""
    return "".join("".join(one.get("text", "")) for one in cell.get("outputs", []))


def cells(name: str, lab: str) -> list[Cell]:
    """Every cell of a lab's notebook in folder `name` ("labs" or "solutions"). FileNotFoundError if there is none."""
    place = folder(name)
    found: list[Path] = sorted(place.glob(f"{lab}_*.ipynb")) if place else []
    if not found:
        raise FileNotFoundError(f"there is no notebook of lab {lab} in {name}/")
    return json.loads(found[0].read_text(encoding="utf-8"))["cells"]


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a Markdown text; a list, a table or a heading is one each."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def question_in(text: str) -> str:
    """The paragraph of a Markdown cell that asks for a prediction, without its label; else its last question."""
    parts = paragraphs(text)
    labelled = [part for part in parts if _LABEL.match(part)]
    asking = labelled or [part for part in parts if "?" in part]
    return _LABEL.sub("", asking[-1]) if asking else ""


def predictions(lab: str) -> list[Prediction]:
    """The predictions of a lab, in order, with what its solved notebook found."""
    solved = cells("solutions", lab)
    answers = {key: printed(cell) for cell in solved for key in REVEALED.findall(source(cell))}
    found, question = [], ""
    for cell in solved:
        if cell["cell_type"] == "markdown":
            question = question_in(source(cell)) or question
        for key in PREDICTED.findall(source(cell)) if cell["cell_type"] == "code" else ():
            found.append(Prediction(key, question, *_answer(answers.get(key, ""))))
    return found


def _answer(text: str) -> tuple[str, str]:
    """What `reveal` printed as the actual value, and why it is exactly that if it said so."""
    match = _ACTUAL.search(text)
    if not match:
        return "", ""
    rest = " ".join(match[2].split())
    verdict, _, because = rest.partition(": ")
    return match[1], because.rstrip(".") if verdict == "exactly right" else ""


def recalls(lab: str) -> list[Recall]:
    """The questions that a lab asks by `recall`, its bug hunt's included, in the order of the notebook."""
    text = "\n".join(source(cell) for cell in cells("solutions", lab) if cell["cell_type"] == "code")
    order = re.findall(r"^recall\([\"']([\w-]+)[\"']", text, re.MULTILINE)
    return sorted((one for one in RECALL if one.key in order), key=lambda one: order.index(one.key))
