"""The generated traces: their means, what their prompts share, when they arrive; always the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kvlab.errors import UsageError
from kvlab.memory import (
    Request,
    Trace,
    alpaca_like,
    bursty_arrivals,
    few_shot,
    lesson_trace,
    make_trace,
    multi_turn,
    no_sharing,
    poisson_arrivals,
    shared_prefix,
    sharegpt_like,
    tree_of_thoughts,
)

MAKERS: dict[str, Callable[[int], Trace]] = {
    "sharegpt": lambda seed: sharegpt_like(50, seed),
    "alpaca": lambda seed: alpaca_like(50, seed),
    "shared prefix": lambda seed: shared_prefix(50, seed),
    "few-shot": lambda seed: few_shot(50, seed),
    "multi-turn": lambda seed: multi_turn(10, 4, seed),
    "tree of thoughts": lambda seed: tree_of_thoughts(2, seed),
    "poisson": lambda seed: poisson_arrivals(lesson_trace(), 2.0, seed),
    "bursty": lambda seed: bursty_arrivals(lesson_trace(), 2.0, seed),
    "no sharing": lambda seed: no_sharing(lesson_trace(), seed),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_seed_gives_the_same_trace_again_and_another_seed_another(make: Callable[[int], Trace]) -> None:
    assert make(3) == make(3)
    assert make(3) != make(4)


def means(trace: Trace) -> tuple[float, float]:
    return float(np.mean([r.prompt for r in trace])), float(np.mean([r.answer for r in trace]))


def test_sharegpt_like_lengths_have_the_papers_means() -> None:
    trace = sharegpt_like(30_000, 0)
    assert means(trace) == pytest.approx((161.3, 338.0), rel=0.02)
    assert max(request.total for request in trace) <= 2048
    assert max(request.prompt for request in trace) <= 1024


def test_alpaca_like_lengths_have_the_papers_means() -> None:
    assert means(alpaca_like(50_000, 0)) == pytest.approx((19.3, 58.5), rel=0.03)


def shared_tokens(one: Request, two: Request) -> int:
    """Tokens at the beginning of both prompts that are the same, by their segments."""
    total = 0
    for mine, theirs in zip(one.segments, two.segments, strict=False):
        total += min(mine[1], theirs[1]) if mine[0] == theirs[0] else 0
        if mine != theirs:
            break
    return total


def test_one_system_prompt_is_all_that_those_requests_share() -> None:
    first, *rest = shared_prefix(20, 1, shared=1024, own=(50, 300)).requests
    assert {shared_tokens(first, other) for other in rest} == {1024}
    assert all(50 <= request.prompt - 1024 <= 300 and request.answer == 8 for request in rest)


def test_requests_that_share_nothing_have_texts_of_their_own() -> None:
    trace = no_sharing(lesson_trace(), 1)
    assert len({request.segments[0][0] for request in trace}) == len(trace)
    assert [request.prompt for request in trace] == [request.prompt for request in lesson_trace()]


def test_traces_of_different_seeds_share_no_text() -> None:
    texts = [{seed for request in shared_prefix(50, seed) for seed, _ in request.segments} for seed in range(3)]
    assert not texts[0] & texts[1] and not texts[1] & texts[2]


def test_a_few_shot_prompt_repeats_the_examples_of_its_task() -> None:
    requests = few_shot(8, 1, tasks=4, shots=5, shot=120).requests
    assert shared_tokens(requests[0], requests[4]) == 600
    assert shared_tokens(requests[0], requests[1]) == 0


def test_each_turn_begins_with_all_that_was_said_before() -> None:
    chats: dict[int, list[Request]] = {}
    for request in multi_turn(5, 4, seed=2):
        chats.setdefault(request.segments[1][0], []).append(request)
    assert [len(turns) for turns in chats.values()] == [4] * 5
    for turns in chats.values():
        for before, after in zip(turns, turns[1:], strict=False):
            assert after.segments[: len(before.segments)] == before.segments
            assert after.segments[len(before.segments)][1] == before.answer
            assert after.arrival > before.arrival
    first, second, *_ = chats.values()
    assert shared_tokens(first[0], second[0]) == 100  # the greeting that all chats share


def test_thoughts_share_the_path_that_leads_to_them() -> None:
    trace = tree_of_thoughts(2, 1, branches=3, depth=3, root=400, thought=60)
    assert len(trace) == 2 * (3 + 9 + 27)
    one, two, three = trace.requests[:3]
    assert one.segments == two.segments == three.segments
    assert trace.requests[-1].prompt == 400 + 2 * 60
    assert shared_tokens(trace.requests[-1], trace.requests[-4]) == 400 + 60  # cousins


def test_poisson_arrivals_come_at_their_rate_and_change_nothing_else() -> None:
    trace = make_trace("many", [5] * 20_000, [5] * 20_000)
    timed = poisson_arrivals(trace, rate=4.0, seed=1)
    gaps = np.diff([request.arrival for request in timed])
    assert gaps.mean() == pytest.approx(1 / 4, rel=0.03)
    assert gaps.std() == pytest.approx(1 / 4, rel=0.03)  # as for an exponential
    assert [(r.prompt, r.answer) for r in timed] == [(r.prompt, r.answer) for r in trace]


def test_bursts_have_the_same_rate_but_come_together() -> None:
    timed = bursty_arrivals(make_trace("many", [5] * 20_001, [5] * 20_001), rate=4.0, seed=1, burst=8)
    times = [request.arrival for request in timed]
    assert len(times) == 20_001
    assert times[-1] == pytest.approx(20_000 / 4, rel=0.05)
    assert len(set(times)) == 2501  # 20,001 / 8, rounded up


@pytest.mark.parametrize(
    "call",
    [
        lambda: sharegpt_like(-1, 0),
        lambda: shared_prefix(0, 0),
        lambda: shared_prefix(5, 0, own=(300, 50)),
        lambda: few_shot(5, 0, shots=0),
        lambda: multi_turn(0, 3, 0),
        lambda: multi_turn(3, 3, 0, rate=0),
        lambda: tree_of_thoughts(1, 0, depth=0),
        lambda: poisson_arrivals(lesson_trace(), 0, 1),
        lambda: poisson_arrivals(lesson_trace(), float("nan"), 1),
        lambda: bursty_arrivals(lesson_trace(), 1, 1, burst=0),
    ],
)
def test_a_trace_that_cannot_be_is_refused(call: Callable[[], Trace]) -> None:
    with pytest.raises(UsageError, match="must be|cannot have|below"):
        call()
