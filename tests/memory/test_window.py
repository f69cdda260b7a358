"""Blocks behind a window: which are gone, what stands in for them, and what a ring does instead."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import BlockPool, gone_blocks, release_window


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 6, 9])
def test_a_block_is_gone_when_none_of_its_tokens_is_seen_by_the_next_one(size: int, window: int) -> None:
    for tokens in range(30):
        seen = {position // size for position in range(tokens + 1) if position > tokens - window}
        assert gone_blocks(tokens, window, size) == min(seen)


def test_blocks_behind_the_window_are_released_once_and_the_last_of_them_is_reused_first() -> None:
    pool = BlockPool(8, null_block=True)
    table = pool.take(5)
    for block in table:
        pool.publish(block, f"text {block}")
    assert release_window(table, 18, 6, 4, pool, 0) == 3
    assert table == [0, 0, 0, 4, 5] and pool.num_free == 5
    assert release_window(table, 18, 6, 4, pool, 0) == 0
    pool.check()
    assert pool.take(5) == [6, 7, 3, 2, 1]
    pool.release([1, 2, 3, 6, 7])
    pool.release(table)
    assert pool.num_free == 7 and pool.ref_count(0) == 1
    pool.check()


def test_a_block_that_another_table_still_names_loses_one_holder_and_is_not_free() -> None:
    pool = BlockPool(5, null_block=True)
    table = pool.take(3)
    other = list(table)
    pool.share(other)
    assert release_window(table, 12, 5, 4, pool, 0) == 2
    assert table == [0, 0, 3] and other == [1, 2, 3]
    assert [pool.ref_count(block) for block in range(5)] == [3, 1, 1, 2, 0]
    pool.check()


@pytest.mark.parametrize("tokens, window, size", [(-1, 4, 4), (5, 0, 4), (5, 4, 0), (40, 4, 4)])
def test_what_makes_no_sense_is_refused_and_changes_nothing(tokens: int, window: int, size: int) -> None:
    pool = BlockPool(6, null_block=True)
    table = pool.take(3)
    with pytest.raises(UsageError):
        release_window(table, tokens, window, size, pool, 0)
    assert table == [1, 2, 3] and pool.counts == [1, 1, 1, 1, 0, 0]
