"""Who leaves a full tier: the least recently used block, or the one that was asked for least, with ageing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Protocol

from kvlab.errors import InvariantBroken, UsageError

MayGo = Callable[[Hashable], bool]
"""Whether a block may leave now: one that is pinned may not."""


class Eviction(Protocol):
    """An order of leaving over the keys of one tier. A key is added once, and touched whenever it is asked for."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Hashable]: ...

    def add(self, key: Hashable) -> None: ...

    def touch(self, key: Hashable) -> None: ...

    def remove(self, key: Hashable) -> None: ...

    def victim(self, may_go: MayGo) -> Hashable | None: ...

    def check(self) -> None: ...


class LRU:
    """The least recently used leaves first. `victim` names it and leaves it where it is: `remove` takes it out."""

    def __init__(self) -> None:
        self._order: OrderedDict[Hashable, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._order)

    def add(self, key: Hashable) -> None:
        """A new key, the most recently used."""
        self._order[key] = None

    def touch(self, key: Hashable) -> None:
        """It was asked for."""
        self._order.move_to_end(key)

    def remove(self, key: Hashable) -> None:
        """It is gone."""
        del self._order[key]

    def victim(self, may_go: MayGo) -> Hashable | None:
        """The first in order that may go, None if there is none."""
        return next(filter(may_go, self._order), None)

    def check(self) -> None:
        """An ordered dictionary holds each key once; there is nothing more to hold."""


class AgedLFU:
    """The least asked for leaves first, and what was asked for long ago counts for less.

    A key's rank is the age at its last use plus how often it was used; the age is the rank of who left last. So a text
    that all requests share outlives any number of texts that are read once, and one that nobody wants any more goes in
    the end. This is GreedyDual-Size-Frequency (Cherkasova 1998) for blocks, which are all of one size and cost.
    """

    def __init__(self) -> None:
        self.age = 0
        self._uses: dict[Hashable, int] = {}
        self._rank: dict[Hashable, tuple[int, int]] = {}  # (rank, a number that rises with each use)
        self._heap: list[tuple[int, int, Hashable]] = []  # with outdated entries, which are dropped when they come up
        self._clock = 0

    def __len__(self) -> int:
        return len(self._rank)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._rank)

    def add(self, key: Hashable) -> None:
        """A new key, used once."""
        self._uses[key] = 0
        self.touch(key)

    def touch(self, key: Hashable) -> None:
        """It was asked for."""
        self._uses[key] += 1
        self._clock += 1
        self._rank[key] = self.age + self._uses[key], self._clock
        heappush(self._heap, (*self._rank[key], key))
        if len(self._heap) > 4 * len(self._rank) + 64:
            self._heap = [(*rank, key) for key, rank in self._rank.items()]
            heapify(self._heap)

    def remove(self, key: Hashable) -> None:
        """It is gone."""
        del self._uses[key]
        del self._rank[key]

    def victim(self, may_go: MayGo) -> Hashable | None:
        """The one of lowest rank that may go, None if there is none; of equal rank, the least recently used."""
        passed = []
        found = None
        while self._heap and found is None:
            entry = heappop(self._heap)
            if self._rank.get(entry[2]) != entry[:2]:
                continue
            passed.append(entry)
            if may_go(entry[2]):
                found = entry[2]
                self.age = max(self.age, entry[0])
        for entry in passed:
            heappush(self._heap, entry)
        return found

    def check(self) -> None:
        """Each key has a rank, and an entry of that rank in the heap."""
        entries = {(rank, clock, key) for rank, clock, key in self._heap}
        if self._uses.keys() != self._rank.keys() or not entries >= {(*r, key) for key, r in self._rank.items()}:
            raise InvariantBroken("tier order", f"{len(self._rank)} keys have a rank, and not each of them a place")


EVICTIONS: dict[str, Callable[[], Eviction]] = {"lru": LRU, "lfu": AgedLFU}
"""The finished policies by name."""


def make_eviction(policy: str | Callable[[], Eviction]) -> Eviction:
    """The policy called "lru" or "lfu", or what `policy()` returns. Another name: `UsageError`."""
    if not isinstance(policy, str):
        return policy()
    if policy not in EVICTIONS:
        raise UsageError(f"there is no eviction policy {policy!r}: there are {', '.join(EVICTIONS)}")
    return EVICTIONS[policy]()
