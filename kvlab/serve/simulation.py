"""A discrete-event simulation: the engine's own scheduler on the engine's own memory, without a model.

A step takes as long as a `StepCost` says; a request's answer is as long as its trace says. Time is counted in whole
picoseconds, so that runs of equal decode steps can be taken at once and come out the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from kvlab.memory import Trace

from .costmodel import StepCost, begun_before
from .observe import Observer
from .plan import Chunk, Plan
from .report import Report
from .scheduler import Scheduler
from .served import Served, refuse_what_never_fits, requests_of


class Simulation:
    """Serves `trace` with `scheduler`, whose store is new, at the cost `cost`. `jump`: take equal decode steps at once.

    An answer of no token counts as one of one token, which every prompt gives. A request that can never fit is refused
    with `NeverFits` before anything runs (I10).
    """

    def __init__(
        self, trace: Trace, scheduler: Scheduler, cost: StepCost, jump: bool = True, priorities: Sequence[int] = ()
    ) -> None:
        self.scheduler, self.cost, self.jump = scheduler, cost, jump
        self.store: Any = scheduler.store
        self.jobs = requests_of(trace, priorities)
        refuse_what_never_fits(self.jobs, self.store)
        self.now = self.steps = self.clock = 0
        self.context = self.filled = 0
        """Tokens in the pools: of those who decode, and of those whose prompt is under way."""
        self._next = 0
        self._ends: list[tuple[int, int]] = []  # (clock, number): who decodes has all its tokens then
        self._seen = Observer(scheduler)

    def run(self) -> Report:
        """Serve everybody."""
        while True:
            self._arrive()
            if self.scheduler.has_work:
                self._step()
            elif self._next < len(self.jobs):
                self.now = self.jobs[self._next].arrived
            else:
                return self._seen.report(self.jobs, self.steps, self.now)

    def _arrive(self) -> None:
        jobs = self.jobs
        while self._next < len(jobs) and jobs[self._next].arrived <= self.now:
            self.scheduler.submit(jobs[self._next])
            self._next += 1
            self._seen.changed = True

    def _step(self) -> None:
        scheduler = self.scheduler
        plan = scheduler.schedule()
        if plan.is_decoding_only:
            self._decode(len(plan.decoding))
        else:
            self._mixed(plan)
        scheduler.commit(plan)
        for chunk in plan.chunks:
            self._ran(chunk)
        self._end_due()

    def _decode(self, running: int) -> None:
        """A step that only decodes, and with `jump` all that will be like it."""
        contexts = self.context + running
        first, steps = self.cost.step(running, contexts, contexts), 1
        slope, needs, store = 0, [], self.store
        if self.jump:
            slope = self.cost.step(running, contexts + running, contexts + running) - first
            needs = store.needs(self._alike(running, contexts, first, slope) - 1)
            steps += len(needs)
        self._seen.decode(self.now, running, contexts, self.filled, first, slope, needs)
        if needs:
            store.repeat(needs)
        self.now += steps * first + slope * (steps * (steps - 1) // 2)
        self.context += steps * running
        self.clock += steps
        self.steps += steps

    def _alike(self, running: int, contexts: int, first: int, slope: int) -> int:
        """How many steps from now on are alike: nobody ends in them, nobody arrives, and the same thing bounds them."""
        steps = min(self._ends[0][0] - self.clock, self.cost.until_bound_changes(running, contexts))
        if self._next < len(self.jobs):
            steps = min(steps, begun_before(self.jobs[self._next].arrived - self.now, first, slope, steps))
        return steps

    def _mixed(self, plan: Plan) -> None:
        """A step in which somebody came, left, or runs a prompt."""
        for job in plan.preempted:
            self._interrupt(job)
        for job in plan.admitted:
            if job.begun < 0:
                job.begun = self.now
        returned = [job for job in plan.admitted if job.id in self.scheduler.decoding]
        for job in returned:
            self._join(job)
        running = len(plan.decoding)
        contexts = pairs = self.context + running
        tokens = running
        for chunk in plan.chunks:
            job, count = chunk.job, chunk.stop - chunk.start
            contexts += chunk.stop
            pairs += count * (chunk.start + chunk.stop + 1) // 2
            tokens += count
            self.filled += chunk.stop - job.filled
            job.filled = chunk.stop
        took = self.cost.step(tokens, contexts, pairs, len(plan.swap_out) + len(plan.swap_in))
        self._seen.mixed(self.now, running - len(returned), self.context + running + self.filled, took)
        self.now += took
        self.context += running
        self.clock += running > 0
        self.steps += 1
        for job in returned:
            self._seen.gap(self.now - job.last)

    def _ran(self, chunk: Chunk) -> None:
        """A chunk's tokens are in the pools; after the last one there is a token more."""
        if not chunk.last:
            return
        job = chunk.job
        if job.first < 0:
            job.first = self.now
        elif job.last >= 0:
            self._seen.gap(self.now - job.last)
        self.filled -= job.filled
        job.filled = 0
        job.generated += 1
        self._join(job)

    def _join(self, job: Served) -> None:
        """Somebody begins to decode, or to do so again."""
        self.context += job.length - 1
        job.due = self.clock + job.answer - job.generated
        heappush(self._ends, (job.due, job.id))

    def _interrupt(self, job: Served) -> None:
        """Somebody was preempted: what it has got is written down, since it no longer follows from the clock."""
        self.filled -= job.filled
        if not job.filled:
            job.generated = job.answer - (job.due - self.clock)
            job.last = self.now
            self.context -= job.length - 1
            self._ends.remove((job.due, job.id))
            heapify(self._ends)
        job.filled = 0

    def _end_due(self) -> None:
        """Whoever has all its tokens leaves."""
        ends, clock = self._ends, self.clock
        while ends and ends[0][0] <= clock:
            job = self.jobs[heappop(ends)[1]]
            job.generated = job.answer
            job.ended = self.now
            self.context -= job.length - 1
            self.scheduler.end(job)
            self._seen.changed = True
