"""Block tables as plain functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import (
    BlockPool,
    append_tokens,
    block_size_sweep,
    blocks_needed,
    lesson_trace,
    paged_waste,
    round_up_to_block,
    slot_mapping,
)
from tests.memory.snapshots import refused

sizes = st.integers(1, 40)
lengths = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("num_tokens", "block_size", "expected"),
    [(0, 16, 0), (1, 16, 1), (15, 16, 1), (16, 16, 1), (17, 16, 2), (32, 16, 2), (5, 1, 5), (2**40, 16, 2**36)],
)
def test_an_exact_multiple_needs_no_further_block(num_tokens: int, block_size: int, expected: int) -> None:
    assert blocks_needed(num_tokens, block_size) == expected
    assert round_up_to_block(num_tokens, block_size) == expected * block_size


@given(lengths, sizes)
def test_blocks_hold_all_tokens_and_one_less_would_not(num_tokens: int, block_size: int) -> None:
    blocks = blocks_needed(num_tokens, block_size)
    assert blocks * block_size >= num_tokens > (blocks - 1) * block_size or num_tokens == blocks == 0


def test_slots_follow_the_table_and_not_each_other() -> None:
    assert slot_mapping([5, 2, 9], 14, 35, 16) == [94, 95, *range(32, 48), 144, 145, 146]
    assert slot_mapping([5], 3, 3, 16) == []
    assert slot_mapping([], 0, 0, 16) == []


@given(st.permutations(range(12)), st.integers(0, 60), st.integers(0, 60), st.integers(1, 5))
def test_every_slot_is_its_block_times_size_plus_offset(table: list[int], start: int, count: int, size: int) -> None:
    stop = min(start + count, len(table) * size)
    for position, slot in zip(range(start, stop), slot_mapping(table, start, stop, size), strict=True):
        assert divmod(slot, size) == (table[position // size], position % size)


def test_positions_beyond_the_table_are_refused() -> None:
    with pytest.raises(UsageError, match="a table of 2 blocks of 16 has no slot for token 32"):
        slot_mapping([5, 2], 30, 33, 16)
    with pytest.raises(UsageError, match="start"):
        slot_mapping([5, 2], -1, 3, 16)


def test_a_table_grows_only_when_its_last_block_is_full() -> None:
    pool, table = BlockPool(8), []
    assert append_tokens(table, 0, 3, pool, 4) == [0, 1, 2]
    pool.take(1)  # somebody else comes in between
    assert append_tokens(table, 3, 1, pool, 4) == [3]
    assert table == [0]
    assert append_tokens(table, 4, 6, pool, 4) == [8, 9, 10, 11, 12, 13]
    assert table == [0, 2, 3]
    assert append_tokens(table, 10, 0, pool, 4) == []
    assert table == [0, 2, 3]


def test_an_append_without_enough_blocks_leaves_table_and_pool_as_they_were() -> None:
    pool = BlockPool(3)
    table = pool.take(1)
    raised = refused(OutOfBlocks, pool, table, call=lambda: append_tokens(table, 3, 10, pool, 4))
    assert (raised.value.needed, raised.value.free) == (3, 2)


def test_impossible_appends_are_refused_before_a_block_is_taken() -> None:
    pool, table = BlockPool(8), [7]
    refused(UsageError, pool, table, call=lambda: append_tokens(table, 4, -1, pool, 4), match="new_tokens")
    refused(UsageError, pool, table, call=lambda: append_tokens(table, -1, 9, pool, 4), match="num_tokens")
    refused(UsageError, pool, table, call=lambda: append_tokens(table, 4, 9, pool, 0), match="not 0")


@given(sizes, st.lists(st.integers(0, 50), max_size=12))
def test_appending_piecewise_gives_the_slots_of_appending_at_once(block_size: int, pieces: list[int]) -> None:
    piecewise, pool, slots, total = [], BlockPool(700), [], 0
    for piece in pieces:
        slots += append_tokens(piecewise, total, piece, pool, block_size)
        total += piece
    assert slots == append_tokens([], 0, total, BlockPool(700), block_size)
    assert len(piecewise) == blocks_needed(total, block_size)


@given(st.lists(lengths, max_size=20), sizes)
def test_paged_waste_is_less_than_a_block_a_sequence(tokens: list[int], block_size: int) -> None:
    assert 0 <= paged_waste(tokens, block_size) <= len(tokens) * (block_size - 1)
    assert paged_waste(tokens, 1) == 0


def test_half_a_block_a_request_is_what_to_expect() -> None:
    totals = [request.total for seed in range(50) for request in lesson_trace(seed)]
    for size in (16, 256):
        assert paged_waste(totals, size) / len(totals) == pytest.approx((size - 1) / 2, rel=0.03)


def test_the_sweep_trades_waste_against_lookups() -> None:
    totals = [request.total for request in lesson_trace()]
    rows = block_size_sweep(totals, [1, 16, 256, 8192])
    assert [size for size, _, _ in rows] == [1, 16, 256, 8192]
    shares, lookups = [share for _, share, _ in rows], [looked for _, _, looked in rows]
    assert shares == sorted(shares, reverse=True) and lookups == sorted(lookups, reverse=True)
    assert rows[0][1:] == (1.0, sum(totals))
    assert rows[-1][2] == 200
    assert shares[1] == pytest.approx(0.9939, abs=5e-5)
    assert block_size_sweep([], [16]) == [(16, 1.0, 0)]


@pytest.mark.parametrize(
    "call", [lambda: blocks_needed(-1, 16), lambda: blocks_needed(1, 0), lambda: paged_waste([-1], 4)]
)
def test_negative_lengths_and_empty_blocks_are_refused(call) -> None:
    with pytest.raises(UsageError):
        call()
