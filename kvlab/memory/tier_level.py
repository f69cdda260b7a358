"""One tier with the thread that moves its bytes, in the order in which it was asked, and what is on the way there.

So a place is read before it is written again. Places are given out and accounts kept by the thread that calls;
`settle_stores` and `settle_load` take note of what the other has done.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from kvlab.errors import InvariantBroken

from .protocols import BlockLayout, Tier

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


class TierLevel:
    """`tier`, which is opened for blocks of `layout` now, and its thread.

    most_pending: blocks that may be on their way there. What the tier refuses to open is refused.
    """

    def __init__(self, tier: Tier, layout: BlockLayout, most_pending: int) -> None:
        tier.open(layout)
        self.tier, self.most_pending, self.counts = tier, most_pending, TierCounts()
        self.worker = ThreadPoolExecutor(1, thread_name_prefix=f"kvlab-{tier.name}")
        self.stores: deque[tuple[Hashable, Future[None]]] = deque()
        """Each block on its way there, and when it is done, in order."""

    @property
    def is_full(self) -> bool:
        """Whether as many blocks are on their way as may be."""
        return len(self.stores) >= self.most_pending

    def lacks(self, key: Hashable) -> bool:
        """Whether the block is neither here nor on its way."""
        return key not in self.tier and key not in self.tier.storing()

    def store(self, key: Hashable, data: Callable[[], np.ndarray]) -> bool:
        """Begin to store the block whose bytes `data()` waits for; whether that was possible."""
        place = None if self.is_full else self.tier.store_begin(key)
        if place is None:
            self.counts.dropped += 1
            return False
        self.stores.append((key, self.worker.submit(self._write, key, place, data)))
        return True

    def read(self, key: Hashable, place: int) -> Future[np.ndarray]:
        """The bytes that lie at `place`, `[block_bytes]` uint8, when their turn comes."""
        return self.worker.submit(self.tier.read, key, place)

    def load(self, key: Hashable) -> Future[np.ndarray]:
        """`read` a block of the tier, which is pinned there until `settle_load`."""
        return self.read(key, self.tier.pin(key))

    def erase(self, key: Hashable, place: int) -> None:
        """Remove what lies at `place`, when its turn comes."""
        self.worker.submit(self.tier.erase, key, place)

    def settle_stores(self) -> None:
        """Blocks whose bytes are there are found from now on (I8); those that failed never were."""
        while self.stores and self.stores[0][1].done():
            key, future = self.stores.popleft()
            error = future.exception()
            if error is None:
                self.tier.store_done(key)
                self.counts.stored += 1
            else:
                self.tier.store_failed(key)
                self._failed(error)

    def settle_load(self, key: Hashable, future: Future[np.ndarray]) -> np.ndarray | None:
        """The end of one `load` of the block: its bytes. If they could not be had, None, and the block is dropped."""
        self.tier.unpin(key)
        error = future.exception()
        if error is None:
            self.counts.loaded += 1
            return future.result()
        self._failed(error)
        if key not in self.tier.pins():
            self.erase(key, self.tier.drop(key))
        return None

    def close(self) -> None:
        """End the thread when it has done what it was asked, and close the tier."""
        self.worker.shutdown()
        self.tier.on_evict = None
        self.tier.close()

    def check(self, loading: Counter[Hashable]) -> None:
        """The tier holds; what it is storing is under way (I8), and what it has pinned are the loads of `loading`."""
        self.tier.check()
        under_way = Counter(key for key, _ in self.stores)
        if under_way != Counter(self.tier.storing()):
            raise InvariantBroken("I8", f"{self.tier.name}: {len(under_way)} stores are not those of the tier")
        if loading != self.tier.pins():
            raise InvariantBroken("pins", f"{self.tier.name}: {len(loading)} blocks are loaded, others are pinned")

    def _write(self, key: Hashable, place: int, data: Callable[[], np.ndarray]) -> None:
        self.tier.write(key, place, data())

    def _failed(self, error: BaseException) -> None:
        self.counts.failed += 1
        self.counts.error = f"{type(error).__name__}: {error}"
