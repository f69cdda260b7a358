"""The answers to a lab, and the wrong answers to expect, as Markdown for an instructor."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvlab.course import registry
from kvlab.course.classroom.asked import Prediction, predictions, recalls
from kvlab.course.declare import Exercise
from kvlab.course.questions import SAY_IT, Recall, SayIt

WRONG = """# Likely wrong answers

For instructors. Each exercise declares the mistakes that people make in it, as code that its check recognizes. What
follows is what the check says to the person. Made by `kvlab guide --write`; add a mistake where the exercise is
declared, as [CONTRIBUTING](../CONTRIBUTING.md) tells.
"""
ANSWERS = """# Answers

For instructors: the answers to predictions and questions, and what a good explanation covers. The numbers are those of
the solved notebooks. Made by `kvlab guide --write`. [The guide](GUIDE.md) tells how to run a class with them.
"""


def wrong_answers(lab: str) -> str:
    """The section of one lab: each exercise, and what is said of each mistake that it knows."""
    return "\n".join([f"## {registry.titled(lab)}", "", *(_exercise(entry) for entry in registry.of_lab(lab))])


def _exercise(entry: Exercise) -> str:
    kind = "core" if entry.core else "extra"
    stars = "★" * entry.stars + "☆" * (3 - entry.stars)
    lines = [f"### `{entry.name}`", "", f"{stars} · {kind} · {entry.minutes} min", ""]
    for mistake in entry.mistakes:
        after = f" ({mistake.invariant})" if mistake.invariant else ""
        advice = f" Next: {mistake.next.rstrip('.')}." if mistake.next else ""
        lines.append(_plain(f"- {' '.join(mistake.says.split())}{after}{advice}"))
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Text for a terminal as Markdown: a product or `__init__` in it must not become italics."""
    return re.sub(r"([*<]|__)", lambda sign: "".join(f"\\{one}" for one in sign[1]), text)


def answers(lab: str) -> str:
    """The section of one lab: predictions, questions, and what to say aloud."""
    spoken = [one for one in SAY_IT if one.lab == lab]
    parts = [f"## {registry.titled(lab)}", ""]
    parts += _section("Predictions", map(_prediction, predictions(lab)))
    parts += _section("Questions", map(_recall, recalls(lab)))
    parts += _section("Say it out loud", map(_say_it, spoken))
    return "\n".join(parts)


def _section(title: str, items: Iterator[str]) -> list[str]:
    found = list(items)
    return [f"### {title}", "", *found, ""] if found else []


def _prediction(one: Prediction) -> str:
    because = f" ({one.because})" if one.because else ""
    answer = f"**{one.actual}**" if one.actual else f"Each machine measures its own (`{one.key}`)."
    return f"- {' '.join(one.question.split())}\n  {answer}{because}"


def _recall(question: Recall) -> str:
    answer = f"{question.answer} {question.unit}".strip()
    if question.choices:
        answer = f"{question.answer}) {question.choices[str(question.answer)].rstrip('.')}."
    return f"- {' '.join(question.prompt.split())}\n  **{answer}** {question.why}"


def _say_it(one: SayIt) -> str:
    points = [f"- {point.text}" for point in one.rubric]
    return "\n".join([f"{one.prompt} ({one.seconds} seconds)", "", *points, "", f"*For example:* {one.model}"])


def documents() -> dict[str, str]:
    """File name -> text of the two documents that are made from the declarations."""
    labs = registry.labs()
    return {
        "WRONG-ANSWERS.md": "\n".join([WRONG, *map(wrong_answers, labs)]).rstrip() + "\n",
        "ANSWERS.md": "\n".join([ANSWERS, *map(answers, labs)]).rstrip() + "\n",
    }
