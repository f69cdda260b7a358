"""Both prefix indexes on small cases, by one set of tests, and what the manager does with what they find."""

from __future__ import annotations

import pytest

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import (
    INDEXES,
    BlockManager,
    BlockPool,
    PrefixCache,
    PrefixIndex,
    RadixCache,
    block_hashes,
    make_index,
)
from tests.memory.snapshots import refused
from tests.memory.texts import B, text


class Small:
    """A manager of 12 blocks of 4 and one index: requests are computed and published in one call."""

    def __init__(self, kind: str, num_blocks: int = 12) -> None:
        self.manager = BlockManager(num_blocks, B)
        self.pool = self.manager.pool
        self.index = make_index(kind, self.pool, B)

    def serve(self, name: str, tokens: list[int], tag: tuple = ()) -> int:
        """Admit, compute and publish; returns the tokens found."""
        match = self.index.match(tokens, tag)
        self.manager.admit(name, len(tokens), match.blocks)
        self.publish(name, tokens, tag)
        return match.num_tokens

    def publish(self, name: str, tokens: list[int], tag: tuple = ()) -> dict[int, int]:
        others = self.index.publish(tokens, self.manager.table(name), tag)
        self.manager.remap(name, others)
        self.index.check()
        self.manager.check()
        return others


@pytest.fixture(params=INDEXES)
def small(request) -> Small:
    return Small(request.param)


def test_both_have_the_names_that_an_index_needs(small: Small) -> None:
    assert isinstance(small.index, PrefixIndex)


def test_the_longest_common_beginning_of_whole_blocks_is_found(small: Small) -> None:
    first = text(3 * B + 2)
    small.serve("a", first)
    for common, expected in ((0, 0), (B - 1, 0), (B, B), (2 * B + 1, 2 * B), (3 * B + 2, 3 * B)):
        match = small.index.match(first[:common] + text(5, seed=1))
        assert match.num_tokens == expected
        assert match.blocks == small.manager.table("a")[: expected // B]


@pytest.mark.parametrize("length, found", [(1, 0), (B, 0), (B + 1, B), (2 * B, B), (2 * B + 1, 2 * B), (3 * B, 2 * B)])
def test_a_hit_leaves_at_least_one_token_to_compute(small: Small, length: int, found: int) -> None:
    small.serve("a", text(3 * B))
    assert small.index.match(text(3 * B)[:length]).num_tokens == found


def test_a_match_takes_no_hold_and_leaves_everything_as_it_was(small: Small) -> None:
    small.serve("a", text(2 * B))
    small.manager.free("a")
    before = small.pool.num_free, small.pool.num_cached
    small.index.match(text(2 * B) + [1])
    assert (small.pool.num_free, small.pool.num_cached) == before


def test_what_has_no_holder_is_found_until_it_is_reused_and_comes_back_when_it_is_found(small: Small) -> None:
    small.serve("a", text(2 * B))
    table = small.manager.table("a")
    small.manager.free("a")
    assert small.pool.num_free == 12 and small.index.evictable == 2
    assert small.serve("b", text(2 * B) + [1]) == 2 * B
    assert small.manager.table("b")[:2] == table and small.index.evictable == 0


def test_blocks_are_given_up_least_recently_used_first_and_the_tail_of_a_chain_before_its_head(small: Small) -> None:
    old, new = text(3 * B), text(3 * B, seed=1)
    small.serve("old", old)
    small.serve("new", new)
    small.manager.free("old")
    small.manager.free("new")
    small.serve("again", old)  # its first two blocks are found, its third is computed anew and given back for the old
    small.manager.free("again")
    found = []
    for _ in range(6):
        found.append((small.index.match(old + [1]).num_tokens // B, small.index.match(new + [1]).num_tokens // B))
        assert small.index.evict(1) == 1
        small.index.check()
    assert found == [(3, 3), (3, 2), (3, 1), (3, 0), (2, 0), (1, 0)]
    assert small.index.evict(1) == 0 and small.index.evictable == 0


def test_what_somebody_holds_is_never_evicted(small: Small) -> None:
    small.serve("a", text(2 * B))
    assert small.index.evict(10) == 0 and small.index.match(text(2 * B) + [1]).num_tokens == 2 * B


def test_the_second_of_two_equal_blocks_is_given_back_and_its_table_names_the_first(small: Small) -> None:
    tokens = text(2 * B + 1)
    for name in "ab":  # both are admitted before either is computed
        small.manager.admit(name, len(tokens))
    assert small.publish("a", tokens) == {}
    assert small.publish("b", tokens) == dict(enumerate(small.manager.table("a")[:2]))
    assert small.manager.table("b")[:2] == small.manager.table("a")[:2]
    assert small.pool.num_free == 12 - 4
    assert small.publish("b", tokens) == {}  # once more changes nothing


def test_only_as_many_blocks_are_published_as_the_caller_names_and_the_tokens_fill(small: Small) -> None:
    tokens = text(3 * B)
    table = small.manager.admit("a", 3 * B)
    small.index.publish(tokens, table[:1])
    assert small.index.match(tokens + [1]).num_tokens == B
    small.index.publish(tokens[: 2 * B + 3], table)
    assert small.index.match(tokens + [1]).num_tokens == 2 * B
    small.index.check()


def test_a_block_that_nobody_holds_cannot_be_published(small: Small) -> None:
    table = small.manager.admit("a", 2 * B)
    small.manager.free("a")
    refused(UsageError, small.pool, call=lambda: small.index.publish(text(2 * B), table), match="not in use")
    small.index.check()


def test_a_block_that_is_published_as_one_text_cannot_be_as_another(small: Small) -> None:
    small.serve("a", text(2 * B))
    table = small.manager.table("a")
    refused(
        UsageError, small.pool, call=lambda: small.index.publish(text(2 * B, 1), table), match="another|in the tree"
    )
    twice = small.pool.take(1) * 2
    refused(UsageError, small.pool, call=lambda: small.index.publish(text(2 * B, 1), twice), match="once")
    small.index.check()


def test_a_pool_serves_one_index(small: Small) -> None:
    for make in (PrefixCache, RadixCache):
        with pytest.raises(UsageError, match="another prefix index"):
            make(small.pool, B)


def test_an_index_that_is_not_there_and_blocks_without_slots_are_refused() -> None:
    with pytest.raises(UsageError, match="'tree': there are hash, radix"):
        make_index("tree", BlockPool(2), 4)
    for call in (
        lambda: PrefixCache(BlockPool(2), 0),
        lambda: RadixCache(BlockPool(2), 0),
        lambda: block_hashes([1], 0),
    ):
        with pytest.raises(UsageError, match="at least 1 slot"):
            call()


def test_a_table_is_not_remapped_to_what_it_does_not_have_or_cannot_hold() -> None:
    manager = BlockManager(4, B)
    manager.admit("a", B)
    refused(UsageError, manager, call=lambda: manager.remap("a", {1: 0}), match="has 1 entries")
    refused(UsageError, manager, call=lambda: manager.remap("a", {0: 3}), match="block 3 is free")
    refused(UsageError, manager, call=lambda: manager.remap("b", {}), match="no sequence")
    manager.remap("a", {0: 0})
    manager.check()


def test_free_hits_count_in_what_admission_needs(small: Small) -> None:
    small.serve("a", text(6 * B))
    small.manager.free("a")
    match = small.index.match(text(6 * B) + [1])
    small.manager.admit("others", 4 * B)
    small.manager.admit("b", 7 * B, match.blocks)
    small.manager.free("b")
    small.manager.append("others")
    refused(OutOfBlocks, small.manager, call=lambda: small.manager.admit("b", 8 * B, match.blocks), match="needed 8")
