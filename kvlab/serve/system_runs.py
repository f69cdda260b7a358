"""Runs of one trace through the policies of other systems, with the same clock, memory and scheduler underneath."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kvlab.memory import LLAMA_3_8B, PrefixCache, RadixCache, Request, Trace, Waste, multi_turn
from kvlab.memory.addresses import address_ranges
from kvlab.memory.chunks import CHUNK, ChunkTier
from kvlab.memory.retention import RetentionPool

from .costmodel import StepCost, step_cost
from .limits import never_fits
from .ordering import LongestPrefixFirst
from .policies import USUAL, Policies
from .scheduler import Scheduler
from .simulate import Simulation
from .system_stores import ChunkedStore, PromiseStore, SharingStore, UpfrontStore, fewest_written, pages
from .system_texts import Texts

VATTENTION_PAGE = 2 * 2**20 // max(address_ranges(LLAMA_3_8B))
"""1,024 tokens: what a page of 2 MB holds of one layer's keys of Llama-3-8B, 8 heads x 128 numbers x 2 bytes each."""
HUGGING_FACE_PAGE = 256


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

    def schedule(self) -> Any:
        """As the scheduler's; loads from a host come before the step, like blocks that are swapped in."""
        plan = super().schedule()
        plan.swap_in += self.store.take_loads()
        return plan

    def commit(self, plan: Any) -> None:
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


def run_vllm(trace: Trace, machine: Machine) -> Outcome:
    """Blocks of 16, a chain of hashes, LRU; the most recent leaves and is computed again."""
    manager = pages(machine.capacity, 16)
    index = PrefixCache(manager.pool, 16)  # type: ignore[arg-type]  # a BlockPool
    return serve(trace, SharingStore(manager, Texts(trace), index, adopt=False), machine)


def run_sglang(trace: Trace, machine: Machine) -> Outcome:
    """Pages of one token in a radix tree; who finds most goes next; who has generated least leaves."""
    manager = pages(machine.capacity, 1)
    index = RadixCache(manager.pool, 1)  # type: ignore[arg-type]
    store = SharingStore(manager, Texts(trace), index, publish="prefilled")
    return serve(trace, store, machine, Policies(victim=fewest_written(store), pick=LongestPrefixFirst()))


def run_tensorrt(trace: Trace, machine: Machine) -> Outcome:
    """Blocks of 32 in a radix tree, partial reuse, priorities (the first segment highest); nobody is ever paused."""
    manager = pages(machine.capacity, 32, RetentionPool)
    index = RadixCache(manager.pool, 32)  # type: ignore[arg-type]
    manager.pool.only_if(index.is_leaf)  # type: ignore[attr-defined]  # a RetentionPool

    def first_segment(job: Any) -> int:
        segments = trace.requests[job.id].segments
        return segments[0][1] if segments else 0

    store = PromiseStore(manager, Texts(trace), index, most=machine.most, retain=first_segment)
    return serve(trace, store, machine)


def run_tgi(trace: Trace, machine: Machine) -> Outcome:
    """Slots one by one for the prompt and all new tokens asked for, at admission; prompts are found after their end."""
    manager = pages(machine.capacity, 1)
    index = RadixCache(manager.pool, 1)  # type: ignore[arg-type]
    store = UpfrontStore(manager, Texts(trace), index, publish="ended", answers=False, most=machine.most)
    return serve(trace, store, machine)


def run_lmcache(trace: Trace, machine: Machine) -> Outcome:
    """vLLM's policy, and below it chunks of 256 tokens on the host, if it has room for one."""
    if machine.host < CHUNK:
        return run_vllm(trace, machine)
    manager = pages(machine.capacity, 16)
    index = PrefixCache(manager.pool, 16)  # type: ignore[arg-type]
    tier = ChunkTier(machine.host // CHUNK)
    return serve(trace, ChunkedStore(manager, Texts(trace), index, adopt=False, tier=tier), machine)


def run_vattention(trace: Trace, machine: Machine) -> Outcome:
    """Pages of 2 MB: a request's memory grows by 1,024 tokens at once, and nothing is shared."""
    manager = pages(machine.capacity, VATTENTION_PAGE)
    return serve(trace, SharingStore(manager, Texts(trace)), machine)


def chat_trace(chats: int = 48, turns: int = 4, seed: int = 0) -> Trace:
    """The trace that the systems are compared on: chats under one system prompt, which come back after a pause."""
    return multi_turn(chats, turns, seed, system=500, question=60, answer=150, rate=40.0, pause=3.0)


def lengths_with_texts(trace: Trace) -> Trace:
    """The same trace, each request without segments with a text of its own, so that every system can run it."""
    rows = (
        request
        if request.segments
        else Request(request.prompt, request.answer, request.arrival, ((2**30 + number, request.prompt),), request.says)
        for number, request in enumerate(trace)
    )
    return Trace(trace.name, tuple(rows))
