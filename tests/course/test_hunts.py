"""A bug hunt's answer is the first event after which the books are wrong, and every other one is told how it misses."""

from __future__ import annotations

import pytest

from kvlab.course.hunts import judge_event

EVENTS, RIGHT = ["ana asks", "ben asks", "ana ends", "ben ends"], [True, False, True, False]


@pytest.mark.parametrize(("found", "said"), [
    ("ben asks", "yes: the books were right until here"),
    ("ben ends", "not the first: look at an earlier event"),
    ("ana asks", "not yet: the books are right after this event; look at a later one"),
    ("ana ends", "not the first: look at an earlier event"),  # where they look right again
    (None, "not yet: nothing returned"),
    ("carl asks", "not yet: 'carl asks' is no event"),
    (["ben asks"], "not yet: ['ben asks'] is no event"),
    (1, "not yet: 1 is no event"),
])
def test_an_answer_is_told_how_near_it_is(found: object, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    judge_event(found, EVENTS, RIGHT)
    assert capsys.readouterr().out == f"{said}\n"
