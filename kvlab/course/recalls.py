"""`recall`: a question from an earlier lab, answered before reading on."""

from __future__ import annotations

from typing import Any

from kvlab.course import questions, registry, state
from kvlab.course.numbers import number, shown
from kvlab.course.questions import Recall
from kvlab.course.say import say, wrapped
from kvlab.course.session import session
from kvlab.course.shorten import clip, show


def recall(key: str, answer: Any = ...) -> None:
    """Prints the question of that key and, given an answer, whether it is right and why.

    `answer`: the letter of a choice ("b") or a number, as the question asks; `...` means that there is none yet. The
    first answer is the one that counts in progress().
    """
    question = next((one for one in questions.RECALL if one.key == key), None)
    if question is None:
        near = registry.suggestion(str(key), (one.key for one in questions.RECALL))
        say(f"There is no recall question {clip(repr(key), 40)}.{near}")
    elif answer is ... or answer is None:
        _print_question(question)
    else:
        _print_answer(question, answer)


def _print_question(question: Recall) -> None:
    lines = wrapped(question.prompt, 6)
    for letter, text in question.choices.items():
        lines += wrapped(f"{letter}) {text}", 3, "  ", "     ")
    form = "a number"
    if question.choices:
        form = f'a letter, such as "{next(iter(question.choices))}",'
    say("\n".join([*lines, f"○ Not answered yet: put {form} in place of `...`."]))


def _print_answer(question: Recall, answer: Any) -> None:
    right = _is_right(question, answer)
    if right is None:
        form = f"one of the letters {', '.join(question.choices)}" if question.choices else "a number"
        say(f"○ The answer is {form}, not {show(answer, 40)}.")
        return
    record = {"answer": show(answer, 40), "right": right, "at": state.now()}
    session().progress.change(lambda all_: _record(all_["recall"], question.key, record))
    reason = "" if right or not question.choices else question.reasons.get(_letter(answer), "")
    lines = wrapped(f"{'✓ Yes:' if right else '✗ Not quite. It is'} {_solved(question)}. {question.why}", 6)
    say("\n".join([*lines, *(wrapped(f"As for {_letter(answer)}): {reason}", 2, "  ") if reason else [])]))


def _record(records: dict[str, Any], key: str, record: dict[str, Any]) -> None:
    """The first answer counts, as the first prediction does; a later one is kept beside it."""
    if "right" in records.get(key, {}):
        records[key]["again"] = record
    else:
        records[key] = record


def _letter(answer: Any) -> str:
    return answer.strip().strip(").").lower() if isinstance(answer, str) else ""


def _solved(question: Recall) -> str:
    if not question.choices:
        return shown(float(question.answer), question.unit)
    return f"{question.answer}) {question.choices[str(question.answer)].rstrip('.')}"


def _is_right(question: Recall, answer: Any) -> bool | None:
    """Whether `answer` is right; None if it is no answer to this kind of question."""
    if question.choices:
        letter = _letter(answer)
        return letter == question.answer if letter in question.choices else None
    given, wanted = number(answer), float(question.answer)
    return None if given is None else abs(given - wanted) <= question.tolerance * abs(wanted)
