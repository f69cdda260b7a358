"""Forks, copy-on-write and savings by hand, on the manager and as the plain functions that lab 06 asks for."""

from __future__ import annotations

import itertools
import random

import pytest

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import (
    BlockManager,
    BlockPool,
    append_with_cow,
    beam_step,
    block_counts,
    fork,
    saved_blocks,
)
from tests.memory.managers import PlainPool
from tests.memory.snapshots import refused


def parent(num_blocks: int = 8, tokens: int = 6) -> BlockManager:
    """One sequence "a"; with 6 tokens in blocks of 4 it has block 0, full, and block 1, half full."""
    manager = BlockManager(num_blocks, 4)
    manager.admit("a", tokens)
    return manager


def test_a_fork_shares_every_block_and_takes_none() -> None:
    manager = parent()
    manager.fork("a", ["b", "c"])
    assert manager.table("a") == manager.table("b") == manager.table("c") == [0, 1]
    assert (manager.num_tokens("c"), manager.pool.num_free, manager.pool.ref_count(1)) == (6, 6, 3)
    manager.fork("a", [])
    manager.check()


def test_all_but_the_last_owner_copy_the_block_that_they_write_into() -> None:
    manager = parent()
    manager.fork("a", ["b", "c"])
    assert (manager.append_cow("b").copies, manager.append_cow("a").copies) == ([(1, 2)], [(1, 3)])
    last = manager.append_cow("c")
    assert (last.copies, last.slots.tolist()) == ([], [6])
    assert [manager.table(name) for name in "abc"] == [[0, 3], [0, 2], [0, 1]]
    assert manager.append_cow("b").copies == [] and manager.append("a") == 15
    manager.check()


def test_a_full_last_block_stays_shared_for_good() -> None:
    manager = parent(tokens=8)
    manager.fork("a", ["b"])
    assert [manager.append_cow(name).copies for name in "ab"] == [[], []]
    assert [manager.table(name) for name in "ab"] == [[0, 1, 2], [0, 1, 3]]
    manager.check()


def test_several_tokens_are_written_after_one_copy() -> None:
    manager = parent()
    manager.fork("a", ["b"])
    write = manager.append_cow("b", 7)
    assert (write.copies, write.slots.tolist()) == ([(1, 2)], [10, 11, 12, 13, 14, 15, 16])
    assert manager.append_cow("b", 0).slots.tolist() == []
    manager.check()


def test_a_copy_without_a_free_block_is_refused_and_nothing_changes() -> None:
    manager = parent(2)
    manager.fork("a", ["b"])
    refused(OutOfBlocks, manager, call=lambda: manager.append_cow("b"), match="needed 1 free block, there were 0")
    refused(OutOfBlocks, manager, call=lambda: manager.append_cow("b", 3), match="needed 2 free blocks, there were 0")
    refused(UsageError, manager, call=lambda: manager.append("b"), match="block 1: it has 2 holders .I5.; append_cow")
    manager.free("a")
    assert manager.append_cow("b").copies == []  # the last owner needs none


@pytest.mark.parametrize(
    ("children", "match"),
    [
        (["b", "a"], "'a' is admitted already"),
        (["b", "c", "b"], "'b' is .* named twice"),
        ("bc", "not the one id 'bc'"),
    ],
)
def test_a_fork_is_all_or_nothing(children, match: str) -> None:
    manager = parent()
    refused(UsageError, manager, call=lambda: manager.fork("a", children), match=match)
    refused(TypeError, manager, call=lambda: manager.fork("a", ["b", []]))
    refused(UsageError, manager, call=lambda: manager.fork("z", ["b"]), match="no sequence 'z'")


def test_a_prefix_is_shared_and_what_lies_free_is_taken_back() -> None:
    manager = parent(6, tokens=9)
    pool = manager.pool
    assert isinstance(pool, BlockPool)
    for block in (0, 1):
        pool.publish(block, block)
    manager.free("a")
    assert manager.admit("b", 10, prefix=[0, 1])[:2] == [0, 1] == manager.admit("c", 8, prefix=(0, 1))
    assert (pool.ref_count(0), pool.num_free, pool.num_cached) == (2, 3, 0)
    assert manager.append_cow("c").copies == []
    manager.check()


def test_a_prefix_that_cannot_be_is_refused_and_nothing_changes() -> None:
    manager = parent(tokens=9)
    for prefix, tokens, match in (
        ([0, 1], 7, "2 full blocks of 4 are no prefix of 7 tokens"),
        ([8], 9, "there is no block 8: the pool has blocks 0 to 7"),
        ([-1], 9, "there is no block -1"),
        ([5], 9, "block 5 is free"),
    ):
        refused(UsageError, manager, call=lambda p=prefix, t=tokens: manager.admit("b", t, p), match=match)  # type: ignore[misc]
    refused(UsageError, manager, call=lambda: manager.admit("a", 4, [0]), match="admitted already")


def test_another_pool_with_the_same_names_can_be_shared_from() -> None:
    manager = BlockManager(PlainPool(4), 4)
    manager.admit("a", 6)
    manager.fork("a", ["b"])
    assert manager.append_cow("b").copies == [(2, 1)]
    assert manager.admit("c", 4, [3]) == [3]
    manager.check()


def test_the_plain_functions_do_what_the_manager_does() -> None:
    """Beside each other over random forks, appends and frees, from pools in the same order."""
    draw, manager, pool = random.Random(3), BlockManager(60, 4), BlockPool(60)
    manager.admit(0, 5)
    tables, lengths, names = {0: pool.take(2)}, {0: 5}, itertools.count(1)
    for _ in range(400):
        name = draw.choice(list(tables))
        act = draw.random()
        if act < 0.15 and len(tables) < 8:
            child = next(names)
            manager.fork(name, [child])
            tables[child], lengths[child] = fork(tables[name], pool), lengths[name]
        elif act < 0.25 and len(tables) > 1:
            manager.free(name)
            pool.release(tables.pop(name))
        elif lengths[name] < 25:
            write = manager.append_cow(name)
            slot, copy = append_with_cow(tables[name], lengths[name], pool, 4)
            lengths[name] += 1
            assert ([slot], [copy] if copy else []) == (write.slots.tolist(), write.copies)
        assert tables == {name: manager.table(name) for name in manager}
        manager.check()


def test_a_table_that_does_not_fit_its_tokens_is_refused() -> None:
    pool, table = BlockPool(4), [0]
    refused(UsageError, pool, table, call=lambda: append_with_cow(table, 5, pool, 4), match="5 tokens do not fill 1 bl")


def test_beams_with_children_share_and_beams_without_are_freed() -> None:
    pool = BlockPool(8)
    stem = pool.take(2)
    tables = beam_step([stem], [0, 0, 0], pool)
    assert tables == [[0, 1]] * 3 and pool.ref_count(1) == 3
    for table in tables:
        append_with_cow(table, 7, pool, 4)
    assert tables == [[0, 2], [0, 3], [0, 1]]
    tables = beam_step(tables, [2, 2, 0], pool)
    assert tables == [[0, 1], [0, 1], [0, 2]] and pool.ref_count(3) == 0 and pool.num_free == 5
    refused(UsageError, pool, call=lambda: beam_step(tables, [0, 3], pool), match="beams 0 to 2, and no beam 3")
    assert beam_step(tables, [], pool) == [] and pool.num_free == 8
    pool.check()


def test_savings_are_blocks_saved_over_blocks_without_sharing() -> None:
    assert saved_blocks([[0, 1], [0, 2], [0, 3]]) == 2 / 6
    assert block_counts([[0, 1], [0, 2], [0, 3]]) == (4, 6)
    assert saved_blocks([[0, 1]] * 4) == 6 / 8
    assert saved_blocks([[0], [1]]) == saved_blocks([]) == saved_blocks([[]]) == 0
