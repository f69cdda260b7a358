"""`hint()`, `help_me()` and `solution()`: what a learner asks for after a verdict."""

from __future__ import annotations

import difflib
from typing import Any

from kvlab.course import registry
from kvlab.course.declare import Exercise
from kvlab.course.notebooks import solved_source
from kvlab.course.say import paragraph, say
from kvlab.course.session import session
from kvlab.course.verdict import FAILED


def hint(name: Any = None) -> None:
    """Prints the next hint for an exercise, by default the one checked last, and records that it was given.

    `name`: the exercise's name, or the function or class itself. After the third, all are shown again.
    """
    entry = _meant(name, "hint")
    if entry is None:
        return
    seen, all_ = len(_record(entry).get("hints", [])), len(entry.hints)
    if seen < all_:
        session().tick(entry, "hints")
        say(paragraph(f"Hint {seen + 1} of {all_} for {entry.name}: {entry.hints[seen]}"))
        return
    for number, text in enumerate(entry.hints, 1):
        say(paragraph(f"Hint {number} of {all_} for {entry.name}: {text}"))
    say(f'There are no more hints. solution("{entry.name}") shows one way to write it.')


def help_me(name: Any = None) -> None:
    """Prints all that was seen when the check failed: values, the learner's own lines, and what the code printed."""
    entry = _meant(name, "help_me")
    if entry is None:
        return
    verdict = session().verdicts.get(entry.name)
    if verdict is None:
        say(f"{entry.name} was not checked since the kernel started. Run its cell first.")
    elif verdict.status == FAILED and verdict.details:
        say(f"{verdict.details}\nUntil it passes, {entry.name} means {entry.part} in the other cells.")
        if verdict.advice:
            say(paragraph(verdict.advice))
    else:
        say(verdict.text)


def solution(name: Any = None) -> None:
    """Prints one way to write an exercise and how it differs from the learner's, and records that it was shown."""
    entry = _meant(name, "solution")
    if entry is None:
        return
    own = _record(entry).get("source")
    session().tick(entry, "solutions")
    solved = solved_source(entry)
    say(solved)
    if own:
        say("\n" + _difference(own, solved))


def _difference(own: str, solved: str) -> str:
    """A unified diff from the learner's source to the solved one, decorators left aside."""
    yours, ours = (_undecorated(text.splitlines()) for text in (own, solved))
    diff = difflib.unified_diff(yours, ours, "yours", "solution", lineterm="")
    return "\n".join(diff) or "Yours is the same, to the letter."


def _undecorated(lines: list[str]) -> list[str]:
    start = next((place for place, line in enumerate(lines) if line.lstrip().startswith(("def ", "class "))), 0)
    return lines[start:]


def _record(entry: Exercise) -> dict[str, Any]:
    return session().progress.read()["exercises"].get(entry.name, {})


def _an_exercise() -> str:
    """The first exercise of the lab that is open, or of the course."""
    lab = session().lab
    return next(iter(registry.of_lab(lab) if lab else registry.every())).name


def _meant(name: Any, asked: str) -> Exercise | None:
    """The exercise a learner means: by its name, by the object itself, or the one checked last."""
    wanted = session().last if name is None else name if isinstance(name, str) else getattr(name, "__name__", str(name))
    if wanted is None:
        say(f'No exercise was checked yet, so name one: {asked}("{_an_exercise()}").')
        return None
    entry = registry.find(wanted)
    if entry is None:
        say(registry.unknown(wanted))
    return entry
