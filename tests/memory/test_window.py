"""Blocks behind a window: which are gone, what stands in for them, and what a ring does instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import (
    BlockPool,
    WindowManager,
    WindowPrefixCache,
    gone_blocks,
    longest_window_hit,
    release_window,
)
from kvlab.memory.history import history_of


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


def manager(num_blocks: int = 12, size: int = 4, window: int = 6) -> WindowManager:
    return WindowManager(num_blocks, size, window)


def test_a_sequence_that_slides_holds_no_more_blocks_than_its_window_touches_however_long_it_gets() -> None:
    sliding, held = manager(), set()
    sliding.admit("a", 1)
    for _ in range(200):
        sliding.slide("a")
        sliding.append("a")
        sliding.check()
        held.add(11 - sliding.pool.num_free)
    assert max(held) == 3 and sliding.num_gone("a") == 48 and len(sliding.table("a")) == 51


def test_a_fork_keeps_what_its_sibling_has_let_go_of_until_both_have() -> None:
    sliding = manager()
    sliding.admit("a", 10)
    sliding.fork("a", ["b"])
    before = sliding.table("b")
    sliding.append_cow("a", 4)
    assert sliding.slide("a") == 2 and sliding.table("b") == before and sliding.pool.ref_count(before[0]) == 1
    sliding.check()
    free = sliding.pool.num_free
    sliding.append_cow("b", 4)
    assert sliding.slide("b") == 2 and sliding.pool.num_free == free - 1 + 2
    sliding.check()
    for name in "ab":
        sliding.free(name)
    assert sliding.pool.num_free == 11 and sliding.pool.ref_count(0) == 1


def test_a_prompt_that_is_not_all_written_slides_only_as_far_as_it_is() -> None:
    sliding = manager()
    sliding.admit("a", 30)
    assert sliding.slide("a", 9) == 1 and sliding.slide("a", 8) == 0 and sliding.slide("a", 30) == 5
    for wrong in (31, -1):
        with pytest.raises(UsageError, match=f"30 tokens, of which {wrong}"):
            sliding.slide("a", wrong)
    sliding.check()


def test_slots_behind_the_window_are_refused_and_those_within_are_as_ever() -> None:
    sliding = manager()
    sliding.admit("a", 14)
    expected = sliding.slots("a", 8).tolist()
    sliding.slide("a")
    assert sliding.slots("a", 8).tolist() == expected
    with pytest.raises(UsageError, match="token 7 of sequence 'a' is behind the window of 6"):
        sliding.slots("a", 7)


def test_a_window_needs_a_null_block_and_a_token() -> None:
    with pytest.raises(UsageError, match="null_block=True"):
        WindowManager(BlockPool(4), 4, 6)
    with pytest.raises(UsageError, match="at least 1 token"):
        manager(window=0)


def test_check_finds_a_block_that_is_gone_too_early_or_in_the_middle() -> None:
    for place in (1, 2):
        sliding = manager()
        sliding.admit("a", 12)
        held = sliding.sequences["a"]
        sliding.pool.release([held.table[place]])
        sliding.pool.share([0])
        held.table[place] = 0
        with pytest.raises(InvariantBroken, match=f"I3: 'a' has lost the blocks at .{place}., but only the first 1"):
            sliding.check()


@given(st.lists(st.sampled_from([None, 3, 5]), max_size=12), st.integers(1, 9), st.integers(1, 4))
def test_the_longest_hit_is_the_one_that_trying_every_length_finds(found: list, window: int, size: int) -> None:
    def enough(length: int) -> bool:
        """Whether the token after so many blocks sees only what is there."""
        seen = {place // size for place in range(length * size) if place > length * size - window}
        return all(found[place] is not None for place in seen)

    longest = max(length for length in range(len(found) + 1) if enough(length))
    hit = longest_window_hit(found, window, size, 0)
    assert len(hit) == longest
    assert all(block in (0, there) for block, there in zip(hit, found, strict=False))
    assert all(hit[place // size] != 0 for place in range(longest * size) if place > longest * size - window)


def test_a_hit_needs_the_window_and_not_what_lies_before_it() -> None:
    pool = BlockPool(8, null_block=True)
    sliding, index = WindowManager(pool, 4, 6), WindowPrefixCache(pool, 4, 6)
    text = list(range(100, 121))
    sliding.admit("a", 20)
    index.publish(text[:12], sliding.table("a"))
    sliding.slide("a", 12)
    assert index.publish(text[:20], sliding.table("a")) == {}
    sliding.slide("a", 20)
    assert sliding.table("a")[:3] == [0, 0, 0]
    sliding.free("a")
    pool.evict(2)  # the blocks that went first are forgotten first
    assert pool.lookup_run(index._keys(history_of(text))[1:]) == []
    found = index.match(text)
    assert found.num_tokens == 20 and found.blocks[:3] == [0, 0, 0] and 0 not in found.blocks[3:]
    sliding.admit("b", 21, found.blocks)
    sliding.check()
    index.check()
    assert index.match([*text[:11], 7, *text[12:]]) == ([], 0)  # equal in the window is not equal from the start


def test_a_window_index_asks_for_a_null_block() -> None:
    with pytest.raises(UsageError, match="null_block=True"):
        WindowPrefixCache(BlockPool(4), 4, 6)
