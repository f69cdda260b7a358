"""Both prefix indexes on small cases, by one set of tests; keys, tags and histories; the hash chain's own ways."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import (
    INDEXES,
    BlockManager,
    BlockPool,
    History,
    PrefixCache,
    PrefixIndex,
    RadixCache,
    block_hashes,
    chain_sha256,
    make_index,
    token_bytes,
)
from kvlab.memory.history import equal_units, tag_bytes
from tests.memory.snapshots import refused

B = 4


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


def text(length: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, 1000, length).tolist()


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


# keys, tags and histories


def test_a_key_is_sha256_over_the_key_before_and_the_tokens_as_32_bit_numbers() -> None:
    key = hashlib.sha256(b"()").digest()
    for start, found in zip((0, 3), block_hashes([5, 6, 7, 8, 9, 10, 11], 3), strict=True):
        key = hashlib.sha256(key + struct.pack("<3i", *range(5 + start, 8 + start))).digest()
        assert found == key


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12), st.integers(1, 4))
def test_keys_are_equal_exactly_as_far_as_texts_are(one: list[int], other: list[int], size: int) -> None:
    for position, (mine, theirs) in enumerate(zip(block_hashes(one, size), block_hashes(other, size), strict=False), 1):
        assert (mine == theirs) == (one[: position * size] == other[: position * size])


@given(st.binary(max_size=30), st.binary(max_size=30), st.integers(1, 4))
def test_equal_pieces_are_counted_as_one_by_one(one: bytes, other: bytes, width: int) -> None:
    for other_ in (other, one[:7] + other):
        count = 0
        while (count + 1) * width <= min(len(one), len(other_)) and (
            one[: (count + 1) * width] == other_[: (count + 1) * width]
        ):
            count += 1
        assert equal_units(one, other_, width) == count


def test_a_history_that_grows_has_the_keys_of_the_whole_text_and_reads_like_a_list() -> None:
    tokens = text(30)
    history = History(tokens[:5], ("adapter",))
    for start in range(5, 30, 7):
        history.keys(B, chain_sha256)
        history.extend(tokens[start : start + 7])
    assert block_hashes(history, B) == block_hashes(tokens, B, ("adapter",))
    assert list(history) == tokens and history[3] == tokens[3] and history[2:9] == tokens[2:9] and len(history) == 30
    assert history[-1] == tokens[-1] and tokens[3] in history and "30 tokens" in repr(history)
    assert block_hashes(history, 5) == block_hashes(tokens, 5, ("adapter",))  # another size, other keys


def test_keys_taken_over_from_a_text_with_the_same_beginning_are_those_of_the_text_itself() -> None:
    cache, begin = PrefixCache(BlockPool(100), B), text(5 * B)
    for tail in range(70):
        tokens = begin[: 3 * B + tail % 7] + text(tail, seed=tail)
        history = History(tokens)
        cache.match(history)
        assert history.keys(B, chain_sha256)[1:] == block_hashes(tokens, B)
    for seed in range(100):  # beginnings that nobody repeats are not remembered for ever
        cache.match(text(B, seed=seed))
    assert len(cache._recent) <= 64


def test_any_kind_of_token_list_gives_the_same_bytes() -> None:
    tokens = [0, 1, 2**31 - 1, -5]
    for same in (tuple(tokens), np.array(tokens), np.array(tokens, dtype=np.int32), iter(tokens)):
        assert token_bytes(same) == struct.pack("<4i", *tokens)
    for wrong in ([2**31], [-(2**31) - 1], [1.5], ["a"], np.array([2**40]), np.array([0.5])):
        with pytest.raises(UsageError, match="32 bits"):
            token_bytes(wrong)


def test_a_history_keeps_its_tag_and_refuses_another_beside_it() -> None:
    history = History([1, 2], ("x",))
    cache = PrefixCache(BlockPool(3), 1)
    cache.match(history, ("x",))
    with pytest.raises(UsageError, match="carry the tag"):
        cache.match(history, ("y",))


def test_tags_that_are_not_the_same_have_other_bytes_and_strange_ones_are_refused() -> None:
    tags = [(), (1,), (True,), ("1",), (b"1",), (None,), ("None",), ("X", None), (None, "X"), ("X", ""), ("", "X")]
    tags += [("a, b",), ("a", "b"), ("a', 'b",), (("a", "b"),), (("a",), "b"), ((),), ("é",), ("\ud800",)]
    assert len({tag_bytes(tag) for tag in tags}) == len(tags)
    for wrong in (["a"], ("a", [1]), (1.0,), (object(),), "a", None):
        with pytest.raises(UsageError, match="a tag is a tuple"):
            tag_bytes(wrong)


# weak hash functions


def test_with_verify_a_hash_function_that_tells_nothing_apart_finds_nothing_wrong() -> None:
    pool = BlockPool(12)
    cache = PrefixCache(pool, B, lambda before, block: len(block) + 1, verify=True)
    manager = BlockManager(pool, B)
    table = manager.admit("a", 2 * B)
    cache.publish(text(2 * B), table)
    assert cache.match(text(2 * B) + [1]).blocks == table[:1]  # the second block has the key of the first
    assert cache.match(text(2 * B, seed=1) + [1]).blocks == []
    assert cache.match(text(2 * B) + [1], ("other",)).blocks == []
    cache.check()


def test_check_finds_a_block_whose_tokens_are_not_those_of_its_key() -> None:
    cache = PrefixCache(BlockPool(4), 1, verify=True)
    cache.publish([7, 8], BlockManager(cache.pool, 1).admit("a", 2))
    cache.check()
    cache._filed[1] = (*cache._filed[1][:2], token_bytes([9]))
    with pytest.raises(InvariantBroken, match="I9: block 1"):
        cache.check()


# what the manager does with it


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
