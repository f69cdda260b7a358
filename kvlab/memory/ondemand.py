"""Replays of memory that grows as tokens come: requests are admitted, gain a token a step, and may be preempted."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple, Protocol

from kvlab.errors import OutOfBlocks, OutOfPages, UsageError

from .waste import Waste
from .workload import Request, Trace


class Replay(NamedTuple):
    """What a replay saw, averaged over its decode steps."""

    waste: Waste
    """Shares of the memory, which add up to 1."""
    running: float
    """Requests that decode together."""
    refused_though_free: float
    """Share of the steps in which the head of the queue was refused although enough slots were free in total."""
    preemptions: int
    """How often a request lost its blocks to an older one and had to begin again."""
    steps: int
    """Decode steps; 0, like the averages, if nobody ever had to wait."""


class Growing(Protocol):
    """Memory that is given as it is needed; `OutOfBlocks` or `OutOfPages` when there is none, and nothing changes."""

    def admit(self, seq_id: Hashable, num_tokens: int) -> Any:
        """Memory for a new sequence of so many tokens."""

    def append(self, seq_id: Hashable) -> Any:
        """Memory for one token more."""

    def free(self, seq_id: Hashable) -> Any:
        """Give up all that the sequence has."""

    def waste(self) -> Waste:
        """Where the token slots are."""


def replay_on_demand(trace: Trace, capacity: float, memory: Growing, whole: str) -> Replay:
    """Serve `trace` from a full queue on `memory`, of `capacity` token slots or `whole`; see `replay` for the rules."""
    run, seats, total, steps = OnDemand(trace, memory, whole), 0, Waste(), 0
    for _ in run.steps():
        steps, seats, total = steps + 1, seats + len(run.running), total + memory.waste()
    lost = Waste(internal=steps * (capacity - memory.waste().capacity))  # no whole block fits there
    shares = (total + lost).scaled(1 / max(steps, 1) / capacity)
    return Replay(shares, seats / max(steps, 1), 0.0, run.preemptions, steps)


class OnDemand:
    """Requests of `trace` on `memory`: who runs, who waits, and how often somebody had to give way.

    whole: all there is, as an error says it ("8 blocks").
    """

    def __init__(self, trace: Trace, memory: Growing, whole: str) -> None:
        self.memory, self.whole = memory, whole
        self.queue = deque((number, request, 0) for number, request in enumerate(trace))  # (id, request, generated)
        self.running: dict[int, tuple[Request, int]] = {}  # id -> (request, generated), the oldest first
        self.preemptions = 0

    def steps(self, to_the_end: bool = False) -> Iterator[None]:
        """One decode step after another, each yielded before its tokens come, until nobody waits any more.

        to_the_end: until nobody runs any more either.
        """
        while self._admit() or (to_the_end and self.running):
            yield
            for number in list(self.running):
                self._decode(number)

    def _admit(self) -> bool:
        """Admit from the head of the queue as long as it fits; False if the queue is empty then."""
        while self.queue:
            number, request, generated = self.queue[0]
            try:
                self.memory.admit(number, request.prompt + generated)
            except (OutOfBlocks, OutOfPages) as error:
                if not self.running:
                    pieces = "blocks" if isinstance(error, OutOfBlocks) else "pages"
                    raise UsageError(f"a request of {error.needed} {pieces} never fits in {error.free}") from None
                return True
            self.queue.popleft()
            self.running[number] = request, generated
        return False

    def _decode(self, number: int) -> None:
        """One token more for `number`, unless it is preempted before its turn comes."""
        while number in self.running:
            try:
                self.memory.append(number)
            except (OutOfBlocks, OutOfPages):
                if len(self.running) == 1:  # to preempt itself would only bring it back here, for ever
                    raise UsageError(f"a request outgrew all {self.whole}") from None
                self._preempt_newest()
                continue
            request, generated = self.running[number]
            if generated + 1 < request.answer:
                self.running[number] = request, generated + 1
            else:
                del self.running[number]
                self.memory.free(number)
            return

    def _preempt_newest(self) -> None:
        number, (request, generated) = self.running.popitem()
        self.memory.free(number)
        self.queue.appendleft((number, request, generated))
        self.preemptions += 1
