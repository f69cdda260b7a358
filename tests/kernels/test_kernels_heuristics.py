"""Launches as plain numbers: what holds for all shapes, and what was meant for a few."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.kernels.heuristics import (
    MAX_SPLIT_TOKENS,
    MIN_SPLIT_TOKENS,
    decode_launch,
    num_splits,
    power_of_two,
    prefill_launch,
    row_launch,
    split_kv,
)

QUICK = settings(max_examples=200, deadline=None, derandomize=True, database=None)


@given(st.integers(0, 5000), st.integers(1, 70), st.integers(1, 300))
@QUICK
def test_splits_are_whole_blocks_none_empty_in_order_and_cover_everything(tokens, splits, size):
    parts = split_kv(tokens, splits, size)
    assert [token for start, end in parts for token in range(start, end)] == list(range(tokens))
    assert all(start < end and start % size == 0 for start, end in parts)
    blocks = [-(-(end - start) // size) for start, end in parts]
    assert len(parts) == min(splits, -(-tokens // size)) and (not blocks or max(blocks) - min(blocks) <= 1)


@pytest.mark.parametrize("arguments", [(-1, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_split_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(ValueError, match="at least 0 tokens, 1 split and blocks of 1 slot, not"):
        split_kv(*arguments)


def test_powers_of_two():
    assert [power_of_two(n) for n in (0, 1, 2, 3, 16, 17)] == [1, 1, 2, 4, 16, 32] and power_of_two(3, 16) == 16


@given(st.integers(1, 3000), st.integers(1, 300_000), st.integers(1, 200))
@QUICK
def test_a_split_is_neither_too_short_nor_too_long(programs, tokens, sms):
    splits = num_splits(programs, tokens, sms)
    assert splits >= 1 and tokens <= splits * MAX_SPLIT_TOKENS
    assert splits == 1 or tokens >= splits * MIN_SPLIT_TOKENS or splits == -(-tokens // MAX_SPLIT_TOKENS)


def test_one_long_sequence_fills_the_gpu_in_one_wave_and_many_sequences_are_cut_no_further_than_they_must():
    assert num_splits(programs=8, max_tokens=65536, sm_count=132) == 33  # 8 x 33 = 264 programs, 2 a multiprocessor
    assert num_splits(programs=8, max_tokens=1024, sm_count=132) == 8  # 128 tokens each
    assert num_splits(programs=264, max_tokens=1024, sm_count=132) == 1
    assert num_splits(programs=1024, max_tokens=100, sm_count=132) == 1


@given(
    st.integers(1, 200),
    st.sampled_from([1, 3, 6, 7, 12, 16, 80, 128]),
    st.integers(1, 256),
    st.integers(1, 256),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 10_000),
)
@QUICK
def test_a_decode_launch_has_room_for_all_heads_and_dims_and_fits_any_gpu(seqs, group, key, value, size, tokens):
    launch = decode_launch(seqs, 8, group, key, value, size, tokens, 132)
    assert launch.heads * launch.head_tiles >= group and 16 <= launch.rows <= 64 and launch.rows >= launch.heads
    assert launch.key_tile >= key and launch.value_tile >= value and 16 <= launch.tile <= 128
    assert launch.min_tiles * launch.tile >= MIN_SPLIT_TOKENS
    buffers = 2 * launch.tile * (launch.key_tile + launch.value_tile) * size  # two turns ahead
    assert buffers <= 64 * 1024
    assert decode_launch(seqs, 8, group, key, value, size, tokens, 132, splits=5).splits == 5


@given(
    st.integers(1, 9000),
    st.integers(1, 20),
    st.sampled_from([1, 3, 6, 7, 12, 16, 80]),
    st.integers(1, 256),
    st.sampled_from([2, 4]),
    st.sampled_from([80, 86, 89, 90, 100, 120]),
)
@QUICK
def test_a_prefill_launch_gives_each_row_one_query_and_one_head(tokens, seqs, group, dim, size, capability):
    launch = prefill_launch(tokens, seqs, group, dim, dim, size, capability)
    assert launch.heads * launch.head_tiles >= group and launch.queries >= 1
    assert launch.queries * launch.heads <= launch.rows <= 128 and launch.warps in (4, 8)


@given(st.integers(1, 10**6), st.sampled_from([1, 2, 4]))
@QUICK
def test_a_row_is_covered_by_its_tiles(width, size):
    launch = row_launch(width, size)
    assert (launch.tiles - 1) * launch.tile < width <= launch.tiles * launch.tile and 1 <= launch.warps <= 8
    assert launch.tile & (launch.tile - 1) == 0 and launch.warps & (launch.warps - 1) == 0
