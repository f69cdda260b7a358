"""Swapping: what moves is copied once, and shares again what it shared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import (
    BlockManager,
    Swapper,
    swap_plan,
)
from tests.memory.snapshots import refused, snapshot

B = 4


def manager_of(*lengths: int, num_blocks: int = 12) -> BlockManager:
    manager = BlockManager(num_blocks, B)
    for number, length in enumerate(lengths):
        manager.admit(number, length)
    return manager


def shared(manager: BlockManager, names) -> list[list[bool]]:
    """Which entries of the tables are equal: what a move must keep, whatever the blocks are called."""
    tables = [manager.table(name) for name in names]
    return [[a == b for a in one for b in other] for one in tables for other in tables]


def test_a_plan_moves_each_block_once_and_keeps_what_the_tables_share():
    plan = swap_plan([[5, 2, 7], [5, 2, 9], [5]], [30, 31, 32, 33])
    assert plan.copies == [(5, 30), (2, 31), (7, 32), (9, 33)]
    assert plan.tables == [[30, 31, 32], [30, 31, 33], [30]]
    assert swap_plan([], []) == ([], [])
    with pytest.raises(OutOfBlocks, match="needed 2 free blocks, there was 1"):
        swap_plan([[1, 2]], [0])


def test_a_sequence_goes_and_comes_back_with_its_tokens():
    manager = manager_of(9, 5)
    before, swapper = manager.table(0), Swapper(manager, 4)
    out = swapper.swap_out([0])
    assert [source for source, _ in out] == before and 0 not in manager and 0 in swapper and list(swapper) == [0]
    assert manager.pool.num_free == 12 - 2 and swapper.host.num_free == 1
    back = swapper.swap_in([0])
    assert [source for source, _ in back] == [target for _, target in out]
    assert manager.table(0) == [target for _, target in back] and manager.num_tokens(0) == 9
    assert swapper.host.num_free == 4 and list(swapper) == []
    manager.check()
    swapper.check()


@pytest.mark.parametrize("length", [4, 6, 8, 0])
@pytest.mark.parametrize("grown", [0, 1, 3, 6])
def test_forks_that_move_together_are_copied_once_and_share_again(length, grown):
    manager = manager_of(length)
    manager.fork(0, ["a", "b"])
    for name in [0, "a", "b"] if grown else []:
        manager.append_cow(name, grown)
    names = [0, "a", "b"]
    before, used = shared(manager, names), 12 - manager.pool.num_free
    swapper = Swapper(manager, 12)
    out = swapper.swap_out(names)
    assert len(out) == used == len({target for _, target in out}) and manager.pool.num_free == 12
    swapper.check()
    assert len(swapper.swap_in(names)) == used
    assert shared(manager, names) == before and 12 - manager.pool.num_free == used
    assert [manager.num_tokens(name) for name in names] == [length + grown] * 3
    manager.check()
    swapper.check()


def test_what_is_shared_in_the_middle_only_is_shared_there_again():
    """As it comes about when one of two beams finds its first block in the prefix cache, and the other does not yet."""
    manager = manager_of(3 * B)
    manager.fork(0, ["a"])
    (other,) = manager.pool.take(1)
    manager.remap("a", {0: other})
    manager.pool.release([other])
    before, swapper = shared(manager, [0, "a"]), Swapper(manager, 9)
    assert len(swapper.swap_out([0, "a"])) == 4
    swapper.swap_in([0, "a"])
    assert shared(manager, [0, "a"]) == before and len(manager.table("a")) == 3
    manager.check()
    swapper.check()


def test_a_sequence_can_be_put_on_blocks_that_others_hold_if_they_are_as_many_as_its_tokens_need():
    manager = manager_of(6)
    manager.adopt("a", manager.table(0), 6)
    manager.check()
    before = snapshot(manager)
    for call, says in (
        (lambda: manager.adopt("a", manager.table(0), 6), "admitted already"),
        (lambda: manager.adopt("b", manager.table(0), 9), "9 tokens lie in 3 blocks of 4, not in 2"),
        (lambda: manager.adopt("b", [11, 10], 6), "block 11 is free"),
    ):
        with pytest.raises(UsageError, match=says):
            call()
        assert snapshot(manager) == before


def test_a_move_that_is_refused_changes_nothing_on_either_side():
    manager = manager_of(9, 5, 4)
    swapper = Swapper(manager, 3)
    before = snapshot(manager)
    for ids, error in (([0, 1], OutOfBlocks), ([0, "nobody"], UsageError)):
        with pytest.raises(error):
            swapper.swap_out(ids)
        assert snapshot(manager) == before and swapper.host.num_free == 3
    swapper.swap_out([0])
    manager.admit("large", 8 * B)
    before = snapshot(manager)
    for call, error in (
        (lambda: swapper.swap_in([0]), OutOfBlocks),
        (lambda: swapper.swap_in([1]), UsageError),
        (lambda: swapper.forget([1]), UsageError),
    ):
        with pytest.raises(error):
            call()
        assert snapshot(manager) == before and 0 in swapper and swapper.host.num_free == 0
    manager.free("large")
    with pytest.raises(OutOfBlocks, match="needed 10 free blocks, there were 9"):
        swapper.swap_in([0], spare=7)
    swapper.forget([0])
    assert swapper.host.num_free == 3
    swapper.check()


def test_whoever_is_admitted_anew_while_away_cannot_be_moved_and_loses_no_block():
    manager = manager_of(9, 5)
    swapper = Swapper(manager, 8)
    swapper.swap_out([0, 1])
    manager.admit(1, 3)
    for call in (lambda: swapper.swap_in([0, 1]), lambda: swapper.swap_out([1])):
        refused(UsageError, manager, swapper, call=call, match="1 is admitted and swapped out")
    manager.free(1)
    swapper.swap_in([0, 1])
    manager.check()
    swapper.check()
    assert swapper.host.num_free == 8


def test_blocks_for_the_next_tokens_are_told_in_advance():
    manager = manager_of(B, 6)
    manager.fork(1, ["a", "b"])
    swapper = Swapper(manager, 12)
    swapper.swap_out([0, 1, "a", "b"])
    told = swapper.next_blocks([0, 1, "a", "b"])
    swapper.swap_in([0, 1, "a", "b"])
    free = manager.pool.num_free
    manager.append_each([0, 1, "a", "b"])
    assert told == free - manager.pool.num_free == 3  # one new block, and copies for all writers but the last


def test_a_host_block_counted_wrongly_is_found_by_number():
    manager = manager_of(5)
    swapper = Swapper(manager, 4)
    swapper.swap_out([0])
    swapper.host.share([0])
    with pytest.raises(InvariantBroken, match="I2: host block 0 has count 2, but 1 entries name it"):
        swapper.check()


@given(
    st.lists(st.tuples(st.sampled_from("admit fork grow out in free forget".split()), st.integers(0, 5)), max_size=40)
)
def test_in_any_order_of_moves_both_pools_hold_and_no_block_leaks(moves):
    manager = BlockManager(14, B)
    swapper = Swapper(manager, 8)
    for number, (move, name) in enumerate(moves):
        here, away = list(manager), list(swapper)
        try:
            if move == "admit":
                manager.admit(number, name * 3)
            elif move == "fork" and here:
                manager.fork(here[name % len(here)], [number])
            elif move == "grow" and here:
                manager.append_each(here[: name + 1])
            elif move == "out" and here:
                swapper.swap_out(here[: name + 1])
            elif move == "in" and away:
                swapper.swap_in(away[: name + 1])
            elif move == "free" and here:
                manager.free(here[name % len(here)])
            elif move == "forget" and away:
                swapper.forget(away[:1])
        except OutOfBlocks:
            assert (list(manager), list(swapper)) == (here, away)
        manager.check()
        swapper.check()
    for name in list(manager):
        manager.free(name)
    swapper.forget(list(swapper))
    assert manager.pool.num_free == 14 and swapper.host.num_free == 8
