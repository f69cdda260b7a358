"""The accounting: every slot is somewhere, exactly once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import Arena, BuddyArena, Waste, arena_waste, request_waste, waste_kinds


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ((1000, 300, 0, 8192), (1000, 300, 6892)),  # just admitted, the whole context reserved
        ((1000, 300, 100, 8192), (1100, 200, 6892)),  # a third of the way
        ((1000, 300, 300, 8192), (1300, 0, 6892)),  # its last moment: what is left was never needed
        ((1000, 300, 0, 1300), (1000, 300, 0)),  # an oracle wastes nothing but time
        ((1000, 300, 10, 1024), (1010, 14, 0)),  # less reserved than it will need: it will have to move
        ((1000, 300, 24, 1024), (1024, 0, 0)),
        ((1, 0, 0, 1), (1, 0, 0)),
    ],
)
def test_the_three_kinds_inside_an_allocation(request_: tuple[int, int, int, int], expected: tuple) -> None:
    assert waste_kinds(*request_) == expected
    assert request_waste(*request_) == Waste(*expected)


@given(st.integers(0, 5000), st.integers(0, 5000), st.data())
def test_the_three_kinds_add_up_to_the_allocation(prompt: int, answer: int, data: st.DataObject) -> None:
    generated = data.draw(st.integers(0, answer))
    allocated = data.draw(st.integers(prompt + generated, 20_000))
    held, later, internal = waste_kinds(prompt, answer, generated, allocated)
    assert held + later + internal == allocated
    assert held == prompt + generated
    assert 0 <= later <= answer - generated
    assert internal >= 0


@pytest.mark.parametrize("request_", [(10, 5, 6, 100), (10, 5, -1, 100), (-1, 5, 0, 100), (10, 5, 3, 12)])
def test_a_request_that_cannot_be_is_refused(request_: tuple[int, int, int, int]) -> None:
    with pytest.raises(UsageError):
        waste_kinds(*request_)


def test_shares_and_averages_are_scaled_pictures() -> None:
    waste = Waste(held=20, later=20, internal=40, external=10, free=10)
    assert waste.capacity == 100
    assert waste.share_held == 0.2
    assert waste.scaled(1 / 100).capacity == pytest.approx(1)
    assert (waste + waste).scaled(0.5) == waste
    assert Waste().share_held == 0.0


def test_holes_below_what_is_waited_for_are_external() -> None:
    arena = Arena(100)
    first, second, third = (arena.allocate(size) for size in (30, 40, 20))
    arena.free(first)
    tenants = {second: (10, 20, 5), third: (20, 0, 0)}
    inside = {"held": 15 + 20, "later": 15, "internal": 10}
    assert arena.waste(tenants) == Waste(**inside, free=40)
    assert arena.waste(tenants, waiting=10) == Waste(**inside, free=40)
    assert arena.waste(tenants, waiting=11) == Waste(**inside, external=10, free=30)
    assert arena.waste(tenants, waiting=31) == Waste(**inside, external=40)


def test_what_a_buddy_rounds_up_is_internal() -> None:
    arena = BuddyArena(128)
    start = arena.allocate(33)
    assert arena.waste({start: (20, 13, 1)}) == Waste(held=21, later=12, internal=31, free=64)


def test_every_chunk_needs_its_tenant() -> None:
    arena = Arena(10)
    start = arena.allocate(5)
    for tenants in ({}, {start: (1, 1, 1), 7: (1, 1, 1)}):
        with pytest.raises(UsageError, match="tenants are given for"):
            arena_waste(arena.chunks, arena.holes, tenants)
