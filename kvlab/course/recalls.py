"""`recall`: a question from an earlier lab, answered before reading on."""

from __future__ import annotations

from typing import Any

from kvlab.course import questions, registry, state
from kvlab.course.predictions import _number, shown
from kvlab.course.questions import Recall
from kvlab.course.session import session
from kvlab.course.shorten import show
from kvlab.course.verdict import wrapped


def recall(key: str, answer: Any = ...) -> None:
    """Prints the question of that key; with an answer, says whether it is right and why."""
    question = next((one for one in questions.RECALL if one.key == key), None)
    if question is None:
        print(f"There is no recall question {key!r}.{registry.suggestion(str(key), (q.key for q in questions.RECALL))}")
    elif answer is ... or answer is None:
        _print_question(question)
    else:
        _print_answer(question, answer)


def _print_question(question: Recall) -> None:
    print("\n".join(wrapped(question.prompt, 4)))
    for letter, text in question.choices.items():
        print("\n".join(wrapped(f"{letter}) {text}", 3, "  ", "     ")))
    form = f'a letter: recall("{question.key}", "{next(iter(question.choices))}")' if question.choices else "a number"
    print(f"○ Not answered yet: put {form} in place of `...`.")


def _print_answer(question: Recall, answer: Any) -> None:
    right = _is_right(question, answer)
    if right is None:
        wanted = f"one of the letters {', '.join(question.choices)}" if question.choices else "a number"
        print(f"The answer is {wanted}, not {show(answer, 40)}.")
        return
    given = str(answer).strip().lower()
    record = {"answer": given, "right": right, "at": state.now()}
    session().progress.change(lambda all_: all_["recall"].__setitem__(question.key, record))
    shown_right = f"{question.answer}) {question.choices[str(question.answer)]}" if question.choices else \
        shown(float(question.answer), question.unit)
    first = "✓ Yes" if right else "✗ Not quite. It is"
    print("\n".join(wrapped(f"{first}{':' if right else ''} {shown_right.rstrip('.')}. {question.why}", 6)))


def _is_right(question: Recall, answer: Any) -> bool | None:
    """Whether `answer` is right; None if it is no answer to this kind of question."""
    if question.choices:
        letter = answer.strip().lower() if isinstance(answer, str) else ""
        return letter == question.answer if letter in question.choices else None
    number, wanted = _number(answer), float(question.answer)
    return None if number is None else abs(number - wanted) <= question.tolerance * abs(wanted)
