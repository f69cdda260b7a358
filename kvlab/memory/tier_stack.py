"""Tiers one behind the other, each with a thread that moves its bytes: stores and loads that nobody waits for.

A block goes to the first tier; whoever leaves that for want of room goes on to the next. A block that is loaded from
further away is put into the first again. All decisions are made by the thread that calls; the workers only move bytes,
each in the order in which it was asked, so that a place is read before it is written again. `poll` takes note of what
they have done.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

import numpy as np

from kvlab.errors import InvariantBroken, UsageError

from .tiers import BlockLayout, Tier

MOST_PENDING = 256
"""Blocks that may be on their way to one tier; more are not stored, so that a slow disk costs no memory without end."""


@dataclass(slots=True)
class TierCounts:
    """What one tier has done, in blocks. failed: stores and loads; dropped: not stored, since there was no way to.

    error: what the last failure said.
    """

    stored: int = 0
    loaded: int = 0
    failed: int = 0
    dropped: int = 0
    error: str = ""


@dataclass(eq=False, slots=True)
class Load:
    """A block on its way back. done: nothing more will happen. data: its bytes then, None if it could not be had."""

    key: Hashable
    tier: int
    future: Future[np.ndarray]
    done: bool = False
    data: np.ndarray | None = None


@dataclass(eq=False, slots=True)
class _Level:
    """One tier, its thread, and what is on its way there: (key, when it is done), in order."""

    tier: Tier
    worker: ThreadPoolExecutor
    stores: deque[tuple[Hashable, Future[None]]] = field(default_factory=deque)
    counts: TierCounts = field(default_factory=TierCounts)


class TierStack:
    """`tiers` for blocks of `layout`, the nearest first. They are opened now, and belong to this stack until `close`.

    An empty list, or one that names a tier twice, is refused with `UsageError`; so is what a tier refuses to open, and
    then none stays open.
    """

    def __init__(self, tiers: Sequence[Tier], layout: BlockLayout, most_pending: int = MOST_PENDING) -> None:
        if not tiers or len(set(map(id, tiers))) < len(tiers):
            raise UsageError(f"a stack has at least one tier, each once, not {list(tiers)!r:.100}")
        self.layout, self.most_pending = layout, most_pending
        self.closed = False
        self._loads: list[Load] = []
        self._levels: list[_Level] = []
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
        if not self.closed:
            for number, level in enumerate(self._levels):
                if key in level.tier:
                    return number
        return None

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
        return number is None and not self.closed and all(self._lacks(n, key) for n in range(len(self._levels)))

    def store(self, key: Hashable, data: np.ndarray, ready: Callable[[], object] | None = None) -> bool:
        """Begin to store a block, `[block_bytes]` uint8, which nobody may change afterwards; whether that was possible.

        It goes to the nearest tier that can take it now. ready: waits until the bytes are there, for copies that are
        still under way.
        """
        there = partial(_ready, data, ready)
        return not self.closed and any(self._store(number, key, there) for number in range(len(self._levels)))

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
        for number in range(len(self._levels)):
            self._settle_stores(number)
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
                if len(self._levels[number + 1].stores) >= self.most_pending:
                    self.drain()
            self.drain()
        self.closed = True
        for level in self._levels:
            level.worker.shutdown()
            level.tier.on_evict = None
            level.tier.close()

    def check(self) -> None:
        """Each tier holds; what it is storing is under way, and what it has pinned is being loaded."""
        for number, level in enumerate(self._levels):
            level.tier.check()
            under_way = Counter(key for key, _ in level.stores)
            if under_way != Counter(level.tier.storing()):
                raise InvariantBroken("I8", f"{level.tier.name}: {len(under_way)} stores are not those of the tier")
            loading = Counter(load.key for load in self._loads if load.tier == number)
            if loading != level.tier.pins():
                raise InvariantBroken("pins", f"{level.tier.name}: {len(loading)} blocks are loaded, others are pinned")

    def _too_few(self, found: list[int | None]) -> list[int]:
        return [
            number for number, level in enumerate(self._levels) if 0 < found.count(number) < level.tier.at_least
        ]

    def _open(self, number: int, tier: Tier) -> None:
        try:
            tier.open(self.layout)
        except BaseException:
            self.close(flush=False)
            raise
        tier.on_evict = partial(self._evicted, number)
        self._levels.append(_Level(tier, ThreadPoolExecutor(1, thread_name_prefix=f"kvlab-{tier.name}")))

    def _store(self, number: int, key: Hashable, data: Callable[[], np.ndarray]) -> bool:
        level = self._levels[number]
        full = len(level.stores) >= self.most_pending
        place = None if full else level.tier.store_begin(key)
        if place is None:
            level.counts.dropped += 1
            return False
        level.stores.append((key, level.worker.submit(_write, level.tier, key, place, data)))
        return True

    def _evicted(self, number: int, key: Hashable, place: int) -> None:
        """A block leaves: its bytes are read before its place is written again, and go on to the next tier."""
        self._pass_on(number, key, place)
        level = self._levels[number]
        level.worker.submit(level.tier.erase, key, place)

    def _pass_on(self, number: int, key: Hashable, place: int) -> None:
        if number + 1 == len(self._levels) or not self._lacks(number + 1, key):
            return
        level, following = self._levels[number], self._levels[number + 1]
        if len(following.stores) >= self.most_pending:
            following.counts.dropped += 1
            return
        self._store(number + 1, key, level.worker.submit(level.tier.read, key, place).result)

    def _lacks(self, number: int, key: Hashable) -> bool:
        level = self._levels[number]
        return key not in level.tier and key not in level.tier.storing()

    def _load(self, key: Hashable) -> Load:
        number = self.where(key)
        if number is None:
            raise UsageError(f"block {key!r:.40} is in none of the tiers")
        level = self._levels[number]
        place = level.tier.pin(key)
        load = Load(key, number, level.worker.submit(level.tier.read, key, place))
        self._loads.append(load)
        return load

    def _settle_stores(self, number: int) -> None:
        level = self._levels[number]
        while level.stores and level.stores[0][1].done():
            key, future = level.stores.popleft()
            error = future.exception()
            if error is None:
                level.tier.store_done(key)
                level.counts.stored += 1
            else:
                level.tier.store_failed(key)
                self._failed(level, error)

    def _settle_load(self, load: Load) -> None:
        level, error = self._levels[load.tier], load.future.exception()
        level.tier.unpin(load.key)
        load.done = True
        if error is None:
            load.data = load.future.result()
            level.counts.loaded += 1
            if load.tier and self._lacks(0, load.key):
                self._store(0, load.key, partial(_ready, load.data, None))
            return
        self._failed(level, error)
        if load.key not in level.tier.pins():
            level.worker.submit(level.tier.erase, load.key, level.tier.drop(load.key))

    @staticmethod
    def _failed(level: _Level, error: BaseException) -> None:
        level.counts.failed += 1
        level.counts.error = f"{type(error).__name__}: {error}"


def _ready(data: np.ndarray, ready: Callable[[], object] | None) -> np.ndarray:
    if ready is not None:
        ready()
    return data


def _write(tier: Tier, key: Hashable, place: int, data: Callable[[], np.ndarray]) -> None:
    tier.write(key, place, data())
