"""`say_it`: explain it aloud within a minute, tick what you said, then read a model answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvlab.course import questions, registry, state
from kvlab.course.questions import SayIt
from kvlab.course.say import say, wrapped
from kvlab.course.session import session
from kvlab.mode import widgets


def say_it(lab: str | int, text: Any = ..., ticks: Any = None) -> Any:
    """Shows the prompt of a lab, with a timer and a box to write in where there are widgets. With the learner's own
    words as `text`: the rubric with ticks, then a model answer.

    The ticks are a guess by key words. `ticks=[1, 3]` corrects them: the numbers of the points that were made.
    """
    number = registry.lab_number(lab)
    prompt = next((one for one in questions.SAY_IT if one.lab == number), None)
    if prompt is None:
        say(f"There is nothing to say aloud for lab {number} yet.")
    elif not isinstance(text, str) or not text.strip():
        say(prompt_text(prompt))
        return _box(prompt)
    else:
        say(answered(prompt, text, ticks))
    return None


def _box(prompt: SayIt) -> Any:
    """The widget in which to answer, or None where there are none: the text is enough to go on."""
    if widgets() is None:
        return None
    from kvlab.course.speakbox import SpeakBox

    return SpeakBox(prompt)


def prompt_text(prompt: SayIt) -> str:
    """What is printed before there is an answer. The rubric stays hidden."""
    lines = wrapped(f"Say it aloud in {prompt.seconds} seconds: {prompt.prompt}", 6)
    last = "○ Then write down what you said, in place of `...`: the rubric and a model answer follow."
    return "\n".join([*lines, last])


def answered(prompt: SayIt, text: str, ticks: Any = None) -> str:
    """Records an answer; returns the rubric with ticks and the model answer, as text."""
    made = ticked(prompt, text) if ticks is None else _corrected(prompt, ticks)
    record(prompt, text, made)
    variable = prompt.lab.partition("-")[2].replace("-", "_") or "my_words"  # as the cells of the labs name them
    call = f'say_it("{prompt.lab}", {variable}, ticks=[1, 3])'
    lines = [f"Did you say this? The ticks are guessed from key words; {call} sets them right."]
    for number, point in enumerate(prompt.rubric, 1):
        lines += wrapped(f"{'✓' if number in made else '○'} {number}. {point.text}", 3, "  ", "       ")
    return "\n".join([*lines, "A model answer:", *wrapped(prompt.model, 20, "  ")])


def record(prompt: SayIt, text: str, made: Iterable[int]) -> None:
    """Keeps the learner's words and which points they made."""
    kept = {"text": text[:5000], "ticks": sorted(made), "points": len(prompt.rubric), "at": state.now()}
    session().progress.change(lambda all_: all_["say_it"].__setitem__(prompt.lab, kept))


def ticked(prompt: SayIt, text: str) -> set[int]:
    """The numbers of the points that the words suggest."""
    said = text.lower()
    points = enumerate(prompt.rubric, 1)
    return {number for number, point in points if any(word.lower() in said for word in point.words)}


def _corrected(prompt: SayIt, ticks: Any) -> set[int]:
    given = ticks if isinstance(ticks, (list, tuple, set, range)) else [ticks]
    return {number for number in range(1, len(prompt.rubric) + 1) if number in given}
