"""Replays over time: the paper's bars come out, and the counting agrees with a replay that does it slot by slot."""

from __future__ import annotations

from collections import deque
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import OutOfMemory, UsageError
from kvlab.memory import (
    POLICIES,
    Arena,
    BuddyArena,
    FirstFitArena,
    Replay,
    Trace,
    Waste,
    alpaca_like,
    lesson_trace,
    make_trace,
    replay,
    reserve,
    sharegpt_like,
)


@cache
def shares(policy: str, allocator: str = "first", seed: int = 0) -> Replay:
    """A replay of ShareGPT-like requests in the paper's memory, its waste in percent."""
    requests = 700 if policy.endswith("blocks") else 4000
    seen = replay(sharegpt_like(requests, seed), policy, allocator=allocator)
    assert seen.waste.capacity == pytest.approx(1)
    return seen._replace(waste=seen.waste.scaled(100))


# Our page's table, from a prototype: tokens, reserved, internal, external or free, running; the paper's figures beside it.
# The prototype's answers were spread a little wider than ours, so more was reserved for later and less rounded up.
BARS = [
    ("full", "first", (19.1, 15.7, 56.2, 9.0), 7.0),  # the paper: 20.4 % tokens, 7.00 running
    ("full", "buddy", (19.1, 15.7, 56.2, 9.0), 7.0),
    ("power of two", "buddy", (32.4, 23.8, 36.2, 7.6), 10.3),  # the paper: 26.8 %, 9.81
    ("oracle", "buddy", (38.5, 29.8, 19.5, 12.2), 12.3),  # the paper: 38.2 %, 13.62
    ("power of two", "first", (39.5, 30.7, 16.0, 13.8), 12.6),
    ("oracle", "first", (49.2, 35.6, 0.0, 15.2), 15.9),
    ("16-token blocks", "first", (97.2, 0.0, 1.6, 1.2), 33.7),  # the paper: 96.3 %, 30.42
]


@pytest.mark.parametrize(("policy", "allocator", "bars", "running"), BARS)
def test_the_bars_of_our_page_come_out(policy: str, allocator: str, bars: tuple, running: float) -> None:
    seen = shares(policy, allocator)
    waste = seen.waste
    assert waste.held == pytest.approx(bars[0], abs=3)
    assert waste.later == pytest.approx(bars[1], abs=5)
    assert waste.internal == pytest.approx(bars[2], abs=6)
    assert waste.external + waste.free == pytest.approx(bars[3], abs=3)
    assert seen.running == pytest.approx(running, rel=0.1)


@pytest.mark.parametrize("seed", range(2))
def test_the_papers_20_to_38_percent_against_96_come_out(seed: int) -> None:
    held = [
        shares("full", "buddy", seed).waste.held,
        shares("power of two", "buddy", seed).waste.held,
        shares("oracle", "buddy", seed).waste.held,
        shares("16-token blocks", seed=seed).waste.held,
    ]
    assert held == pytest.approx([20.4, 26.8, 38.2, 96.3], abs=4.5)
    assert shares("full", "buddy", seed).running == pytest.approx(7.0, abs=0.01)


def test_alpaca_like_lengths_give_the_same_order() -> None:
    trace = alpaca_like(4000, 0)
    held = [100 * replay(trace, policy, allocator="buddy").waste.held for policy in ("full", "power of two", "oracle")]
    assert held == pytest.approx([4.4, 18, 34], abs=3)
    assert 100 * replay(trace, "16-token blocks").waste.held == pytest.approx(91.3, abs=2)


@pytest.mark.parametrize("policy", ["power of two", "oracle"])
def test_under_first_fit_the_head_is_refused_although_enough_is_free(policy: str) -> None:
    assert 0.85 < shares(policy, "first").refused_though_free < 1
    assert shares(policy, "first").waste.external > 12
    assert shares("full", "first").refused_though_free == 0  # equal chunks leave no holes that are too small


def test_best_fit_does_not_mend_it() -> None:
    best, first = shares("oracle", "best"), shares("oracle", "first")
    assert best.refused_though_free > 0.8
    assert abs(best.waste.held - first.waste.held) < 3


def test_paging_runs_twice_what_even_an_oracle_can_reserve() -> None:
    assert shares("16-token blocks").running > 1.8 * shares("oracle", "first").running
    assert shares("16-token blocks").running > 4 * shares("full").running


def slot_by_slot(trace: Trace, policy: str, arena: Arena | BuddyArena) -> tuple[Waste, float, float, int]:
    """The same replay, one step at a time, the waste asked of the arena itself."""
    queue, running = deque(trace), {}  # running: first slot -> [request, generated]
    total, seats, refused, steps = Waste(), 0, 0, 0
    while queue:
        request = queue[0]
        size = reserve(policy, request.prompt, request.answer, 64, 32)
        try:
            running[arena.allocate(size)] = [queue.popleft(), 0]
            continue
        except OutOfMemory as error:
            queue.appendleft(request)
            needed = error.needed
        tenants = {start: (request.prompt, request.answer, done) for start, (request, done) in running.items()}
        total += arena.waste(tenants, waiting=needed)
        seats, refused, steps = seats + len(running), refused + (arena.num_free >= needed), steps + 1
        for start, entry in list(running.items()):
            entry[1] += 1
            if entry[1] >= entry[0].answer:
                arena.free(start)
                del running[start]
    return total.scaled(1 / max(steps, 1) / arena.capacity), seats / max(steps, 1), refused / max(steps, 1), steps


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 32), st.integers(1, 32)), max_size=25),
    st.sampled_from(POLICIES),
    st.sampled_from(["first", "best", "buddy"]),
    st.integers(128, 300),
)
def test_counting_many_steps_at_once_is_counting_them_one_by_one(
    pairs: list[tuple[int, int]], policy: str, allocator: str, capacity: int
) -> None:
    trace = make_trace("small", *zip(*pairs, strict=True)) if pairs else Trace("empty", ())
    arena = BuddyArena(capacity) if allocator == "buddy" else Arena(capacity, allocator)  # type: ignore[arg-type]
    waste, running, refused, steps = slot_by_slot(trace, policy, arena)
    seen = replay(trace, policy, capacity, context=64, max_answer=32, allocator=allocator)
    assert vars(seen.waste) == pytest.approx(vars(waste))
    assert seen[1:] == pytest.approx((running, refused, 0, steps))


def test_a_paged_replay_gives_every_request_its_tokens() -> None:
    """Without preemption the steps of all requests together are their answers."""
    trace = make_trace("small", [10] * 40, [8] * 40)
    seen = replay(trace, "4-token blocks", capacity=50)  # 12 blocks: two requests of 3 grow to 5 blocks each
    assert seen.waste.capacity == pytest.approx(1)
    assert seen.preemptions > 0
    tight = replay(trace, "4-token blocks", capacity=20)  # 5 blocks: one at a time, never preempted
    assert (tight.running, tight.preemptions, tight.steps) == (1, 0, 39 * 8)
    assert tight.waste.held == pytest.approx((10 + 3.5) / 20)


def test_an_arena_of_ones_own_can_be_replayed() -> None:
    trace = sharegpt_like(300, 1)
    assert replay(trace, "oracle", allocator=FirstFitArena(15_700)) == replay(trace, "oracle", allocator="first")


def test_nobody_waits_where_all_fit() -> None:
    seen = replay(lesson_trace(), "oracle", capacity=524_288, context=8192)
    assert seen == (Waste(), 0, 0, 0, 0)
    assert replay(lesson_trace(), "full", capacity=524_288, context=8192).running == pytest.approx(64)


@pytest.mark.parametrize(
    ("policy", "match"), [("oracle", "101 slots never fits in .* 100"), ("8-token blocks", "13 blocks")]
)
def test_a_request_that_can_never_fit_is_refused(policy: str, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        replay(make_trace("big", [1, 100], [1, 1]), policy, capacity=100)


def test_one_that_outgrows_the_pool_alone_is_refused_and_does_not_preempt_itself_for_ever() -> None:
    with pytest.raises(UsageError, match="outgrew all 8 blocks"):
        replay(make_trace("long", [10, 60], [200, 1]), "8-token blocks", capacity=64)


def test_unknown_policies_and_allocators_are_refused() -> None:
    with pytest.raises(UsageError, match="no policy 'best'"):
        replay(lesson_trace(), "best")
    with pytest.raises(UsageError, match="no allocator 'worst'; there are 'first', 'best', 'buddy'"):
        replay(lesson_trace(), "oracle", allocator="worst")
