"""Calls that stay in their thread and still end: each has a time of its own, and nothing stays behind."""

from __future__ import annotations

import threading
import time

import pytest

from kvlab.course.guard import Stop
from kvlab.course.myparts.watch import TooLong, timed


def endless() -> None:
    while True:
        pass


def stubborn() -> None:
    while True:
        try:
            sum(range(100))
        except BaseException:
            pass


@pytest.mark.parametrize("work", [endless, stubborn])
def test_what_does_not_end_is_stopped_and_nothing_is_thrown_afterwards(work) -> None:
    with pytest.raises(TooLong, match="did not finish within 0.2 s"):
        timed(work, 0.2)
    stop = time.monotonic() + 0.3
    while time.monotonic() < stop:
        sum(range(100))


def test_what_ends_in_time_gives_its_result_and_its_own_exceptions() -> None:
    assert timed(lambda: 7, 0.2) == 7
    with pytest.raises(ZeroDivisionError):
        timed(lambda: 1 // 0, 0.2)


def test_the_time_of_an_inner_call_does_not_count_for_the_outer_one() -> None:
    def outer() -> str:
        with pytest.raises(TooLong):
            timed(endless, 0.5)
        return "went on"

    assert timed(outer, 0.4) == "went on"


def test_threads_are_stopped_each_for_its_own_call() -> None:
    found: list[str] = []

    def late() -> None:
        with pytest.raises(TooLong):
            timed(endless, 0.2)
        found.append("stopped")

    thread = threading.Thread(target=late)
    thread.start()
    assert timed(lambda: sum(range(3_000_000)), 30) == 4_499_998_500_000
    thread.join(20)
    assert found == ["stopped"]


def test_a_stop_that_somebody_else_threw_passes_through() -> None:
    def throws() -> None:
        raise Stop

    with pytest.raises(Stop):
        timed(throws, 1)
