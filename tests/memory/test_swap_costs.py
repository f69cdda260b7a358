"""What swapping, recomputing and loading cost by the hardware's figures, and from which length loading pays."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import (
    break_even_tokens,
    recompute_seconds,
    reload_seconds,
    swap_seconds,
)


def test_costs_follow_from_the_hardware_and_cross_where_they_should():
    assert swap_seconds(10, 2e6, 20e9) == pytest.approx(2 * 10 * 2e6 / 20e9)
    assert swap_seconds(10, 2e6, 20e9, per_copy=1e-5) == pytest.approx(2e-3 + 2e-4)
    assert swap_seconds(0, 2e6, 20e9) == recompute_seconds(0, 8e9, 1e14) == 0
    assert recompute_seconds(1000, 8e9, 1e14) == pytest.approx(0.16)
    assert recompute_seconds(1, 8e9, 1e14, 16e9, 2e12) == pytest.approx(0.008)  # the weights are read in any case
    for wrong in (lambda: swap_seconds(1, 1, 0), lambda: recompute_seconds(1, 1, -1.0)):
        with pytest.raises(UsageError, match="must be above 0"):
            wrong()


@given(
    latency=st.floats(0, 0.1),
    bandwidth=st.floats(1e8, 1e11),
    flops=st.floats(1e12, 1e15),
    weights=st.sampled_from([0.0, 16e9]),
)
def test_the_break_even_is_the_length_from_which_loading_always_pays(latency, bandwidth, flops, weights) -> None:
    size, block_bytes, parameters, reading = 16, 2e6, 8e9, 2e12
    found = break_even_tokens(size, block_bytes, bandwidth, latency, parameters, flops, weights, reading)

    def pays(tokens: int) -> bool:
        again = recompute_seconds(tokens, parameters, flops, weights, reading)
        return reload_seconds(tokens // size, block_bytes, bandwidth, latency) <= again

    lengths = range(size, 40_000 * size, 1999 * size)
    if found is None:
        assert not pays(10**9 * size)
        return
    assert found % size == 0 and pays(found)
    assert all(pays(tokens) for tokens in lengths if tokens >= found)
    assert found == size or not pays(found - size)


def test_the_break_even_of_llama_3_8b_on_an_ssd_follows_from_its_figures() -> None:
    # 2 MiB a block at 5 GB/s take 0.42 ms, computing its 16 tokens at 300 TFLOP/s 0.85 ms: 0.43 ms are gained a block
    found = break_even_tokens(16, 16 * 128 * 1024, 5e9, 10e-3, 8e9, 300e12)
    assert found == 16 * ceil(10 / (0.8533 - 0.4194))
    assert break_even_tokens(16, 16 * 128 * 1024, 2e9, 0, 8e9, 300e12) is None  # 1.05 ms for each block
    assert break_even_tokens(4, 1, 1, 4.0, 1, 4) == 16  # a tie is no slower
    assert reload_seconds(0, 1e6, 1e9, 1.0) == 0 and reload_seconds(3, 1e6, 1e9, 1.0) == pytest.approx(1.003)
    for wrong in (lambda: reload_seconds(1, 1, 0), lambda: break_even_tokens(0, 1, 1, 0, 1, 1)):
        with pytest.raises(UsageError):
            wrong()


def test_a_block_that_gains_nothing_never_makes_up_for_a_latency_however_many_come() -> None:
    rounded = 2 * 1e9 * 16 / (2097152 / 1e9)  # flops with which both take as long, but for rounding
    for *block, latency, parameters, flops in ((1, 1, 1, 1.0, 1, 2), (16, 2097152, 1e9, 0.01, 1e9, rounded)):
        assert break_even_tokens(*block, latency, parameters, flops) is None
        assert break_even_tokens(*block, 0.0, parameters, flops) == block[0], "as long is no slower"
    assert break_even_tokens(1, 2, 1, 0.0, 1, 2, weight_bytes=9.0) is None, "only short ones pay"
