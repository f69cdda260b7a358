"""Replays: how much of the memory holds tokens, and how many requests run together, under each policy."""

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
from .table import round_up_to_block
from .waste import Waste
from .workload import Request, Trace


class PublishedRow(NamedTuple):
    """One row of the lesson's table."""

    policy: str
    share_held: float
    """Final lengths over allocated slots."""
    fit: int
    """Requests that fit on average: floor(kv_tokens * requests / allocated slots)."""


def _allocated(policy: str, request: Request) -> int:
    if policy.endswith("-token blocks"):
        return round_up_to_block(request.total, int(policy.split("-")[0]))
    return reserve(policy, request.prompt, request.answer)


def published_table(trace: Trace, kv_tokens: int = 524_288) -> list[PublishedRow]:
    """The lesson's four rows by TRACE.md's counting rule."""
    rows = []
    for policy in ("full", "prompt+max", "16-token blocks", "256-token blocks"):
        allocated = sum(_allocated(policy, request) for request in trace)
        share = sum(request.total for request in trace) / allocated
        rows.append(PublishedRow(policy, share, kv_tokens * len(trace) // allocated))
    return rows


class Replay(NamedTuple):
    """What a replay saw, averaged over its decode steps."""

    waste: Waste
    """Shares of the memory; they add up to 1."""
    running: float
    """Requests decoding together."""
    refused_though_free: float
    """Share of steps in which the request at the head of the queue was refused although enough slots were free in total."""
    preemptions: int
    steps: int


def replay(trace: Trace, policy: str, capacity: int = 15_700, context: int = 2048, max_answer: int = 2048,
           allocator: str = "first") -> Replay:
    """Serve `trace` from a backlog, first come first served, one token for every running request a step.

    `policy` is one of `POLICIES`, with `allocator` "first", "best" or "buddy", or "N-token blocks". The replay ends when nothing waits any more,
    so that every step it averages over had a request in the queue. A paged request without a free block preempts the newest one,
    which waits again at the head and recomputes. The defaults are the paper's: OPT-13B on a 40 GB A100 (Kwon et al. 2023, section 6.1).
    """
    if policy.endswith("-token blocks"):
        return _replay_paged(trace, capacity, int(policy.split("-")[0]))
    arena = BuddyArena(capacity) if allocator == "buddy" else Arena(capacity, allocator)
    return _replay_contiguous(trace, arena, lambda r: reserve(policy, r.prompt, r.answer, context, max_answer))


def _replay_contiguous(trace: Trace, arena: Arena | BuddyArena, size_of: Callable[[Request], int]) -> Replay:
    queue, running = deque(trace), []  # running: heap of (last step, start, request)
    now, total, seats, refused = 0, Waste(), 0, 0
    while queue:
        try:
            start = arena.allocate(size_of(queue[0]))
            request = queue.popleft()
            heappush(running, (now + max(request.answer, 1), start, request))
            continue
        except OutOfMemory as full:
            if not running:
                raise UsageError(f"a request of {full.needed} slots can never fit in {arena.capacity}") from None
            steps = running[0][0] - now
            total += _picture(arena, running, now, steps)
            seats += steps * len(running)
            refused += steps * (full.free >= full.needed)
            now += steps
        while running and running[0][0] == now:
            arena.free(heappop(running)[1])
    return Replay(total.scaled(1 / (now * arena.capacity or 1)), seats / (now or 1), refused / (now or 1), 0, now)


def _picture(arena: Arena | BuddyArena, running: list, now: int, steps: int) -> Waste:
    """Slots summed over the next `steps` steps, in which nobody comes or goes: each running request only gains a token a step."""
    held = later = 0.0
    for end, _, request in running:
        left = sum(range(end - now, end - now - steps, -1))  # tokens still to come, summed over the steps
        held += steps * request.total - left
        later += left
    reserved = arena.capacity - arena.num_free
    return Waste(held, later, steps * reserved - held - later, external=steps * arena.num_free)


def _replay_paged(trace: Trace, capacity: int, block_size: int) -> Replay:
    manager = BlockManager(capacity // block_size, block_size)
    queue, running = deque((number, request, 0) for number, request in enumerate(trace)), {}  # number -> [request, generated]
    steps = seats = preemptions = 0
    total = Waste(external=0)
    while queue:
        number, request, generated = queue[0]
        try:
            manager.admit(number, request.prompt + generated)
            running[number] = [request, generated]
            queue.popleft()
            continue
        except OutOfBlocks as full:
            if not running:
                raise UsageError(f"a request of {full.needed} blocks can never fit in {manager.pool.num_blocks}") from None
        total += manager.waste()
        seats += len(running)
        steps += 1
        preemptions += _decode_step(manager, queue, running)
    lost = capacity - manager.pool.num_blocks * block_size
    average = total.scaled(1 / (steps or 1))
    return Replay(Waste(average.held, 0, average.internal, lost, average.free).scaled(1 / capacity), seats / (steps or 1), 0.0, preemptions, steps)


def _decode_step(manager: BlockManager, queue: deque, running: dict) -> int:
    """One more token for each running request, oldest first; returns how many had to be preempted for it."""
    preempted = 0
    for number in list(running):
        while number in running:
            try:
                manager.append(number)
            except OutOfBlocks:
                newest = next(reversed(running))
                request, generated = running.pop(newest)
                manager.free(newest)
                queue.appendleft((newest, request, generated))
                preempted += 1
                continue
            running[number][1] += 1
            if running[number][1] >= running[number][0].answer:
                del running[number]
                manager.free(number)
            break
    return preempted
