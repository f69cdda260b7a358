"""Microseconds of planning for each output token: the scheduler on the block manager, with nobody computing anything.

    python -m tests.benchmarks.bench_scheduler [--requests 512] [--rounds 5] [--json PATH]

The load of the course's performance page: requests with prompts U[200, 1500] and answers 1 + Exp(299) <= 2,048, all
there at once, a budget of 2,048 tokens a step, blocks of 16. A step is planned, and each of its jobs told that it has
one token more; whoever has all leaves. "plenty" has a block for everybody; "pressed" has a quarter of what those who
run would like to have, so that somebody must leave again and again. Beside it stands a loop that keeps the same counts
with plain lists and nothing else: no policy, no memory that says no, no chunks.
"""

from __future__ import annotations

from collections import deque
from statistics import median
from time import process_time

import numpy as np

from kvlab.memory import BlockManager
from kvlab.serve.policies import Policies, always_swap
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.stores import PagedStore
from tests.benchmarks import command

BLOCK_SIZE, BUDGET = 16, 2048


class Asked:
    """A job whose tokens are only counted."""

    __slots__ = ("answer", "arrival", "computed", "generated", "id", "priority", "prompt", "state")
    seats, group = 1, None

    def __init__(self, number: int, prompt: int, answer: int) -> None:
        self.id = self.arrival = number
        self.prompt, self.answer, self.priority = prompt, answer, 0
        self.computed = self.generated = 0
        self.state = ""

    @property
    def length(self) -> int:
        return self.prompt + self.generated


def lengths(requests: int, seed: int = 0) -> list[tuple[int, int]]:
    """Prompt and answer of each request."""
    r = np.random.default_rng(seed)
    prompts, answers = r.integers(200, 1501, requests), np.minimum(1 + r.exponential(299, requests).astype(int), 2048)
    return list(zip(prompts.tolist(), answers.tolist(), strict=True))


def plan_all(load: list[tuple[int, int]], running: int, num_blocks: int, swap: bool = False) -> tuple[float, Scheduler]:
    """CPU seconds for the whole load, and the scheduler afterwards."""
    policies = Policies(swap=always_swap) if swap else Policies()
    store = PagedStore(BlockManager(num_blocks, BLOCK_SIZE), num_blocks if swap else 0)
    scheduler = Scheduler(store, max_running=running, token_budget=BUDGET, policies=policies)
    jobs = [Asked(number, *pair) for number, pair in enumerate(load)]
    began = process_time()
    for job in jobs:
        scheduler.submit(job)
    while scheduler.has_work:
        plan = scheduler.schedule()
        scheduler.commit(plan)
        for job in plan.decoding:
            job.generated += 1
            if job.generated == job.answer:
                scheduler.end(job)
        for job, _, _, last in plan.chunks:
            if last:
                job.generated += 1
                if job.generated == job.answer:
                    scheduler.end(job)
    seconds = process_time() - began
    store.check()
    if store.num_free != num_blocks or any(job.generated != job.answer for job in jobs):
        raise RuntimeError("the load was not served as asked")
    return seconds, scheduler


def plain_loop(load: list[tuple[int, int]], running: int) -> float:
    """CPU seconds of lists and counts alone."""
    began = process_time()
    free, waiting, live = list(range(10**6)), deque(load), []
    while waiting or live:
        while waiting and len(live) < running:
            prompt, answer = waiting.popleft()
            live.append([prompt, answer, [free.pop() for _ in range(-(-prompt // BLOCK_SIZE))]])
        slots = []
        for row in live:
            if not row[0] % BLOCK_SIZE:
                row[2].append(free.pop())
            slots.append(row[2][-1] * BLOCK_SIZE + row[0] % BLOCK_SIZE)
            row[0] += 1
            row[1] -= 1
        for row in [row for row in live if not row[1]]:
            free += row[2]
            live.remove(row)
    return process_time() - began


def measure(requests: int, rounds: int) -> dict[str, float]:
    """Medians of microseconds an output token, the loads taking turns."""
    load = lengths(requests)
    tokens = sum(answer for _, answer in load)
    seen: dict[str, list[float]] = {}
    for _ in range(rounds):
        for running in (64, 256):
            quarter = running * 1200 // BLOCK_SIZE // 4
            found = {
                f"plenty, {running} running": plan_all(load, running, 32_768)[0],
                f"pressed, {running} running": plan_all(load, running, quarter)[0],
                f"pressed, swapping, {running} running": plan_all(load, running, quarter, swap=True)[0],
                f"plain loop, {running} running": plain_loop(load, running),
            }
            for name, seconds in found.items():
                seen.setdefault(name, []).append(seconds / tokens * 1e6)
    return {name: median(values) for name, values in seen.items()}


def planning_share(running: int = 64, answer: int = 80) -> float:
    """The share of an engine step on courier that is spent before the model runs, with so many requests running."""
    import torch

    from kvlab.models import load_courier
    from kvlab.serve.engine import Engine

    threads, r = torch.get_num_threads(), np.random.default_rng(0)
    torch.set_num_threads(1)
    try:
        engine = Engine(load_courier()[0], 2000, BLOCK_SIZE, max_running=running)
        for _ in range(running):
            engine.submit(r.integers(0, 1000, r.integers(50, 200)).tolist(), answer, eos=())
        engine.run()
    finally:
        torch.set_num_threads(threads)
    return engine.planning_seconds / engine.step_seconds


def main(arguments: list[str] | None = None) -> None:
    options = command.parser(__doc__, requests=512, rounds=5).parse_args(arguments)
    figures = measure(options.requests, options.rounds)
    print(f"{'us an output token (at most 2.5 wanted)':44}")
    for name, value in figures.items():
        print(f"  {name:42}{value:8.2f}")
    figures["share of a step"] = planning_share(answer=20 if options.rounds == 1 else 80)
    print(f"planning is {figures['share of a step']:.1%} of a step on courier, 64 running (at most 5% wanted)")
    command.keep(figures, options.json)


if __name__ == "__main__":
    main()
