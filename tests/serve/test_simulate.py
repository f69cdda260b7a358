"""The simulator: by hand on small cases, the same step by step as in jumps, and the orders that paging must bring."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import (
    KV_TOKENS,
    PRESETS,
    Request,
    Trace,
    bursty_arrivals,
    make_trace,
    poisson_arrivals,
    sharegpt_like,
)
from kvlab.memory.lengths import lesson_lengths
from kvlab.serve.costmodel import PICOSECONDS, Hardware, ModelSize, StepCost, step_cost
from kvlab.serve.durations import GRAIN, Durations, Spread
from kvlab.serve.limits import NeverFits
from kvlab.serve.policies import Policies, always_recompute, always_swap, by_priority, first_come
from kvlab.serve.report import compare
from kvlab.serve.simulate import simulate
from kvlab.serve.sweep import sweep

SECOND = StepCost(PICOSECONDS, 0, 0, 0, 0)  # every step takes one


def test_by_hand_a_request_takes_a_step_for_its_prompt_and_one_for_each_token_but_the_first():
    report = simulate(make_trace("one", [5], [4]), capacity=16, cost=SECOND)
    assert (report.steps, report.seconds, report.output_tokens) == (4, 4.0, 4)
    assert report.first_token.mean == 1.0 and report.queueing.mean == 0.0
    assert report.between.p50 == pytest.approx(1.0, abs=2 * GRAIN / PICOSECONDS)
    assert report.waste.held == pytest.approx((5 + 6 + 7 + 8) / 4 / 16) and report.tokens_per_second == 1.0


def test_by_hand_chunks_queueing_and_idle_time():
    trace = Trace("two", (Request(6, 2, 0.0), Request(2, 1, 0.5), Request(1, 1, 9.0)))
    report = simulate(trace, capacity=64, cost=SECOND, token_budget=4)
    # 0-1 four tokens of the first; 1-2 its other two and the second's two; 2-3 the first's last token; 9-10 the third.
    assert report.steps == 4 and report.seconds == 10.0
    assert [moment.seconds for moment in report.timeline] == [0.0, 1.0, 2.0, 9.0]
    assert report.first_token.mean == pytest.approx((2.0 + 1.5 + 1.0) / 3)
    assert report.queueing.p99 == 0.5


def test_by_hand_a_preempted_request_waits_and_its_gap_counts():
    report = simulate(make_trace("two", [4, 4], [5, 5]), capacity=12, block_size=4, cost=SECOND, watermark=0)
    # At 1 each needs a block and one is free: the second leaves, and comes back when the first has ended.
    assert report.preemptions == 1 and report.recomputed == 4 and report.steps == 1 + 4 + 4
    assert report.between.p99 == pytest.approx(5.0, abs=1e-5)


requests = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 40), st.sampled_from([0.0, 0.0, 0.01, 0.3]), st.integers(0, 2)),
    min_size=1,
    max_size=25,
)


@settings(deadline=None, max_examples=150)
@given(
    requests,
    st.sampled_from([1, 2, 4, 16]),
    st.integers(80, 200),
    st.sampled_from([0, 3, 50]),
    st.integers(1, 12),
    st.integers(1, 64),
    st.sampled_from([0.0, 0.05, 0.5]),
    st.sampled_from([first_come, by_priority]),
    st.sampled_from([always_recompute, always_swap, lambda tokens, blocks: tokens % 2 == 0]),
    st.sampled_from(
        [step_cost(), step_cost(overhead=0.001, flops_share=0.01), SECOND, StepCost(0, 9000, 700, 5000, 40)]
    ),
)
def test_jumping_over_equal_steps_changes_no_digit_of_the_report(
    asked, block_size, capacity, host, running, budget, watermark, order, swap, cost
):
    now, rows = 0.0, []
    for prompt, answer, gap, _ in asked:
        now += gap
        rows.append(Request(prompt, answer, now))
    options = {
        "capacity": capacity - capacity % block_size + block_size,
        "block_size": block_size,
        "host_blocks": host,
        "max_running": running,
        "token_budget": budget,
        "watermark": watermark,
        "policies": Policies(order=order, swap=swap),
        "priorities": [priority for *_, priority in asked],
        "cost": cost,
    }
    trace = Trace("random", tuple(rows))
    assert simulate(trace, **options, jump=True) == simulate(trace, **options, jump=False)


@pytest.mark.parametrize("policy", ["full", "prompt+max", "power of two", "oracle", "paged"])
def test_jumps_and_steps_agree_on_the_lessons_load_under_every_policy(policy):
    trace = bursty_arrivals(make_trace("lesson", *lesson_lengths(3, 150)), 12.0, 3)
    options = {"capacity": 40_960, "host_blocks": 100, "policies": Policies(swap=always_swap)}
    jumped, stepped = (simulate(trace, policy, **options, jump=jump) for jump in (True, False))
    assert jumped == stepped and jumped.output_tokens == sum(max(1, request.answer) for request in trace)
    assert jumped.waste.capacity == pytest.approx(1) and (policy == "paged") == (jumped.waste.later == 0)


def test_a_request_that_never_fits_is_refused_before_anything_runs_with_both_numbers():
    with pytest.raises(NeverFits, match="may need 5 blocks of 16 slots, and there are 4 in all") as refused:
        simulate(make_trace("large", [1, 60], [1, 6]), capacity=64)
    assert (refused.value.needed, refused.value.there) == (5, 4)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    with pytest.raises(NeverFits, match="8192 slots, and there are 8000 in all"):
        simulate(make_trace("full", [1], [1]), "full", capacity=8000)
    assert simulate(make_trace("nobody", [], [])).steps == 0


OPT_13B = ModelSize.of(PRESETS["OPT-13B"], 12.85e9, heads=40)
A100_40 = Hardware("A100-40", 1.555e12, 312e12, 40e9, 32e9)


def test_on_the_papers_load_paging_serves_two_to_four_times_as_much_as_reservation():
    """OPT-13B on a 40 GB A100, ShareGPT lengths, as in Kwon et al. 2023, section 6.2: from a queue that never ends."""
    trace, cost = sharegpt_like(700, 0), step_cost(OPT_13B, A100_40)
    found = {
        policy: simulate(trace, policy, capacity=15_696, cost=cost, context=2048).tokens_per_second
        for policy in ("full", "power of two", "oracle", "paged")
    }
    assert 2.5 < found["paged"] / found["full"] < 4.5
    assert 1.5 < found["paged"] / found["power of two"] < 2.5
    assert 1.2 < found["paged"] / found["oracle"] < 2.0
    assert found["full"] < found["power of two"] < found["oracle"]


def test_on_the_lessons_load_the_gain_is_smaller_because_prompts_are_long_and_must_be_run_by_anybody():
    trace = make_trace("lesson", *lesson_lengths(1, 1500))
    cost = step_cost()
    free_prompts = cost._replace(token=0, pair=0)  # as if arithmetic took no time: memory alone is left
    gains = []
    for one in (cost, free_prompts):
        full, paged = (simulate(trace, policy, cost=one, max_running=1000) for policy in ("full", "paged"))
        gains.append(paged.tokens_per_second / full.tokens_per_second)
        assert paged.peak > 5 * full.peak
    assert 1.2 < gains[0] < 1.6 and 1.7 < gains[1] < 3
    seconds = sum(trace_request.prompt for trace_request in trace) * cost.token / PICOSECONDS
    paged = simulate(trace, cost=cost, max_running=1000)
    assert seconds > 0.5 * paged.seconds  # more than half of the time is prompts' arithmetic, which paging cannot save


def test_a_day_of_requests_leaks_nothing_and_is_told_in_a_bounded_timeline():
    day = bursty_arrivals(make_trace("day", *lesson_lengths(5, 6_000)), 6_000 / 86_400, 5, burst=16)
    report = simulate(day, capacity=KV_TOKENS // 64)
    assert report.seconds > 80_000 and report.preemptions > 0 and len(report.timeline) <= 4096
    assert report.requests == 6_000


def test_durations_are_counted_in_runs_like_one_by_one():
    counted, apart = Durations(), Durations()
    counted.add(5 * GRAIN, 2 * GRAIN, 3, 4)
    for step in range(3):
        apart.add((5 + 2 * step) * GRAIN, 0, 1, 4)
    assert counted.spread() == apart.spread()
    assert counted.spread().p50 == 7 * GRAIN / PICOSECONDS and Durations().spread() == Spread() == Spread.of([])


def test_reports_stand_side_by_side_in_a_table_and_flat_in_a_row():
    report = simulate(make_trace("one", [5], [4]), capacity=16, cost=SECOND)
    lines = compare({"a": report, "b": replace(report, steps=7)}).splitlines()
    assert lines[0].split() == ["a", "b"] and any(line.split() == ["steps", "4", "7"] for line in lines)
    assert report.table().splitlines()[2].split() == ["steps", "4"]
    numbers = report.numbers()
    assert (
        numbers["first_token_mean"] == 1.0 and "timeline" not in numbers and numbers["share_held"] == report.waste.held
    )


def small(seed: int) -> Trace:
    return poisson_arrivals(make_trace("small", *lesson_lengths(seed, 40)), 4.0, seed)


GRID = {"policy": ["full", "paged"], "block_size": [16, 256]}


def test_a_sweep_runs_every_combination_once_and_in_processes_as_in_this_one():
    alone = sweep(small, GRID, seeds=(1, 2), workers=1, progress=False, capacity=65_536)
    apart = sweep(small, GRID, seeds=(1, 2), workers=2, progress=True, capacity=65_536)
    assert alone == apart and len(alone) == 8
    assert [result.setting for result in alone][:3] == [
        {"policy": "full", "block_size": 16, "seed": 1},
        {"policy": "full", "block_size": 16, "seed": 2},
        {"policy": "full", "block_size": 256, "seed": 1},
    ]
    assert alone[0].report == simulate(small(1), "full", block_size=16, capacity=65_536)
    assert alone[0].row()["seed"] == 1 and "steps" in alone[0].row()
    with pytest.raises(UsageError, match="policy cannot be both varied and fixed"):
        sweep(small, GRID, policy="full")


def test_the_same_sweep_runs_unchanged_on_a_dask_cluster_of_two_workers():
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        far = sweep(small, GRID, seeds=(1,), client=client, progress=False, capacity=65_536)
    assert far == sweep(small, GRID, seeds=(1,), workers=1, progress=False, capacity=65_536)
