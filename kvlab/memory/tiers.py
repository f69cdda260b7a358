"""Tiers: other homes for blocks, with more room and longer ways, where a block is found by the hash of its tokens.

A tier decides with integers who has which place; what moves the bytes is another's (`kvlab.memory.tier_level`). Three
rules make it safe that a store or a load takes its time: a block is found only when its store is done (I8), one that is
being loaded is pinned, and neither leaves while it lasts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import SupportsIndex

from kvlab.errors import InvariantBroken, UsageError

from .tier_policy import Eviction, make_eviction


class TierPlaces:
    """Places 0 to `num_blocks - 1`, and who has them. A block is being stored, or stored, and then perhaps pinned.

    policy: who leaves when a place is wanted, "lru", "lfu", or what makes an `Eviction`. `on_evict` is told the key and
    the place of whoever leaves for another. at_least: blocks in a row from which a load is worth its time, see
    `break_even_tokens`; who finds fewer computes them. A call that is refused changes nothing (I13).
    """

    name = "tier"

    def __init__(
        self, num_blocks: SupportsIndex, policy: str | Callable[[], Eviction] = "lru", *, at_least: int = 1
    ) -> None:
        self.num_blocks, self.at_least = num_blocks.__index__(), at_least
        if self.num_blocks < 1:
            raise UsageError(f"a tier needs at least 1 block, not {self.num_blocks}")
        self.policy = make_eviction(policy)
        self.on_evict: Callable[[Hashable, int], None] | None = None
        self._free = list(range(self.num_blocks - 1, -1, -1))
        self._storing: dict[Hashable, int] = {}
        self._stored: dict[Hashable, int] = {}
        self._pins: Counter[Hashable] = Counter()

    def __repr__(self) -> str:
        counts = f"{len(self._stored)} stored, {len(self._storing)} being stored, {len(self._pins)} pinned"
        return f"{type(self).__name__}({self.num_blocks} blocks, {counts})"

    def __len__(self) -> int:
        """Blocks that can be found."""
        return len(self._stored)

    def __contains__(self, key: Hashable) -> bool:
        """Whether the block can be found: its store is done."""
        return key in self._stored

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._stored)

    def stored(self) -> list[Hashable]:
        """The keys that can be found, those that would leave first in front if the policy has such an order."""
        return list(self.policy)

    def storing(self) -> Collection[Hashable]:
        """The keys that have a place and cannot be found yet."""
        return self._storing.keys()

    def pins(self) -> Mapping[Hashable, int]:
        """How many loads of each block are under way. To be read, not written."""
        return self._pins

    def store_begin(self, key: Hashable) -> int | None:
        """A place for a new block, which nobody finds before `store_done`. Whoever must leave for it leaves.

        None, and nothing changes, if it is there or being stored already, or if nobody may leave: all others are pinned
        or being stored themselves.
        """
        if key in self._stored or key in self._storing:
            return None
        if not self._free:
            victim = self.policy.victim(lambda other: other not in self._pins)
            if victim is None:
                return None
            self._leave(victim)
        self._storing[key] = self._free.pop()
        return self._storing[key]

    def store_done(self, key: Hashable) -> None:
        """All bytes of the block are written: from now on it is found (I8)."""
        self._stored[key] = self._take_storing(key)
        self.policy.add(key)

    def store_failed(self, key: Hashable) -> None:
        """Its bytes did not get there: the place is free again, and nobody ever finds it."""
        self._free.append(self._take_storing(key))

    def match(self, keys: Iterable[Hashable]) -> int:
        """With how many of `keys`, from the first on, this tier can go on. Nothing is held or counted as used."""
        found = 0
        for key in keys:
            if key not in self._stored:
                break
            found += 1
        return found

    def touch(self, key: Hashable) -> None:
        """Somebody asked for the block; unknown keys are refused with `UsageError`."""
        self._place(key)
        self.policy.touch(key)

    def pin(self, key: Hashable) -> int:
        """Its place, from which it does not leave before as many `unpin`s. A key that is not found: `UsageError`."""
        place = self._place(key)
        self._pins[key] += 1
        return place

    def unpin(self, key: Hashable) -> None:
        """One load less of this block is under way."""
        if key not in self._pins:
            raise UsageError(f"block {key!r:.40} is not pinned")
        self._pins[key] -= 1
        if not self._pins[key]:
            del self._pins[key]

    def drop(self, key: Hashable) -> int:
        """Forget a block, since its bytes turned out wrong or gone; returns the place that is free again.

        One that is pinned is refused with `UsageError`.
        """
        place = self._place(key)
        if key in self._pins:
            raise UsageError(f"block {key!r:.40} is pinned {self._pins[key]} times, so it cannot be dropped")
        self.policy.remove(key)
        del self._stored[key]
        self._free.append(place)
        return place

    def forget_all(self) -> None:
        """Empty the tier, when nobody stores or loads any more."""
        for key in list(self._storing):
            self.store_failed(key)
        self._pins.clear()
        for key in list(self._stored):
            self.drop(key)

    def check(self) -> None:
        """Walk everything: each place is free, being stored to or stored, only one of these and once (I1); pins and
        the policy name stored blocks only.
        """
        self.policy.check()
        places = sorted([*self._free, *self._storing.values(), *self._stored.values()])
        if places != list(range(self.num_blocks)):
            raise InvariantBroken("I1", f"of {self.num_blocks} places these are named: {places!r:.200}")
        if not self._storing.keys().isdisjoint(self._stored):
            raise InvariantBroken("I8", "a block is found although it is being stored")
        if not self._stored.keys() >= self._pins.keys() or any(count < 1 for count in self._pins.values()):
            raise InvariantBroken("pins", "a block is pinned that is not stored, or pinned less than once")
        if set(self.policy) != self._stored.keys() or len(self.policy) != len(self._stored):
            raise InvariantBroken("tier order", f"{len(self._stored)} are stored, {len(self.policy)} have an order")

    def _leave(self, key: Hashable) -> None:
        place = self._stored[key]
        self.drop(key)
        if self.on_evict is not None:
            self.on_evict(key, place)

    def _place(self, key: Hashable) -> int:
        if key not in self._stored:
            why = "is still being stored" if key in self._storing else "is not stored here"
            raise UsageError(f"block {key!r:.40} {why}")
        return self._stored[key]

    def _take_storing(self, key: Hashable) -> int:
        if key not in self._storing:
            raise UsageError(f"block {key!r:.40} is not being stored: store_begin comes first, and once")
        return self._storing.pop(key)
