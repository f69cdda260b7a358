"""What all systems are run on alike, and measured by: a machine, a scheduler that tells its store, and a ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kvlab.memory import Trace, Waste

from .costmodel import StepCost, step_cost
from .limits import never_fits
from .plan import Plan
from .policies import USUAL, Policies
from .scheduler import Scheduler
from .simulation import Simulation
from .system_stores import SharingStore


@dataclass(frozen=True)
class Machine:
    """What all systems are given alike.

    capacity: token slots on the device. most: new tokens that each request asks for, at least as many as it generates;
    systems that reserve look at it. host: token slots on the host, for those who use one. max_running, token_budget:
    requests at once, and tokens in a step. cost: of a step, by default the course's 8B model on an A100 80 GB.
    """

    capacity: int = 12_288
    most: int = 512
    host: int = 65_536
    max_running: int = 256
    token_budget: int = 2048
    cost: StepCost = field(default_factory=step_cost)


@dataclass(frozen=True)
class Outcome:
    """What one system made of a trace, in numbers that compare.

    running: requests in flight, averaged over steps. recomputed: tokens whose blocks were dropped. asked, found: prompt
    tokens, and those of them that were there already, wherever. loaded: of these, from the host; copied: out of blocks
    that fit in part. waste: shares of the device's slots over time, a block that is shared counted once; `later` is
    room for tokens that will come, `internal` room for none.
    """

    requests: int
    output_tokens: int
    seconds: float
    steps: int
    running: float
    peak: int
    preemptions: int
    recomputed: int
    asked: int
    found: int
    loaded: int
    copied: int
    waste: Waste

    @property
    def tokens_per_second(self) -> float:
        """Output tokens a second."""
        return self.output_tokens / self.seconds if self.seconds else 0.0

    @property
    def hit_rate(self) -> float:
        """Prompt tokens found over prompt tokens asked for."""
        return self.found / self.asked if self.asked else 0.0


class Ledger:
    """Where the slots of a memory are, weighted with the time that they are so."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.busy, self._sums = capacity, 0, [0, 0, 0]
        self.last = (0, 0, 0)

    def see(self, taken: int, tenants: list[tuple[int, int, int]]) -> None:
        """Now so many slots are `taken`, and each tenant has (written, slots in its table, tokens when it ends)."""
        later = sum(max(0, min(final, room) - written) for written, room, final in tenants)
        empty = sum(room - written for written, room, _ in tenants)
        self.last = taken - empty, later, empty - later

    def pass_time(self, picoseconds: int) -> None:
        """What was seen last held for so long."""
        self.busy += picoseconds
        for kind, slots in enumerate(self.last):
            self._sums[kind] += slots * picoseconds

    def waste(self) -> Waste:
        """Shares of the capacity, averaged over time."""
        held, later, internal = (total / max(self.busy, 1) / self.capacity for total in self._sums)
        return Waste(held=held, later=later, internal=internal, free=1 - held - later - internal)


class SystemScheduler(Scheduler):
    """The course's scheduler, which tells its store what was written, and the step what must be loaded."""

    store: Any

    def __init__(self, store: SharingStore, ledger: Ledger, **options: Any) -> None:
        super().__init__(store, **options)
        self.ledger = ledger

    def schedule(self) -> Plan:
        """As the scheduler's; loads from a host come before the step, like blocks that are swapped in."""
        plan = super().schedule()
        plan.swap_in += self.store.take_loads()
        return plan

    def commit(self, plan: Plan) -> None:
        """As the scheduler's; what has been written can be found from now on."""
        super().commit(plan)
        self.store.written(plan)
        store = self.store
        tenants = [(self._written(job), store.slots(job.id), job.prompt + job.answer - 1) for job in self.running]
        self.ledger.see((store.num_blocks - store.num_free) * store.block_size, tenants)

    def end(self, job: Any) -> None:
        """As the scheduler's; what the job leaves behind can be found."""
        if job.state == "running":
            self.store.leaving(job)
        super().end(job)

    def _written(self, job: Any) -> int:
        return self.store.num_tokens(job.id) if job.id in self.decoding else job.computed


class SystemSimulation(Simulation):
    """A simulation step by step that keeps a `Ledger`, in which a shared block counts once."""

    scheduler: SystemScheduler

    def _step(self) -> None:
        began = self.now
        super()._step()
        self.scheduler.ledger.pass_time(self.now - began)


def serve(trace: Trace, store: SharingStore, machine: Machine, policies: Policies = USUAL) -> Outcome:
    """Serve `trace` on `store`, which is new. A request that can never fit: `NeverFits` before anything runs."""
    for request in trace:
        never_fits(store.most_needed(request.prompt, request.answer), store.block_size, store.num_blocks)
    ledger = Ledger(store.num_blocks * store.block_size)
    scheduler = SystemScheduler(
        store,
        ledger,
        max_running=machine.max_running,
        token_budget=machine.token_budget,
        watermark=0.0,
        policies=policies,
    )
    report = SystemSimulation(trace, scheduler, machine.cost, jump=False).run()
    store.check()
    return Outcome(
        requests=report.requests,
        output_tokens=report.output_tokens,
        seconds=report.seconds,
        steps=report.steps,
        running=report.running,
        peak=report.peak,
        preemptions=report.preemptions,
        recomputed=report.recomputed,
        asked=store.hits.asked,
        found=store.hits.found,
        loaded=store.loaded,
        copied=store.copied,
        waste=ledger.waste(),
    )
