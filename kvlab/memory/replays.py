"""Replays over time: what a memory holds while requests come, grow and go, under each policy and allocator."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from kvlab.errors import OutOfMemory, UsageError

from .buddy import BuddyArena
from .contiguous import Arena
from .manager import BlockManager
from .ondemand import Replay, replay_on_demand
from .policies import reserve
from .protocols import Allocator
from .published import block_size_of
from .waste import Waste
from .workload import Request, Trace


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
        manager = BlockManager(capacity // block_size, block_size)
        return replay_on_demand(trace, capacity, manager, f"{manager.pool.num_blocks} blocks")
    queue: deque[tuple[Request, int]] = deque()
    for request in trace:
        queue.append((request, reserve(policy, request.prompt, request.answer, context, max_answer)))
        if queue[-1][1] < request.total:
            raise UsageError(f"{policy!r} reserves {queue[-1][1]} slots for a request that needs {request.total}")
    return _reserved(queue, _arena(allocator, capacity))


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
