"""The roofline: by hand, for the presets, and where the bound changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import KV_BYTES, LLAMA_3_8B, WEIGHT_BYTES, decode_step_seconds
from kvlab.serve.costmodel import (
    HARDWARE,
    LLAMA_8B,
    PICOSECONDS,
    Hardware,
    ModelSize,
    StepCost,
    preemption_costs,
    step_cost,
)
from kvlab.serve.metrics import HELP, NOW, Stats, TierStats, prometheus
from kvlab.serve.policies import Cheaper

numbers = st.integers(0, 10**9)


def test_a_step_costs_the_longer_of_reading_and_multiplying_and_what_nothing_overlaps():
    cost = StepCost(fixed=1000, weights=500, context=7, token=300, pair=2, copy=50)
    assert cost.step(1, 10, 10) == 1000 + 500 + 70
    assert cost.step(9, 10, 45) == 1000 + 2700 + 90
    assert cost.step(1, 10, 10, copied=3) == 1570 + 150


def test_a_decode_step_of_the_running_example_takes_what_lab_01_says():
    hardware = HARDWARE["A100-80"]
    for requests, context in ((1, 100), (64, 1000), (300, 1500)):
        seconds = step_cost().step(requests, requests * context, requests * context) / PICOSECONDS
        kv = requests * context * LLAMA_3_8B.bytes_per_token
        assert seconds == pytest.approx(decode_step_seconds(WEIGHT_BYTES, kv, hardware.bandwidth), rel=1e-4)


def test_a_prompt_is_bound_by_arithmetic_two_operations_for_each_parameter_and_token():
    tokens, flops = 2048, HARDWARE["H100"].flops
    cost = step_cost(hardware=HARDWARE["H100"])
    pairs = tokens * (tokens + 1) // 2
    by_hand = (2 * LLAMA_8B.parameters * tokens + 4 * 32 * 32 * 128 * pairs) / flops
    assert cost.step(tokens, tokens, pairs) / PICOSECONDS == pytest.approx(by_hand, rel=1e-4)


def test_shares_and_overhead_make_a_step_slower_and_impossible_ones_are_refused():
    plain, real = step_cost(), step_cost(bandwidth_share=0.5, flops_share=0.25, overhead=0.002)
    assert real.step(8, 800, 800) == pytest.approx(2 * plain.step(8, 800, 800) + 0.002 * PICOSECONDS, rel=1e-4)
    assert real.token == pytest.approx(4 * plain.token, rel=1e-4)
    for wrong in ({"bandwidth_share": 0}, {"flops_share": 1.1}, {"overhead": -1}):
        with pytest.raises(UsageError, match="shares lie above 0 and up to 1"):
            step_cost(**wrong)


def test_the_presets_hold_the_running_example_or_not_as_their_memory_says():
    fits = {name: hardware.memory_bytes > WEIGHT_BYTES + KV_BYTES - 6e9 for name, hardware in HARDWARE.items()}
    assert fits == {"A100-80": True, "H100": True, "H200": True, "RTX 4090": False}
    assert all(
        hardware.name == name and hardware.host_bandwidth < hardware.bandwidth for name, hardware in HARDWARE.items()
    )


@given(numbers, numbers, numbers, numbers, numbers, st.integers(1, 500), st.integers(1, 10**6))
def test_until_the_bound_changes_each_step_takes_as_much_more_as_the_one_before(w, c, t, p, fixed, running, contexts):
    cost = StepCost(fixed, w, c, t, p)
    steps = cost.until_bound_changes(running, contexts)
    assert steps >= 1
    times = [cost.step(running, contexts + i * running, contexts + i * running) for i in range(min(steps, 6))]
    slopes = {later - earlier for earlier, later in zip(times, times[1:], strict=False)}
    assert len(slopes) <= 1
    at_end = [cost.step(running, contexts + i * running, contexts + i * running) for i in (0, 1, steps - 2, steps - 1)]
    if 3 < steps < 2**61:
        assert at_end[1] - at_end[0] == at_end[3] - at_end[2]


def test_recomputing_wins_for_short_sequences_on_a_slow_link_and_swapping_on_a_fast_one():
    slow, fast = (Hardware("x", 2e12, 3e14, 80e9, link) for link in (1e9, 64e9))
    for hardware, swaps in ((slow, False), (fast, True)):
        assert Cheaper(*preemption_costs(LLAMA_8B, hardware))(2000, 125) is swaps
    small_blocks = preemption_costs(LLAMA_8B, fast, block_size=1, per_copy=1e-4)
    assert not Cheaper(*small_blocks)(2000, 2000)  # many small copies: what Kwon et al. found in section 7.3


def test_the_size_of_a_model_follows_from_its_shape():
    assert ModelSize.of(LLAMA_3_8B, 8e9, heads=32) == ModelSize("Llama-3-8B", 8e9, 16e9, 128 * 1024, 4 * 32 * 32 * 128)


def test_stats_are_told_in_prometheus_text_each_with_its_help_and_kind():
    stats = Stats(running=3, steps=10**17 + 1, step_seconds=0.1)
    lines = prometheus(stats).splitlines()
    assert len(lines) == 3 * len(HELP) and {*HELP, "tiers"} == set(Stats._fields) > NOW
    at = lines.index("# TYPE kvlab_running gauge")
    assert lines[at - 1].startswith("# HELP kvlab_running ") and lines[at + 1] == "kvlab_running 3"
    assert "kvlab_steps_total 100000000000000001" in lines and "# TYPE kvlab_steps_total counter" in lines
    assert float(next(line for line in lines if line.startswith("kvlab_step_seconds_total")).split()[1]) == 0.1
    tiers = TierStats("host", 9, 4, stored=5), TierStats("disk", 90, 7, loaded=2)
    text = prometheus(stats._replace(tiers=tiers))
    assert '# TYPE kvlab_tier_stored_total counter\nkvlab_tier_stored_total{level="0",tier="host"} 5\n' in text
    assert 'kvlab_tier_held{level="1",tier="disk"} 7\n' in text
    assert prometheus(stats, "other").startswith("# HELP other_running") and prometheus(stats).endswith("\n")
