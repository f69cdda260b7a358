"""The scheduler under any load: progress in every step, the budget kept, nobody starves, and every answer right."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed
from kvlab.serve.policies import Policies, always_recompute, always_swap, by_priority, first_come, last_in_order
from tests.serve.jobs import Ask, Served, alone, alone_together


class Wish(NamedTuple):
    """A request to come: when, and after how many steps it is aborted, if at all."""

    at: int
    prompt: int
    answer: int
    priority: int
    width: int
    together: bool
    abort: int | None


wishes = st.lists(
    st.builds(
        Wish,
        at=st.integers(0, 25),
        prompt=st.integers(1, 14),
        answer=st.integers(1, 14),
        priority=st.integers(0, 2),
        width=st.sampled_from([1, 1, 1, 2, 3]),
        together=st.booleans(),
        abort=st.none() | st.integers(0, 25),
    ),
    min_size=1,
    max_size=9,
)
setups = st.fixed_dictionaries(
    {
        "block_size": st.integers(1, 5),
        "extra": st.integers(0, 8),
        "host": st.sampled_from([0, 3, 40]),
        "max_running": st.integers(3, 12),
        "token_budget": st.integers(3, 20),
        "watermark": st.sampled_from([0.0, 0.1, 0.6]),
        "order": st.sampled_from([first_come, by_priority]),
        "victim": st.sampled_from([last_in_order, None]),
        "swap": st.sampled_from([always_recompute, always_swap, lambda tokens, blocks: tokens % 2 == 0]),
    }
)


def most_blocks(wish: Wish, size: int) -> int:
    """What it may need all at once: full blocks of the prompt once, and the rest for each branch."""
    common = wish.prompt // size if wish.width > 1 else 0
    return common + wish.width * (blocks_needed(wish.prompt + wish.answer - 1, size) - common)


def second(running: list[Ask]) -> Ask:
    """Another victim: whoever comes after the first in order and does not belong to it."""
    return next(
        job for job in running if job is not running[0] and job.group is not running[0].group or job is running[-1]
    )


def jobs_of(ask: Ask) -> list[Ask]:
    return [ask] if ask.group is None else [ask.group.stem, *ask.group.jobs]


@settings(deadline=None, max_examples=250)
@given(wishes, setups)
def test_every_step_makes_progress_within_the_budget_and_every_answer_is_that_of_one_alone(wishes, setup):
    size = setup["block_size"]
    policies = Policies(setup["order"], setup["victim"] or second, setup["swap"])
    served = Served(
        max(most_blocks(wish, size) for wish in wishes) + setup["extra"],
        size,
        setup["host"],
        max_running=setup["max_running"],
        token_budget=setup["token_budget"],
        watermark=setup["watermark"],
        policies=policies,
    )
    coming, leaving, asked = defaultdict(list), defaultdict(list), []
    for wish in wishes:
        coming[wish.at].append(wish)
    step = 0
    while coming or served.scheduler.has_work:
        for wish in coming.pop(step, []):
            ask = served.submit(wish.prompt, wish.answer, wish.priority, wish.width, wish.together)
            asked.append((wish, ask))
            if wish.abort is not None:
                leaving[step + wish.abort].append(ask)
        for ask in leaving.pop(step, []):
            for job in jobs_of(ask):
                served.scheduler.end(job)
            served.check()
        before = served.scheduler.running
        if served.scheduler.has_work:
            plan = served.step()
            assert 0 < plan.num_tokens <= setup["token_budget"]
            assert served.scheduler.num_running <= setup["max_running"]
            assert not before or before[0] not in plan.preempted  # I11
            assert not (plan.preempted and plan.admitted)
        step += 1
        assert step < 5000, "somebody starves"
    for wish, ask in asked:
        if wish.abort is None and wish.width == 1:
            assert ask.tokens == alone(ask)
        elif wish.abort is None:
            assert [job.tokens for job in ask.group.jobs] == alone_together(ask, wish.width, wish.together)
    assert served.idle


def test_a_group_is_swapped_as_one_and_shares_its_blocks_again_afterwards():
    served = Served(12, host=12, watermark=0, policies=Policies(swap=always_swap))
    first = served.submit(17, 12)
    ask = served.submit(17, 12, width=2)
    shared = 0
    while served.scheduler.has_work:
        plan = served.scheduler.schedule()
        shared = max(shared, len(plan.swap_out), len(plan.swap_in))
        if plan.swap_out:
            tables = {target for _, target in plan.swap_out}
            assert len(plan.preempted) == 2 and len(tables) == len(plan.swap_out) < 2 * blocks_needed(18, 4)
        served.execute(plan)
        served.scheduler.commit(plan)
        served.sample(plan)
        served.check()
    assert shared and served.idle and first.tokens == alone(first)
    assert [job.tokens for job in ask.group.jobs] == alone_together(ask, 2, False)


def test_blocks_that_are_only_counted_or_reserved_cannot_be_forked():
    from kvlab.serve.counted import CountedStore
    from kvlab.serve.reserved import ReservedStore

    for store in (CountedStore(4, 4), ReservedStore(16, "oracle")):
        with pytest.raises(UsageError, match="request 1 cannot be forked"):
            store.fork(1, [2])
