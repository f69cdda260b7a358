"""What a prefix is known by: keys, tags and histories, and hash functions that tell nothing apart."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import (
    BlockManager,
    BlockPool,
    History,
    PrefixCache,
    block_hashes,
    chain_sha256,
    token_bytes,
)
from kvlab.memory.history import equal_units, tag_bytes
from tests.memory.texts import B, text


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
