"""`take_home()`: a page about the course with the learner's own words and numbers, to show and to keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kvlab.course import overview, predictions, questions, registry, state
from kvlab.course.numbers import number, shown
from kvlab.course.session import session
from kvlab.course.shorten import clip

WRONG = (
    ("PagedAttention makes the KV cache smaller.", "A token costs the same. Paging removes the waste around tokens; "
     "fewer KV heads, latents, windows and 8 bits make them smaller."),
    ("Reserving the maximum is the safe choice.", "It is what bounds the batch, and the batch is the throughput."),
    ("Paging changes the outputs.", "Only the place of keys and values changes. Every token stays the same."),
)
"""What people get wrong, and what to answer."""


class Page:
    """A page in Markdown. A notebook shows it; `save(path)` writes it to a file."""

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, path: str | Path) -> None:
        """Write the page, in place of what is there."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/markdown": self.text}


def take_home(measured: Mapping[str, Any] | None = None) -> Page:
    """What to keep of the course: the learner's words in the interview, beside model answers; what people get wrong;
    predictions and what came out; exercises.

    measured: name -> number or text, such as what a lab has measured; it gets a table of its own.
    """
    all_ = session().progress.read()
    return Page("\n".join(["# KV memory, as I can explain it", *_interview(all_), *_wrong(), *_measured(measured or {}),
                           *_predictions(all_), *_built(all_)]) + "\n")


def _interview(all_: state.State) -> Iterator[str]:
    for prompt in questions.SAY_IT:
        if prompt.lab.split("-")[0] != "11":
            continue
        yield from ("", f"## {prompt.prompt}", "")
        said = all_["say_it"].get(prompt.lab, {})
        text = said.get("text")
        if isinstance(text, str) and text.strip():
            ticks = said["ticks"] if isinstance(said.get("ticks"), list) else []
            yield from (f"> {_line(text)}", "", f"{len(ticks)} of {len(prompt.rubric)} points. A model answer:", "")
        yield prompt.model


def _wrong() -> Iterator[str]:
    yield from ("", "## What people get wrong", "")
    for sentence, answer in WRONG:
        yield f"- *\"{sentence}\"* {answer}"


def _measured(measured: Mapping[str, Any]) -> Iterator[str]:
    if measured:
        yield from ("", "## What I measured", "", "| what | number |", "|---|---|")
    for name, value in measured.items():
        found = number(value)
        yield f"| {_cell(name)} | {_cell(value) if found is None else shown(found)} |"


def _predictions(all_: state.State) -> Iterator[str]:
    scored = {key: one for key, one in all_["predictions"].items() if "guess" in one and "actual" in one}
    if scored:
        yield from ("", "## What I predicted", "", "| lab | I said | it was | |", "|---|---|---|---|")
    for key, one in sorted(scored.items()):
        lab, _, word = key.partition("-")
        unit, guess, actual = one.get("unit", ""), one["guess"], one["actual"]
        score = predictions.score(guess, actual, unit)
        cells = (f"{lab} {word.replace('-', ' ')}", shown(guess, unit), shown(actual, unit), score)
        yield f"| {' | '.join(map(_cell, cells))} |"


def _built(all_: state.State) -> Iterator[str]:
    rows = overview.progress().rows
    yield from ("", "## What I built", "", "| lab | exercises | |", "|---|---|---|")
    for lab in dict.fromkeys(row.lab for row in rows):
        mine = [row for row in rows if row.lab == lab]
        passed = [row.name for row in mine if row.mark == "✓"]
        yield f"| {lab} {registry.TITLES.get(lab, '')} | {len(passed)} of {len(mine)} | {', '.join(passed)} |"
    right = _count(all_["recall"], lambda one: bool(one.get("right")))
    if all_["recall"]:
        yield from ("", f"{right} of {len(all_['recall'])} recall questions right at the first try.")


def _count(records: Mapping[str, Any], true: Callable[[Any], bool]) -> int:
    return sum(map(true, records.values()))


def _line(text: str) -> str:
    """A learner's words on one line, as text: what Markdown or HTML would make of them is kept away."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(text.split()))


def _cell(value: Any) -> str:
    return _line(clip(str(value), 200))
