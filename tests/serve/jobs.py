"""Jobs of integers, and a loop that runs them as an engine would, with every promise of the scheduler checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kvlab.memory import BlockManager, slot_mapping
from kvlab.serve.plan import Plan
from kvlab.serve.policies import Policies
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.stores import PagedStore


@dataclass(eq=False)
class Ask:
    """A request whose k-th token is `token(tokens so far)`, so that one token lost or doubled changes all that follow."""

    id: Any
    prompt: list[int]
    answer: int
    arrival: int = 0
    priority: int = 0
    computed: int = 0
    state: str = ""
    tokens: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.tokens)

    @property
    def ids(self) -> list[int]:
        return self.prompt + self.tokens


def token(ids: list[int]) -> int:
    """What a model of integers says after `ids`: it depends on each of them and on its place."""
    return sum((place + 1) * (value + 1) for place, value in enumerate(ids)) % 9973


def alone(ask: Ask) -> list[int]:
    """The answer to a request that is served by itself."""
    ids = list(ask.prompt)
    for _ in range(ask.answer):
        ids.append(token(ids))
    return ids[len(ask.prompt) :]


class Served:
    """Runs a scheduler on memories of integers: every slot of the pools, and of the host, holds (token, position)."""

    def __init__(self, num_blocks: int, block_size: int = 4, host: int = 0, **options: Any) -> None:
        self.manager = BlockManager(num_blocks, block_size)
        self.store = PagedStore(self.manager, host)
        self.scheduler = Scheduler(self.store, **options)
        self.pool: list[Any] = [None] * (num_blocks * block_size)
        self.host: list[Any] = [None] * (host * block_size)
        self.finished: list[Ask] = []
        self.steps = 0
        self._arrivals = 0

    def submit(self, prompt: list[int] | int, answer: int, priority: int = 0) -> Ask:
        number = self._arrivals
        self._arrivals += 1
        ids = [number * 100 + i for i in range(prompt)] if isinstance(prompt, int) else prompt
        ask = Ask(number, ids, answer, number, priority)
        self.scheduler.submit(ask)
        return ask

    def step(self) -> Plan:
        plan = self.scheduler.schedule()
        self.execute(plan)
        self.scheduler.commit(plan)
        self.steps += 1
        self.check()
        return plan

    def run(self, limit: int = 10_000) -> None:
        while self.scheduler.has_work:
            assert self.step().num_tokens, "a step with work to do ran nothing"
            assert self.steps < limit

    def execute(self, plan: Plan) -> None:
        """Copy, write, then read everything through the tables, as attention would, and sample."""
        self._copy(plan)
        ends = []
        for job, slot in zip(plan.decoding, plan.slots, strict=True):
            assert [slot] == slot_mapping(self.manager.table(job.id), job.length - 1, job.length, self.manager.block_size)
            self.pool[slot] = job.ids[-1], job.length - 1
            ends.append(job)
        for job, start, stop, last in plan.chunks:
            for position, slot in enumerate(self.manager.slots(job.id, start, stop).tolist(), start):
                self.pool[slot] = job.ids[position], position
            assert last == (stop == job.length)
            ends += [job] if last else []
        for job in ends:
            seen = [self.pool[slot] for slot in self.manager.slots(job.id, 0, job.length).tolist()]
            assert [position for _, position in seen] == list(range(job.length))
            job.tokens.append(token([value for value, _ in seen]))
            if len(job.tokens) == job.answer:
                self.scheduler.end(job)
                self.finished.append(job)

    def _copy(self, plan: Plan) -> None:
        for pairs, source, target in (
            (plan.swap_out, self.pool, self.host),
            (plan.swap_in, self.host, self.pool),
            (plan.copies, self.pool, self.pool),
        ):
            size = self.manager.block_size
            read = [source[a * size : (a + 1) * size] for a, _ in pairs]
            for block, (_, b) in zip(read, pairs, strict=True):
                target[b * size : (b + 1) * size] = block
            pairs.clear()

    def check(self) -> None:
        """Walk everything, and that blocks are held for those who run and nobody else."""
        self.store.check()
        scheduler = self.scheduler
        assert set(self.manager) == {job.id for job in scheduler.running}
        swapped = {job.id for job in scheduler.waiting if job.state == "swapped"}
        assert swapped == set(self.store.swapper or ())
        assert scheduler.waiting == sorted(scheduler.waiting, key=scheduler.policies.order)

    @property
    def idle(self) -> bool:
        """Whether nobody is left and nothing is held, here and on the host."""
        host = self.store.swapper is None or self.store.swapper.host.num_free == self.store.swapper.host.num_blocks
        return not self.scheduler.has_work and self.manager.pool.num_free == self.manager.pool.num_blocks and host


__all__ = ["Ask", "Policies", "Served", "alone", "token"]
