"""A bug hunt asks for the first event after which something is broken: this says how near an answer is."""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.course.say import say
from kvlab.course.shorten import show


def judge_event(found: object, events: Sequence[str], right: Sequence[bool]) -> None:
    """Prints whether `found` is the first of `events` after which the books are wrong.

    right: for each event, whether the books are right after it; for one of them they are not. What is no event, None
    included, is "not yet".
    """
    say(_said(found, list(events), right))


def _said(found: object, events: list[str], right: Sequence[bool]) -> str:
    if found is None:
        return "not yet: nothing returned"
    if not isinstance(found, str) or found not in events:
        return f"not yet: {show(found, 60)} is no event"
    place, first = events.index(found), list(right).index(False)
    if place == first:
        return "yes: the books were right until here"
    # The books may look right again after a later event, when what was wrong has been handed out.
    return ("not yet: the books are right after this event; look at a later one" if place < first
            else "not the first: look at an earlier event")
