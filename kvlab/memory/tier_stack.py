"""Tiers one behind the other, each with a thread that moves its bytes: stores and loads that nobody waits for.

A block goes to the first tier; whoever leaves that for want of room goes on to the next. A block that is loaded from
further away is put into the first again. All decisions are made by the thread that calls; those of the tiers
(`kvlab.memory.tier_level`) only move bytes, and `poll` takes note of what they have done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

import numpy as np

from kvlab.errors import UsageError

from .protocols import BlockLayout, Tier
from .tier_level import MOST_PENDING, TierCounts, TierLevel


@dataclass(eq=False, slots=True)
class Load:
    """A block on its way back. done: nothing more will happen. data: its bytes then, None if it could not be had."""

    key: Hashable
    tier: int
    future: Future[np.ndarray]
    done: bool = False
    data: np.ndarray | None = None


class TierStack:
    """`tiers` for blocks of `layout`, the nearest first. They are opened now, and belong to this stack until `close`.

    most_pending: see `TierLevel`. An empty list, or one that names a tier twice, is refused with `UsageError`; so is
    what a tier refuses to open, and then none stays open.
    """

    def __init__(self, tiers: Sequence[Tier], layout: BlockLayout, most_pending: int = MOST_PENDING) -> None:
        if not tiers or len(set(map(id, tiers))) < len(tiers):
            raise UsageError(f"a stack has at least one tier, each once, not {list(tiers)!r:.100}")
        self.layout, self.most_pending = layout, most_pending
        self.closed = False
        self._loads: list[Load] = []
        self._levels: list[TierLevel] = []
        for number, tier in enumerate(tiers):
            self._open(number, tier)

    def __repr__(self) -> str:
        return f"TierStack({', '.join(repr(level.tier) for level in self._levels)})"

    @property
    def tiers(self) -> list[Tier]:
        """The nearest first."""
        return [level.tier for level in self._levels]

    @property
    def counts(self) -> list[TierCounts]:
        """What each of them has done."""
        return [level.counts for level in self._levels]

    def where(self, key: Hashable) -> int | None:
        """The number of the nearest tier that has the block, None if none has."""
        if self.closed:
            return None
        return next((number for number, level in enumerate(self._levels) if key in level.tier), None)

    def run(self, keys: Sequence[Hashable]) -> list[Hashable]:
        """The longest beginning of `keys` that can be loaded, and is worth it: blocks of a tier that are fewer than its
        `at_least` are left out, with all that follows.
        """
        found = list(takewhile(lambda number: number is not None, map(self.where, keys)))
        few = self._too_few(found)
        while few:
            found = found[: min(map(found.index, few))]
            few = self._too_few(found)
        return list(keys[: len(found)])

    def wants(self, key: Hashable) -> bool:
        """Whether this block is to be stored: it is nowhere yet, nor on its way there. One that is there is touched."""
        number = self.where(key)
        if number is not None:
            self._levels[number].tier.touch(key)
        return number is None and not self.closed and all(level.lacks(key) for level in self._levels)

    def store(self, key: Hashable, data: np.ndarray, ready: Callable[[], object] | None = None) -> bool:
        """Begin to store a block, `[block_bytes]` uint8, which nobody may change afterwards; whether that was possible.

        It goes to the nearest tier that can take it now. ready: waits until the bytes are there, for copies that are
        still under way.
        """
        there = partial(_ready, data, ready)
        return not self.closed and any(level.store(key, there) for level in self._levels)

    def load(self, keys: Sequence[Hashable]) -> list[Load]:
        """Begin to load blocks, each of which must be somewhere; it stays there until its load is done.

        Keys are those of a chain in order: its end counts as used before its beginning, which others are likelier to
        share and without which the end is never found.
        """
        loads = [self._load(key) for key in keys]
        for load in reversed(loads):
            self._levels[load.tier].tier.touch(load.key)
        return loads

    def wait(self, loads: Iterable[Load]) -> None:
        """Until all of these are done."""
        wait([load.future for load in loads])
        self.poll()

    def poll(self) -> None:
        """Take note of what the workers have done: blocks that are stored are found from now on, loads are done."""
        for level in self._levels:
            level.settle_stores()
        for load in [load for load in self._loads if load.future.done()]:
            self._loads.remove(load)
            self._settle_load(load)

    def drain(self) -> None:
        """Wait for all that is under way, also for what follows from it."""
        while self._loads or any(level.stores for level in self._levels):
            wait([load.future for load in self._loads])
            wait([future for level in self._levels for _, future in level.stores])
            self.poll()

    def close(self, flush: bool = True) -> None:
        """End the workers and close the tiers. flush: what only nearer tiers have goes on to the next before.

        Twice is once. Nothing is found or stored afterwards.
        """
        if self.closed:
            return
        self.drain()
        for number, level in enumerate(self._levels[:-1] if flush else []):
            for key in level.tier.stored():
                self._pass_on(number, key, level.tier.pin(key))
                level.tier.unpin(key)
                if self._levels[number + 1].is_full:
                    self.drain()
            self.drain()
        self.closed = True
        for level in self._levels:
            level.close()

    def check(self) -> None:
        """Each tier holds; what it is storing is under way, and what it has pinned is being loaded."""
        for number, level in enumerate(self._levels):
            level.check(Counter(load.key for load in self._loads if load.tier == number))

    def _open(self, number: int, tier: Tier) -> None:
        try:
            self._levels.append(TierLevel(tier, self.layout, self.most_pending))
        except BaseException:
            self.close(flush=False)
            raise
        tier.on_evict = partial(self._evicted, number)

    def _too_few(self, found: list[int | None]) -> list[int]:
        """The tiers that have blocks among `found`, but fewer than are worth a load."""
        return [number for number, level in enumerate(self._levels) if 0 < found.count(number) < level.tier.at_least]

    def _evicted(self, number: int, key: Hashable, place: int) -> None:
        """A block leaves: its bytes are read before its place is written again, and go on to the next tier."""
        self._pass_on(number, key, place)
        self._levels[number].erase(key, place)

    def _pass_on(self, number: int, key: Hashable, place: int) -> None:
        """Store what lies at `place` in the next tier too, if there is one and it lacks the block."""
        if number + 1 == len(self._levels) or not self._levels[number + 1].lacks(key):
            return
        following = self._levels[number + 1]
        if following.is_full:  # and so nothing is read in vain
            following.counts.dropped += 1
        else:
            following.store(key, self._levels[number].read(key, place).result)

    def _load(self, key: Hashable) -> Load:
        number = self.where(key)
        if number is None:
            raise UsageError(f"block {key!r:.40} is in none of the tiers")
        load = Load(key, number, self._levels[number].load(key))
        self._loads.append(load)
        return load

    def _settle_load(self, load: Load) -> None:
        load.data, load.done = self._levels[load.tier].settle_load(load.key, load.future), True
        if load.data is not None and load.tier and self._levels[0].lacks(load.key):
            self._levels[0].store(load.key, partial(_ready, load.data))


def _ready(data: np.ndarray, ready: Callable[[], object] | None = None) -> np.ndarray:
    if ready is not None:
        ready()
    return data
