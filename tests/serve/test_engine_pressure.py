"""The engine under pressure: the same tokens, whoever has to leave; a soak; the simulator beside it, step for step."""

from __future__ import annotations

import functools
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import make_trace
from kvlab.models import courier_trace, load_courier
from kvlab.serve.calibrate import Timed, calibrate, fit
from kvlab.serve.costmodel import PICOSECONDS, StepCost
from kvlab.serve.engine import Engine
from kvlab.serve.metrics import Stats, prometheus
from kvlab.serve.policies import Policies, always_recompute, always_swap, by_priority, first_come
from kvlab.serve.simulate import simulate
from tests.serve.soak import soak
from tests.serve.tiny_engine import PROMPTS, engine, expected, interrupts


def idle(serving: Engine) -> bool:
    stats = serving.stats()
    return not serving.has_work and (stats.blocks, stats.host_blocks) == (stats.blocks_free, stats.host_blocks_free)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 7), st.integers(1, 12), st.integers(0, 3), st.integers(0, 2), st.none() | st.integers(0, 9)
        ),
        min_size=2,
        max_size=9,
    ),
    st.integers(6, 12),
    st.integers(1, 20),
    st.sampled_from([0, 3, 30]),
    st.sampled_from([None, "hash", "radix"]),
    st.sampled_from([first_come, by_priority]),
    st.sampled_from([always_recompute, always_swap, lambda tokens, blocks: tokens % 2 == 0]),
    st.sampled_from([0.0, 0.3]),
)
def test_any_load_in_any_pool_gives_the_tokens_of_one_alone(
    wishes, blocks, budget, host, prefix, order, swap, watermark
):
    policies = Policies(order=order, swap=swap)
    serving = engine(
        blocks, token_budget=budget, host_blocks=host, prefix=prefix, policies=policies, watermark=watermark
    )
    asked, leaving = [], []
    for number, length, gap, priority, abort in wishes:
        asked.append((serving.submit(PROMPTS[number], length, priority=priority), number, length))
        if abort is not None:
            leaving.append((serving.steps + abort, asked[-1][0]))
        for _ in range(gap):
            serving.step()
    while serving.has_work:
        for due, generation in leaving:
            if serving.steps >= due:
                serving.abort(generation)
                serving.check()
        before = serving.steps
        serving.step()
        assert serving.steps > before or not serving.has_work, "a step with work to do ran nothing"
    for generation, number, length in asked:
        want = expected()[number][:length]
        assert generation.tokens == (want[: len(generation.tokens)] if generation.reason == "aborted" else want)
    assert idle(serving)


def test_a_step_that_is_interrupted_while_blocks_move_loses_no_token(monkeypatch):
    draw, interrupted = random.Random(2), 0
    serving = engine(6, host_blocks=8, policies=Policies(swap=always_swap), watermark=0)
    host = serving._placement.host

    def unreliable(function):
        def call(*arguments):
            nonlocal interrupted
            if arguments[0] and draw.random() < 0.5:
                if draw.random() < 0.5:
                    function(*arguments)
                interrupted += 1
                raise KeyboardInterrupt
            return function(*arguments)

        return call

    monkeypatch.setattr(host, "copy_out", unreliable(host.copy_out))
    monkeypatch.setattr(host, "copy_in", unreliable(host.copy_in))
    asked = [serving.submit(ids, 12) for ids in PROMPTS]
    for _ in interrupts(serving):
        serving.check()
    assert interrupted > 3 and [g.tokens for g in asked] == expected() and idle(serving)


def test_a_swapped_request_can_be_aborted_and_its_host_blocks_are_free_at_once():
    serving = engine(6, host_blocks=8, policies=Policies(swap=always_swap), watermark=0)
    asked = [serving.submit(ids, 12) for ids in PROMPTS[3:6]]
    while not serving.stats().swapped:
        serving.step()
    away = next(generation for generation in asked if generation.state == "swapped")
    serving.abort(away)
    assert serving.stats().swapped == 0 and serving.stats().host_blocks_free == 8 and away.reason == "aborted"
    serving.run()
    assert idle(serving) and sum(g.tokens == want for g, want in zip(asked, expected()[3:6], strict=True)) == 2


def test_stats_count_what_was_done_and_prometheus_gets_them():
    serving = engine(6, prefix="hash", watermark=0)
    asked = [serving.submit(ids, 12) for ids in PROMPTS]
    serving.step()
    now = serving.stats()
    assert (now.running, now.waiting) == (len(serving.running), len(serving.waiting)) and now.steps == 1
    serving.abort(asked[-1])
    serving.run()
    stats = serving.stats()
    assert isinstance(stats, Stats) and stats.finished == 7 and stats.aborted == 1 and stats.preemptions > 0
    assert (
        stats.generated_tokens == sum(len(g.tokens) for g in asked)
        and stats.computed_tokens == serving.projected_tokens
    )
    assert stats.blocks_free == 6 and stats.blocks_cached > 0 and stats.prefix_queries > 0
    assert f"kvlab_preemptions_total {stats.preemptions}" in prometheus(stats).splitlines()


def test_a_budget_or_a_number_of_requests_that_could_never_run_is_refused():
    for wrong in ({"max_running": 0}, {"token_budget": 0}, {"watermark": 1}):
        with pytest.raises(UsageError):
            engine(6, **wrong)


@functools.cache
def courier():
    torch.set_num_threads(1)
    return load_courier()


@pytest.mark.parametrize("swap", [always_recompute, always_swap], ids=["recompute", "swap"])
@pytest.mark.parametrize("blocks", [40, 400])
def test_the_simulator_takes_exactly_as_many_steps_as_the_engine_on_courier(swap, blocks):
    model, _ = courier()
    draw = random.Random(blocks)
    lengths = [(draw.randint(5, 90), draw.randint(1, 40)) for _ in range(30)]
    options = {"token_budget": 48, "max_running": 14, "policies": Policies(swap=swap)}
    serving = Engine(model, blocks, 8, host_blocks=20, **options)
    for count, answer in lengths:
        serving.submit([draw.randrange(1000) for _ in range(count)], answer, eos=())
    serving.run()
    for jump in (True, False):
        report = simulate(
            make_trace("courier", *zip(*lengths, strict=True)),
            capacity=blocks * 8,
            block_size=8,
            host_blocks=20,
            cost=StepCost(10**9, 0, 0, 10**6, 10**3),
            jump=jump,
            **options,
        )
        stats = serving.stats()
        assert report.steps == serving.steps
        assert (report.preemptions, report.swaps) == (stats.preemptions, stats.swaps)
        assert report.recomputed == stats.recomputed_tokens and (stats.preemptions > 0) == (blocks == 40)


def test_couriers_own_trace_takes_as_many_steps_in_both_when_answers_end_by_themselves():
    model, _ = courier()
    requests, draw = list(courier_trace())[:24], random.Random(1)
    serving = Engine(model, 34, 16, token_budget=128, max_running=10)
    asked = [serving.submit([draw.randrange(1000) for _ in range(min(r.prompt, 400))], 30) for r in requests]
    serving.run()
    trace = make_trace("courier", [len(g.prompt) for g in asked], [len(g.tokens) for g in asked])
    report = simulate(trace, capacity=34 * 16, token_budget=128, max_running=10)
    assert report.steps == serving.steps and report.preemptions == serving.stats().preemptions


def test_a_calibrated_model_is_the_line_through_what_was_timed():
    seconds = StepCost(fixed=2 * 10**9, weights=0, context=0, token=3 * 10**7, pair=4 * 10**4)
    sizes = [(1, 100), (8, 900), (32, 6000), (256, 30_000), (64, 64)]
    timed = [Timed(tokens, pairs, seconds.step(tokens, 0, pairs) / PICOSECONDS) for tokens, pairs in sizes]
    found = fit(timed)
    assert found.fixed == pytest.approx(seconds.fixed, rel=1e-6) and found.token == pytest.approx(
        seconds.token, rel=1e-6
    )
    assert found.pair == pytest.approx(seconds.pair, rel=1e-6) and found.weights == found.context == 0
    falling = fit([Timed(1, 1, 3.0), Timed(5, 1, 2.0), Timed(9, 9, 1.0), Timed(9, 1, 1.1)])
    assert min(falling) >= 0


def test_this_machine_is_calibrated_in_a_few_steps_of_courier():
    model, _ = courier()
    cost = calibrate(model, running=(1, 4), longest=24, rounds=1)
    assert min(cost) >= 0 and cost.step(4, 200, 200) > 0
    with pytest.raises(UsageError, match="two loads"):
        calibrate(model, running=(4, 4))


def test_a_soak_in_a_pool_far_too_small_loses_no_block_and_no_token_and_its_memory_stays_flat():
    """A short one; `python -m tests.serve.soak` runs 10,000 requests."""
    seen = soak(90, seed=1, checked=True)
    assert seen.preemptions > 10 and seen.swaps > 0 and seen.found > 0
    assert seen.grown_bytes < 64 * 2**20
