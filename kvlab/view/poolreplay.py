"""A block pool's life as a list of events that can be stepped through in both directions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kvlab.errors import OutOfBlocks

FREE = -1


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
        self.pool, self.num_blocks, self.block_size = pool, num_blocks, block_size
        self.queue = deque(_Sequence(number, r.prompt, r.answer) for number, r in enumerate(requests))
        self.running: list[_Sequence] = []
        self.events: list[Event] = []
        self.step = 0

    def run(self) -> list[Event]:
        while self.queue or self.running:
            moved = self._decode()
            if not any(sequence.told for sequence in self.running):  # a newcomer must not take what a running one waits for
                moved |= self._admit()
            if not moved:
                self._put_back(self.running[-1])
            self.step += 1
        return self.events

    def _note(self, kind: str, sequence: _Sequence, words: str, taken: Iterable = (), freed: Iterable = ()) -> None:
        counts = (sequence.tokens, len(self.running), len(self.queue))
        self.events.append(Event(self.step, kind, sequence.request, words, tuple(taken), tuple(freed), *counts))

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.block_size)

    def _admit(self) -> bool:
        before = len(self.queue)
        while self.queue and self._admit_head(self.queue[0]):
            pass
        return len(self.queue) < before

    def _admit_head(self, head: _Sequence) -> bool:
        """Whether the head left the queue."""
        if self._blocks(head.prompt + head.left) > self.num_blocks:
            self.queue.popleft()
            most = self._blocks(head.prompt + head.left)
            self._note("never", head, f"is refused for good: it may need {most} blocks, the pool has {self.num_blocks}")
            return True
        needed = self._blocks(head.prompt)
        taken = self._take(head, needed, f"waits to be admitted: its {head.prompt} tokens need {needed} blocks")
        if not taken:
            return False
        self.running.append(self.queue.popleft())
        head.tokens = head.prompt
        self._note("admit", head, f"is admitted with {head.prompt} tokens: {_blocks(needed)} taken", taken)
        return True

    def _take(self, sequence: _Sequence, needed: int, words: str) -> list[int]:
        """Blocks for the sequence, or none and one report of the wait."""
        try:
            taken = list(self.pool.take(needed))
        except OutOfBlocks:
            if not sequence.told:
                self._note("wait", sequence, f"{words}, {self.pool.num_free} free")
            sequence.told = True
            return []
        sequence.told = False
        sequence.table += taken
        return taken

    def _decode(self) -> bool:
        written = [self._write(sequence) for sequence in list(self.running)]
        return any(written)

    def _write(self, sequence: _Sequence) -> bool:
        """One more token of the answer; whether there was a slot for it."""
        if sequence.tokens == len(sequence.table) * self.block_size:
            number = sequence.tokens + 1
            taken = self._take(sequence, 1, f"waits: its token {number} needs 1 block")
            if not taken:
                return False
            sequence.tokens += 1
            self._note("append", sequence, f"writes token {number}: the last block was full, block {taken[0]} is taken", taken)
        else:
            sequence.tokens += 1
        sequence.left -= 1
        if sequence.left <= 0:
            self._leave(sequence, "finish", f"finishes with {sequence.tokens} tokens: {_blocks(len(sequence.table))} given back")
        return True

    def _put_back(self, sequence: _Sequence) -> None:
        words = f"goes back to the queue so that others can finish: {_blocks(len(sequence.table))} given back"
        sequence.prompt = sequence.tokens  # to be computed again
        self._leave(sequence, "put back", words)
        self.queue.appendleft(sequence)

    def _leave(self, sequence: _Sequence, kind: str, words: str) -> None:
        freed, sequence.table = sequence.table, []
        self.pool.release(list(freed))
        self.running.remove(sequence)
        self._note(kind, sequence, words, freed=freed)


def _blocks(count: int) -> str:
    return f"{count} block{'s' * (count != 1)}"


class PoolReplay:
    """The recorded events with a position: who owns each block after event `at`, and every block table."""

    def __init__(self, events: list[Event], num_blocks: int) -> None:
        self.events = events
        self.owner = np.full(num_blocks, FREE, np.int64)
        self.tables: dict[int, list[int]] = {}
        self.at = -1  # before the first event

    def go(self, target: int) -> Event:
        """Moves to just after event `target`, forwards or backwards, and returns it."""
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
            self.owner[list(event.freed)] = FREE

    def _undo(self, event: Event) -> None:
        if event.freed:
            self.tables[event.request] = list(event.freed)
            self.owner[list(event.freed)] = event.request
        if event.taken:
            table = self.tables[event.request]
            del table[-len(event.taken) :]
            self.owner[list(event.taken)] = FREE
            if not table:
                del self.tables[event.request]


def record(requests: Iterable, num_blocks: int, block_size: int, make_pool: Callable[[int], Any]) -> PoolReplay:
    """Runs the requests to their end on a fresh pool and returns the replay, positioned before its first event."""
    return PoolReplay(Recorder(requests, make_pool(num_blocks), num_blocks, block_size).run(), num_blocks)
