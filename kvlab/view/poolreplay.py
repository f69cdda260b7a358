"""A block pool's life as a list of events that can be stepped through in both directions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import blocks_needed
from kvlab.view.kinds import counted

NOBODY = -1


class Event(NamedTuple):
    """Something that moved blocks, or was refused. `kind`: admit, append, finish, wait, put back, or never."""

    step: int
    kind: str
    request: int
    words: str
    taken: tuple[int, ...]
    freed: tuple[int, ...]
    tokens: int  # of the request, afterwards
    running: int
    waiting: int

    @property
    def moved(self) -> bool:
        """Whether a block changed hands."""
        return bool(self.taken or self.freed)


@dataclass
class _Sequence:
    request: int
    prompt: int
    left: int
    tokens: int = 0
    table: list[int] = field(default_factory=list)
    told: bool = False  # its wait is reported once, not at every step


class Recorder:
    """Runs requests through a pool: first come first served, one token for every running request a step.

    Only the pool's own take and release are called, so that a learner's pool can be watched. When every running
    request waits for a block, the newest is put back in the queue: lab 08 does this properly.
    """

    def __init__(self, requests: Iterable, pool: Any, num_blocks: int, block_size: int) -> None:
        self.pool, self.free, self.num_blocks, self.block_size = pool, num_blocks, num_blocks, block_size
        self.queue = deque(_Sequence(number, r.prompt, r.answer) for number, r in enumerate(requests))
        self.running: list[_Sequence] = []
        self.events: list[Event] = []
        self.step = 0

    def run(self) -> list[Event]:
        while self.queue or self.running:
            moved = self._decode()
            if not any(sequence.told for sequence in self.running):  # who runs is served before who queues
                moved |= self._admit()
            if not moved:
                self._put_back(self.running[-1])
            self.step += 1
        return self.events

    def _note(self, kind: str, sequence: _Sequence, words: str, taken: Iterable = (), freed: Iterable = ()) -> None:
        counts = (sequence.tokens, len(self.running), len(self.queue))
        self.events.append(Event(self.step, kind, sequence.request, words, tuple(taken), tuple(freed), *counts))

    def _admit(self) -> bool:
        before = len(self.queue)
        while self.queue and self._admit_head(self.queue[0]):
            pass
        return len(self.queue) < before

    def _admit_head(self, head: _Sequence) -> bool:
        """Whether the head left the queue."""
        most = blocks_needed(head.prompt + head.left, self.block_size)
        if most > self.num_blocks:
            self.queue.popleft()
            pool = f"the pool has {self.num_blocks:,}"
            self._note("never", head, f"is refused for good: it may need {counted(most, 'block')}, {pool}")
            return True
        needed = blocks_needed(head.prompt, self.block_size)
        blocks = counted(needed, "block")
        taken = self._take(head, needed, f"waits to be admitted: its {head.prompt:,} tokens need {blocks}")
        if not taken:
            return False
        self.running.append(self.queue.popleft())
        head.tokens = head.prompt
        self._note("admit", head, f"is admitted with {head.prompt:,} tokens and takes {blocks}", taken)
        return True

    def _take(self, sequence: _Sequence, needed: int, words: str) -> list[int]:
        """Blocks for the sequence, or none and one report of the wait."""
        try:
            taken = list(self.pool.take(needed))
        except OutOfBlocks:
            if not sequence.told:
                self._note("wait", sequence, f"{words}, {_are_free(self.free)}")
            sequence.told = True
            return []
        sequence.told = False
        sequence.table += taken
        self.free -= len(taken)
        return taken

    def _decode(self) -> bool:
        written = [self._write(sequence) for sequence in list(self.running)]
        return any(written)

    def _write(self, sequence: _Sequence) -> bool:
        """One more token of the answer; whether there was a slot for it."""
        number = sequence.tokens + 1
        taken: list[int] = []
        if sequence.tokens == len(sequence.table) * self.block_size:
            taken = self._take(sequence, 1, f"waits: its token {number:,} needs a block")
            if not taken:
                return False
        sequence.tokens, sequence.left = number, sequence.left - 1
        if taken:
            words = f"writes token {number:,}: its last block was full, it takes block {taken[0]}"
            self._note("append", sequence, words, taken)
        if sequence.left <= 0:
            self._leave(sequence, "finish", f"finishes with {number:,} tokens")
        return True

    def _put_back(self, sequence: _Sequence) -> None:
        sequence.prompt = sequence.tokens  # to be computed again
        self._leave(sequence, "put back", "goes back to the queue so that others can finish")
        sequence.told = False
        self.queue.appendleft(sequence)

    def _leave(self, sequence: _Sequence, kind: str, words: str) -> None:
        freed, sequence.table = sequence.table, []
        self.pool.release(list(freed))
        self.free += len(freed)
        self.running.remove(sequence)
        self._note(kind, sequence, f"{words} and gives back {counted(len(freed), 'block')}", freed=freed)


def _are_free(free: int) -> str:
    return "none is free" if free == 0 else f"{free:,} {'is' if free == 1 else 'are'} free"


class PoolReplay:
    """The recorded events with a position: who owns each block after event `at`, and every block table."""

    def __init__(self, events: list[Event], num_blocks: int) -> None:
        self.events = events
        self.owner = np.full(num_blocks, NOBODY, np.int64)
        self.tables: dict[int, list[int]] = {}
        self.at = -1  # before the first event

    def go(self, target: int) -> Event:
        """Moves to just after event `target`, at most the last, forwards or backwards, and returns it."""
        target = min(max(target, 0), len(self.events) - 1)
        while self.at < target:
            self.at += 1
            self._apply(self.events[self.at])
        while self.at > target:
            self._undo(self.events[self.at])
            self.at -= 1
        return self.events[target]

    def _apply(self, event: Event) -> None:
        if event.taken:
            self.tables.setdefault(event.request, []).extend(event.taken)
            self.owner[list(event.taken)] = event.request
        if event.freed:
            del self.tables[event.request]
            self.owner[list(event.freed)] = NOBODY

    def _undo(self, event: Event) -> None:
        if event.freed:
            self.tables[event.request] = list(event.freed)
            self.owner[list(event.freed)] = event.request
        if event.taken:
            table = self.tables[event.request]
            del table[-len(event.taken) :]
            self.owner[list(event.taken)] = NOBODY
            if not table:
                del self.tables[event.request]


def record(requests: Iterable, num_blocks: int, block_size: int, make_pool: Callable[[int], Any]) -> PoolReplay:
    """Runs the requests to their end on a fresh pool and returns the replay, positioned before its first event."""
    events = Recorder(requests, make_pool(num_blocks), num_blocks, block_size).run()
    if not events:
        raise UsageError("there is nothing to step through in a trace of 0 requests")
    return PoolReplay(events, num_blocks)
