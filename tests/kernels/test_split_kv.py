"""How a context is cut into parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvlab.kernels.heuristics import split_kv


@given(st.integers(0, 5000), st.integers(1, 40), st.integers(1, 300))
def test_parts_join_up_begin_at_blocks_and_are_even(num_tokens, num_splits, block_size):
    parts = split_kv(num_tokens, num_splits, block_size)
    blocks = -(-num_tokens // block_size)
    assert len(parts) == min(num_splits, blocks)
    assert [start for start, _ in parts] == [0, *(end for _, end in parts)][: len(parts)]
    assert not parts or parts[-1][1] == num_tokens
    assert all(start % block_size == 0 and start < end for start, end in parts)
    held = [-(-end // block_size) - start // block_size for start, end in parts]
    assert not held or max(held) - min(held) <= 1
