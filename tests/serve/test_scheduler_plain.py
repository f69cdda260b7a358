"""The scheduler's decisions as plain functions, compared with the scheduler that makes them in the engine."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from kvlab.errors import UsageError
from kvlab.memory import BlockManager, blocks_needed
from kvlab.serve import Policies, Scheduler, admit, choose_victim, schedule_step
from kvlab.serve.policies import by_priority
from kvlab.serve.stores import PagedStore


@dataclass
class Job:
    """A request as the scheduler knows it."""

    id: str
    arrival: int
    length: int
    priority: int = 0
    computed: int = 0
    state: str = ""
    seats: int = 1
    group: None = None


def busy(
    seed: int, budget: int = 24, blocks: int = 40, watermark: float = 0.1, **policies: Any
) -> tuple[Scheduler, random.Random]:
    """A scheduler of blocks of 4 slots with some requests under way, and more that wait."""
    r = random.Random(seed)
    scheduler = Scheduler(PagedStore(BlockManager(blocks, 4), 0), token_budget=budget, watermark=watermark,
                          policies=Policies(**policies))  # fmt: skip
    for number in range(r.randrange(1, 7)):
        scheduler.submit(Job(f"r{number}", number, r.randrange(1, 60), r.randrange(3)))
        if r.random() < 0.6:
            run(scheduler)
    return scheduler, r


def run(scheduler: Scheduler) -> None:
    """A step; who has all its tokens samples one more."""
    plan = scheduler.schedule()
    decoding = list(plan.decoding)
    scheduler.commit(plan)
    for job in [*decoding, *(chunk.job for chunk in plan.chunks if chunk.last)]:
        job.length += 1


@pytest.mark.parametrize("seed", range(60))
def test_a_step_gives_out_the_tokens_that_the_scheduler_gives_out(seed: int) -> None:
    scheduler, _ = busy(seed, blocks=1000, watermark=0)
    jobs = [(job.id, "decoding", 1) for job in scheduler.decoding.values()]
    jobs += [(job.id, "prompt", job.length - job.computed) for job in scheduler.prefilling.values()]
    jobs += [(job.id, "waiting", job.length) for job in scheduler.waiting]
    plan = scheduler.schedule()
    given = {job.id: 1 for job in plan.decoding} | {chunk.job.id: chunk.stop - chunk.start for chunk in plan.chunks}
    assert schedule_step(jobs, 24) == given
    assert sum(given.values()) == plan.num_tokens <= 24


@pytest.mark.parametrize("seed", range(60))
def test_as_many_are_admitted_as_the_scheduler_admits(seed: int) -> None:
    scheduler, r = busy(seed, budget=10_000, blocks=60)
    for number in range(4):
        scheduler.submit(Job(f"late {number}", 100 + number, r.randrange(1, 80)))
    waiting = [(job.length - 1, 1) for job in scheduler.waiting]
    growing = sum(scheduler.store.num_tokens(name) % 4 == 0 for name in scheduler.decoding)
    free, running = scheduler.store.num_free - growing, scheduler.num_running
    before = scheduler.preemptions
    expected = len(scheduler.schedule().admitted)
    if scheduler.preemptions == before:
        assert admit(waiting, free, 6, 4, running) == expected


def test_a_lone_request_may_use_the_spare_blocks_and_nobody_goes_past_the_head() -> None:
    assert admit([(60, 0), (1, 0)], 4, 2, 16, 0) == 1
    assert admit([(60, 0), (1, 0)], 5, 2, 16, 1) == 0
    assert admit([(30, 3)], 2, 0, 16, 1) == 0 and blocks_needed(33, 16) == 3


def test_the_victim_is_whom_the_scheduler_preempts_first() -> None:
    seen = 0
    for seed in range(60):
        scheduler, _ = busy(seed, blocks=16, watermark=0, order=by_priority)
        while scheduler.num_running > 1 and not scheduler.preemptions:
            running = [(job.id, job.priority, job.arrival) for job in scheduler.running]
            plan = scheduler.schedule()
            if plan.preempted:
                assert plan.preempted[0].id == choose_victim(running[::-1], running[0][0])
                seen += 1
            run(scheduler)
    assert seen > 10


def test_nobody_can_leave_for_one_that_is_alone_and_states_that_nobody_knows_are_refused() -> None:
    assert choose_victim([("ana", 0, 1)], "ana") is None
    with pytest.raises(UsageError, match="'swapped'"):
        schedule_step([("ana", "swapped", 1)], 4)
