"""`hint()`, `help_me()` and `solution()`: what a learner asks for after a verdict."""

from __future__ import annotations

import difflib

from kvlab.course import registry
from kvlab.course.declare import Exercise
from kvlab.course.session import session
from kvlab.course.solved import solved_source
from kvlab.course.verdict import FAILED, wrapped


def hint(name: object = None) -> None:
    """Prints the next hint for an exercise, by default the one checked last, and records it."""
    entry = _meant(name)
    if entry is None:
        return
    seen = len(session().progress.read()["exercises"].get(entry.name, {}).get("hints", []))
    if seen < len(entry.hints):
        session().tick(entry, "hints")
        _say(f"Hint {seen + 1} of {len(entry.hints)} for {entry.name}: {entry.hints[seen]}")
        return
    for number, text in enumerate(entry.hints, 1):
        _say(f"Hint {number} of {len(entry.hints)} for {entry.name}: {text}")
    _say(f'That was the last hint. solution("{entry.name}") shows one way to write it.')


def help_me(name: object = None) -> None:
    """Prints where the learner's code failed, by its own lines, and what it printed during the check."""
    entry = _meant(name)
    if entry is None:
        return
    verdict = session().verdicts.get(entry.name)
    if verdict is None:
        print(f"{entry.name} was not checked in this session. Run its cell first.")
    elif verdict.status != FAILED:
        print(verdict.text)
    else:
        print("\n".join([*verdict.lines[:-1], verdict.details or "Nothing more to show: no exception, nothing printed."]))


def solution(name: object = None) -> None:
    """Prints one way to write an exercise and how it differs from the learner's, and records that it was shown."""
    entry = _meant(name)
    if entry is None:
        return
    session().tick(entry, "solutions")
    solved = solved_source(entry)
    print(solved)
    own = session().progress.read()["exercises"].get(entry.name, {}).get("source")
    if own:
        lines = difflib.unified_diff(own.splitlines(), solved.splitlines(), "yours", "solution", lineterm="")
        print("\n" + ("\n".join(lines) or "Yours is the same, to the letter."))


def _meant(name: object) -> Exercise | None:
    """The exercise a learner means: by its name, as text or as the object itself, or the one checked last."""
    wanted = name if isinstance(name, str) else getattr(name, "__name__", None) if name is not None else session().last
    if wanted is None:
        print('No exercise was checked yet. Name one: hint("blocks_needed").')
        return None
    entry = registry.find(str(wanted))
    if entry is None:
        near = registry.suggestion(str(wanted), (known.name for known in registry.every()))
        print(f"{wanted} is not an exercise of this course.{near}")
    return entry


def _say(text: str) -> None:
    print("\n".join(wrapped(text, 8)))
