"""A contiguous arena under churn, step by step: what lies where, and who waits for a hole."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from kvlab.errors import OutOfMemory, UsageError
from kvlab.memory import CONTEXT, MAX_ANSWER, FirstFitArena, reserve
from kvlab.view.kinds import FREE, HELD, HOLE, LATER, UNUSED


class Chunk(NamedTuple):
    """A reservation at one moment, in slots. `final` of them will hold a token at the end."""

    start: int
    size: int
    held: int
    final: int
    born: int


class Moment(NamedTuple):
    """One decode step. `needed` is what the first waiting request asks for, 0 if nobody waits."""

    chunks: tuple[Chunk, ...]
    needed: int
    free: int
    largest: int

    @property
    def fragmented(self) -> bool:
        """Whether somebody waits although enough slots are free in total."""
        return 0 < self.needed <= self.free


class History(NamedTuple):
    """A run: one `Moment` a step."""

    policy: str
    capacity: int
    moments: tuple[Moment, ...]

    def column(self, step: int, cells: int) -> np.ndarray:
        """Palette index of `cells` equal pieces of the arena at a step, from the lowest address."""
        moment = self.moments[step]
        slots = np.full(cells, HOLE if moment.fragmented else FREE, np.uint8)
        middles = (np.arange(cells) + 0.5) * self.capacity / cells
        for chunk in moment.chunks:
            offsets = (0, chunk.held, chunk.final, chunk.size)
            first, held, final, end = np.searchsorted(middles, [chunk.start + offset for offset in offsets])
            slots[first:held], slots[held:final], slots[final:end] = HELD, LATER, UNUSED
        return slots

    @property
    def share_fragmented(self) -> float:
        """Share of steps in which somebody waited although enough slots were free."""
        return sum(moment.fragmented for moment in self.moments) / len(self.moments)

    def shares(self) -> dict[int, float]:
        """Palette index -> share of the memory, averaged over the steps."""
        total = dict.fromkeys((HELD, LATER, UNUSED, HOLE, FREE), 0.0)
        for moment in self.moments:
            held = sum(chunk.held for chunk in moment.chunks)
            final = sum(chunk.final for chunk in moment.chunks)
            size = sum(chunk.size for chunk in moment.chunks)
            total[HELD] += held
            total[LATER] += final - held
            total[UNUSED] += size - final
            total[HOLE if moment.fragmented else FREE] += moment.free
        return {kind: slots / (len(self.moments) * self.capacity) for kind, slots in total.items()}


class _Running(NamedTuple):
    start: int
    size: int
    request: Any
    born: int

    def chunk(self, step: int) -> Chunk:
        written = min(step - self.born, self.request.answer)
        held = min(self.size, self.request.prompt + written)
        return Chunk(self.start, self.size, held, min(self.size, self.request.prompt + self.request.answer), self.born)


def arena_history(
    trace: Iterable,
    policy: str = "power of two",
    capacity: int = 16384,
    arena: Callable[[int], Any] = FirstFitArena,
    context: int = CONTEXT,
    max_answer: int = MAX_ANSWER,
    steps: int = 1500,
) -> History:
    """Serves a backlog first come first served, one token for every running request a step, at most `steps` steps.

    policy: as in `kvlab.memory.reserve`. capacity: in slots. arena: called with `capacity`, returns something with
    allocate and free, such as a learner's own. A request that can never fit is left out (I10).
    """
    memory = arena(capacity)
    sizes = [(request, reserve(policy, request.prompt, request.answer, context, max_answer)) for request in trace]
    queue = deque((request, size) for request, size in sizes if size <= capacity)
    running: list[_Running] = []
    moments: list[Moment] = []
    for step in range(steps):
        for done in [each for each in running if step - each.born >= each.request.answer]:
            memory.free(done.start)
            running.remove(done)
        _admit(memory, queue, running, step)
        if not running:
            break
        moments.append(_moment(capacity, queue, running, step))
    if not moments:
        raise UsageError(f"no request of this trace fits in {capacity:,} slots under {policy!r}")
    return History(policy, capacity, tuple(moments))


def _admit(memory: Any, queue: deque, running: list[_Running], step: int) -> None:
    while queue:
        request, size = queue[0]
        try:
            start = memory.allocate(size)
        except OutOfMemory:
            return
        queue.popleft()
        running.append(_Running(start, size, request, step))


def _moment(capacity: int, queue: deque, running: list[_Running], step: int) -> Moment:
    chunks = sorted(each.chunk(step) for each in running)
    ends = [0, *(chunk.start + chunk.size for chunk in chunks)]
    holes = [start - end for start, end in zip([*(chunk.start for chunk in chunks), capacity], ends, strict=True)]
    return Moment(tuple(chunks), queue[0][1] if queue else 0, sum(holes), max(holes))
