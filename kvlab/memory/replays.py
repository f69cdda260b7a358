"""Replays over time: what a memory holds while requests come, grow and go, under each policy and allocator."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

from kvlab.errors import OutOfBlocks, OutOfMemory, UsageError

from .buddy import BuddyArena
from .contiguous import Arena
from .manager import BlockManager
from .policies import reserve
from .protocols import Allocator
from .published import block_size_of
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


def replay(
    trace: Trace,
    policy: str,
    capacity: int = 15_700,
    context: int = 2048,
    max_answer: int = 2048,
    allocator: str | Allocator = "first",
) -> Replay:
    """Serve `trace` from a full queue, first come first served: every running request gains one token a step.

    - `policy` is one of `POLICIES`, reserved from `allocator` ("first", "best", "buddy", or an empty arena of one's
      own), or "N-token blocks", where a request without a free block preempts the newest one, which goes back to
      the queue's head.
    - `capacity` is in slots. The defaults are those of Kwon et al. 2023, section 6.1: OPT-13B on a 40 GB A100.

    Arrival times are not looked at. The replay ends when the queue is empty, so every step it averages over had a
    request waiting. A request that can never fit raises `UsageError`.
    """
    block_size = block_size_of(policy)
    if block_size is not None:
        return _Paged(trace, capacity, block_size).run()
    arena = _arena(allocator, capacity)
    return _reserved(
        deque((request, reserve(policy, request.prompt, request.answer, context, max_answer)) for request in trace),
        arena,
    )


def _arena(allocator: str | Allocator, capacity: int) -> Allocator:
    if not isinstance(allocator, str):
        return allocator
    made: dict[str, Callable[[int], Allocator]] = {
        "first": Arena,
        "best": lambda slots: Arena(slots, "best"),
        "buddy": BuddyArena,
    }
    if allocator not in made:
        raise UsageError(f"no allocator {allocator!r}; there are {', '.join(map(repr, made))}")
    return made[allocator](capacity)


def _reserved(queue: deque[tuple[Request, int]], arena: Allocator) -> Replay:
    """Reserved memory changes only when a request begins or ends, so the steps between two ends are counted at once."""
    running: list[tuple[int, int, Request]] = []  # a heap of (step of the end, first slot, request)
    now, seats, refused, total = 0, 0, 0, Waste()
    while queue:
        request, size = queue[0]
        try:
            heappush(running, (now + max(1, request.answer), arena.allocate(size), request))
            queue.popleft()
            continue
        except OutOfMemory as error:
            needed = error.needed
        if not running:
            raise UsageError(f"a request of {needed} slots never fits in an arena of {arena.capacity}")
        steps, free = running[0][0] - now, sum(size for _, size in arena.holes)
        total += _picture(running, now, steps, arena.capacity, free)
        seats += steps * len(running)
        refused += steps * (free >= needed)
        now += steps
        while running and running[0][0] == now:
            arena.free(heappop(running)[1])
    steps = max(now, 1)
    return Replay(total.scaled(1 / steps / arena.capacity), seats / steps, refused / steps, 0, now)


def _picture(running: list[tuple[int, int, Request]], now: int, steps: int, capacity: int, free: int) -> Waste:
    """Slots summed over the next `steps` steps, in which nobody begins or ends and the head of the queue is refused."""
    held = later = 0
    for end, _, request in running:
        left = steps * (end - now) - steps * (steps - 1) // 2  # its tokens to come: one less in every step
        later += left
        held += steps * request.total - left
    return Waste(held, later, steps * (capacity - free) - held - later, external=steps * free)


class _Paged:
    """A replay with a block manager, one step at a time since a step may preempt."""

    def __init__(self, trace: Trace, capacity: int, block_size: int) -> None:
        self.capacity, self.manager = capacity, BlockManager(capacity // block_size, block_size)
        self.queue = deque((number, request, 0) for number, request in enumerate(trace))  # (id, request, generated)
        self.running: dict[int, tuple[Request, int]] = {}  # id -> (request, generated), the oldest first
        self.preemptions = 0

    def run(self) -> Replay:
        steps, seats, total = 0, 0, Waste()
        while self._admit():
            steps, seats, total = steps + 1, seats + len(self.running), total + self.manager.waste()
            for number in list(self.running):
                self._decode(number)
        lost = Waste(internal=steps * (self.capacity - self.manager.waste().capacity))  # no whole block fits there
        shares = (total + lost).scaled(1 / max(steps, 1) / self.capacity)
        return Replay(shares, seats / max(steps, 1), 0.0, self.preemptions, steps)

    def _admit(self) -> bool:
        """Admit from the head of the queue as long as it fits; False if the queue is empty then."""
        while self.queue:
            number, request, generated = self.queue[0]
            try:
                self.manager.admit(number, request.prompt + generated)
            except OutOfBlocks as error:
                if not self.running:
                    raise UsageError(f"a request of {error.needed} blocks never fits in {error.free}") from None
                return True
            self.queue.popleft()
            self.running[number] = request, generated
        return False

    def _decode(self, number: int) -> None:
        """One token more for `number`, unless it is preempted before its turn comes."""
        while number in self.running:
            try:
                self.manager.append(number)
            except OutOfBlocks:
                if len(self.running) == 1:  # to preempt itself would only bring it back here, for ever
                    raise UsageError(f"a request outgrew all {self.manager.pool.num_blocks} blocks on its own") from None
                self._preempt_newest()
                continue
            request, generated = self.running[number]
            if generated + 1 < request.answer:
                self.running[number] = request, generated + 1
            else:
                del self.running[number]
                self.manager.free(number)
            return

    def _preempt_newest(self) -> None:
        number, (request, generated) = self.running.popitem()
        self.manager.free(number)
        self.queue.appendleft((number, request, generated))
        self.preemptions += 1
