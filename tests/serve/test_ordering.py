"""Who goes next: longest prefix first, and yet nobody is overtaken more often than the patience allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.serve.ordering import FirstCome, LongestPrefixFirst, pick_next


def serve(order, waiting: list[str], found: dict[str, int]) -> str:
    place = order.pick(waiting, found.__getitem__)
    order.admitted(waiting, place)
    return waiting.pop(place)


def test_the_longest_prefix_goes_first_and_the_oldest_of_equals() -> None:
    order, found = LongestPrefixFirst(), {"a": 0, "b": 32, "c": 64, "d": 64}
    waiting = list(found)
    assert [serve(order, waiting, found) for _ in found] == ["c", "d", "b", "a"]


def test_first_come_is_first_served_whatever_is_found() -> None:
    order, found = FirstCome(), {"a": 0, "b": 32}
    waiting = list(found)
    assert [serve(order, waiting, found) for _ in found] == ["a", "b"]


def test_asking_again_without_admitting_costs_nobodys_patience() -> None:
    order = LongestPrefixFirst(patience=1)
    assert [order.pick(["a", "b"], {"a": 0, "b": 9}.__getitem__) for _ in range(5)] == [1] * 5


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 4), st.integers(1, 8))
def test_nobody_is_overtaken_more_often_than_the_patience_allows(lengths: list[int], patience: int, most: int) -> None:
    """Requests come for ever, some with a long prefix; each arrival is followed by one admission."""
    order = LongestPrefixFirst(patience)
    waiting, overtaken = [], dict[int, int]()
    found = dict(enumerate(lengths))
    for number in found:
        waiting.append(number)
        while len(waiting) > most or number == len(lengths) - 1 and waiting:
            place = order.pick(waiting, found.__getitem__)
            for other in waiting[:place]:
                overtaken[other] = overtaken.get(other, 0) + 1
            order.admitted(waiting, place)
            waiting.pop(place)
    assert all(times <= patience for times in overtaken.values())


def test_only_the_oldest_are_compared() -> None:
    asked = []
    order = LongestPrefixFirst(window=3)
    assert order.pick(list(range(10)), lambda request: asked.append(request) or request) == 2
    assert asked == [0, 1, 2]


def test_an_order_without_patience_or_window_is_refused_below_its_least() -> None:
    for wrong in ({"patience": -1}, {"window": 0}):
        with pytest.raises(UsageError, match="patience is at least 0 and the window at least 1"):
            LongestPrefixFirst(**wrong)


def test_a_plain_pick_stops_at_the_first_whose_patience_is_over() -> None:
    assert pick_next([0, 64, 64], [0, 0, 0], 4) == 1
    assert pick_next([0, 16, 64], [1, 4, 0], 4) == 1
    assert pick_next([32, 0, 64], [0, 4, 0], 4) == 0
    with pytest.raises(UsageError, match="0 requests"):
        pick_next([], [], 4)
