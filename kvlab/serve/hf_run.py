"""A trace through `HuggingFaceBatching`, on the simulator's clock and in the same numbers as the other systems."""

from __future__ import annotations

from kvlab.memory import Trace

from .costmodel import PICOSECONDS
from .hf_batching import HuggingFaceBatching, Sequence, Work
from .limits import never_fits
from .system_machine import Ledger, Machine, Outcome
from .system_texts import Texts

HUGGING_FACE_PAGE = 256  # tokens, transformers' own choice


class HuggingFaceRun:
    """Serves `trace` to the end. The steps are those of `batching`, which is new; each costs what `machine` says."""

    def __init__(self, trace: Trace, batching: HuggingFaceBatching, machine: Machine) -> None:
        self.trace, self.batching, self.cost = trace, batching, machine.cost
        self.page = batching.manager.block_size
        self.ledger = Ledger(batching.pool.num_blocks * self.page)
        self.now = self.steps = self.seats = self.peak = self._next = 0
        for request in trace:
            never_fits(request.prompt + max(1, request.answer) - 1, self.page, batching.pool.num_blocks)

    def run(self) -> Outcome:
        """Serve everybody."""
        while True:
            self._arrive()
            if self.batching.active or self.batching.waiting:
                self._step()
            elif self._next < len(self.trace):
                self.now = self._arrival
            else:
                self.batching.check()
                return self._outcome()

    @property
    def _arrival(self) -> int:
        """When the next request comes."""
        return round(self.trace.requests[self._next].arrival * PICOSECONDS)

    def _arrive(self) -> None:
        requests = self.trace.requests
        while self._next < len(requests) and self._arrival <= self.now:
            request = requests[self._next]
            self.batching.submit(Sequence(self._next, request.prompt, max(1, request.answer)))
            self._next += 1

    def _step(self) -> None:
        batching = self.batching
        batch = batching.next_batch()
        took = self.cost.step(
            sum(work.tokens for work in batch),
            sum(work.start + work.tokens for work in batch),
            sum(map(_pairs, batch)),
        )
        running = len(batching.active)
        self.seats, self.peak, self.steps = self.seats + running, max(self.peak, running), self.steps + 1
        manager = batching.manager
        tenants = [
            (one.past, len(manager.table(one.id)) * self.page, self._final(one)) for one in batching.active.values()
        ]
        self.ledger.see((batching.pool.num_blocks - batching.pool.num_free) * self.page, tenants)
        self.ledger.pass_time(took)
        self.now += took
        batching.ran(batch)

    def _final(self, one: Sequence) -> int:
        request = self.trace.requests[one.id]
        return request.prompt + max(1, request.answer) - 1

    def _outcome(self) -> Outcome:
        batching = self.batching
        return Outcome(
            requests=len(self.trace),
            output_tokens=sum(max(1, request.answer) for request in self.trace),
            seconds=self.now / PICOSECONDS,
            steps=self.steps,
            running=self.seats / max(self.steps, 1),
            peak=self.peak,
            preemptions=batching.preemptions,
            recomputed=batching.recomputed,
            asked=batching.hits.asked,
            found=batching.hits.found,
            loaded=0,
            copied=0,
            waste=self.ledger.waste(),
        )


def _pairs(work: Work) -> int:
    """How many keys the queries of a chunk look at in all; a token that decodes looks at its whole context."""
    start, stop = work.start, work.start + work.tokens
    return work.tokens * (start + stop + 1) // 2


def run_hugging_face(trace: Trace, machine: Machine, kind: str = "fifo") -> Outcome:
    """Pages of 256 tokens and a chain of hashes; all that is cached is dropped at once when few are free.

    kind: "fifo" or "prefill_first".
    """
    batching = HuggingFaceBatching(
        machine.capacity // HUGGING_FACE_PAGE,
        HUGGING_FACE_PAGE,
        Texts(trace),
        kind=kind,
        max_tokens=machine.token_budget,
        max_requests=machine.max_running,
    )
    return HuggingFaceRun(trace, batching, machine).run()
