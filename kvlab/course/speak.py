"""`say_it`: explain it aloud in a minute, then tick what you said, then read a model answer."""

from __future__ import annotations

from typing import Any

from kvlab.course import questions, registry, state
from kvlab.course.questions import SayIt
from kvlab.course.session import session
from kvlab.course.verdict import wrapped


def say_it(lab: str | int, text: Any = ..., ticks: Any = None) -> None:
    """Prints the prompt of a lab; with the learner's own words, the rubric with ticks, then a model answer.

    The ticks are a guess by key words. `ticks=[1, 3]` corrects them: the numbers of the points that were made.
    """
    number = registry.lab_number(lab)
    prompt = next((one for one in questions.SAY_IT if one.lab == number), None)
    if prompt is None:
        print(f"There is nothing to say for lab {lab} yet.")
    elif not isinstance(text, str) or not text.strip():
        _print_prompt(prompt)
    else:
        _print_rubric(prompt, text, ticks)


def _print_prompt(prompt: SayIt) -> None:
    print("\n".join(wrapped(f"Say it aloud in {prompt.seconds} seconds: {prompt.prompt}", 5)))
    print(f'○ Then write it down, as you said it: say_it("{prompt.lab}", "..."). The rubric and a model answer follow.')


def _print_rubric(prompt: SayIt, text: str, ticks: Any) -> None:
    made = _made(prompt, text, ticks)
    print("Did you say that? These ticks are a guess by key words; ticks=[1, 3] corrects them.")
    for number, point in enumerate(prompt.rubric, 1):
        print("\n".join(wrapped(f"{'✓' if number in made else '○'} {number}. {point.text}", 3, "  ", "       ")))
    print("A model answer:")
    print("\n".join(wrapped(prompt.model, 12, "  ")))
    record = {"text": text[:5000], "ticks": sorted(made), "points": len(prompt.rubric), "at": state.now()}
    session().progress.change(lambda all_: all_["say_it"].__setitem__(prompt.lab, record))


def _made(prompt: SayIt, text: str, ticks: Any) -> set[int]:
    """The numbers of the points that were made: as the learner says, else as the words suggest."""
    numbers = range(1, len(prompt.rubric) + 1)
    if isinstance(ticks, (list, tuple, set)):
        return {number for number in ticks if number in numbers}
    said = text.lower()
    return {number for number, point in zip(numbers, prompt.rubric, strict=True)
            if any(word.lower() in said for word in point.words)}
