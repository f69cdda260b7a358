"""The buddy allocator: chunks are powers of two, and a freed chunk joins its buddy if that is free too."""

from __future__ import annotations

from kvlab.errors import InvariantBroken, OutOfMemory, UsageError

from .policies import next_power_of_two


class BuddyArena:
    """A line of `capacity` slots whose chunks have power-of-two sizes and start at multiples of their size
    (Knowlton 1965).
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise UsageError(f"an arena needs at least 1 slot, not {capacity}")
        self.capacity = capacity
        self._free: dict[int, set[int]] = {1 << bit: set() for bit in range(capacity.bit_length())}
        self._chunks: dict[int, int] = {}
        self._roots: dict[int, int] = {}
        start = 0
        for bit in reversed(range(capacity.bit_length())):
            if capacity >> bit & 1:
                self._roots[start] = 1 << bit
                self._free[1 << bit].add(start)
                start += 1 << bit

    @property
    def holes(self) -> list[tuple[int, int]]:
        """Free buddies as `(start, size)`, from left to right. Neighbours that are not buddies stay apart."""
        return sorted((start, size) for size, starts in self._free.items() for start in starts)

    @property
    def chunks(self) -> dict[int, int]:
        """Allocated chunks: first slot -> size, a power of two."""
        return dict(self._chunks)

    @property
    def num_free(self) -> int:
        """Free slots, wherever they lie."""
        return sum(size * len(starts) for size, starts in self._free.items())

    @property
    def largest_hole(self) -> int:
        """Size of the largest free buddy, 0 if nothing is free."""
        return max((size for size, starts in self._free.items() if starts), default=0)

    def allocate(self, size: int) -> int:
        """The first slot of a chunk of the next power of two above `size`. None large enough: `OutOfMemory`,
        nothing changed.
        """
        if size < 1:
            raise UsageError(f"a chunk has at least 1 slot, not {size}")
        wanted = next_power_of_two(size)
        found = min((free for free, starts in self._free.items() if starts and free >= wanted), default=None)
        if found is None:
            raise OutOfMemory(wanted, self.num_free, self.largest_hole)
        start = min(self._free[found])
        self._free[found].remove(start)
        while found > wanted:
            found //= 2
            self._free[found].add(start + found)
        self._chunks[start] = wanted
        return start

    def free(self, start: int) -> None:
        """Return the chunk that starts at `start`; it joins its buddy as long as that is free. No such chunk:
        `UsageError`.
        """
        if start not in self._chunks:
            raise UsageError(f"no chunk starts at slot {start}; it was never allocated or is free already")
        size = self._chunks.pop(start)
        while self._roots.get(start) != size and start ^ size in self._free[size]:
            self._free[size].remove(start ^ size)
            start, size = min(start, start ^ size), 2 * size
        self._free[size].add(start)

    def check(self) -> None:
        """Walk the arena: pieces tile it (I1), are aligned, and no two free buddies lie apart. Else
        `InvariantBroken`.
        """
        end = 0
        for start, size in sorted([*self.holes, *self._chunks.items()]):
            if start != end:
                raise InvariantBroken(
                    "I1", f"a piece of {size} slots starts at {start}, the one before it ends at {end}"
                )
            if size != next_power_of_two(size) or start % size:
                raise InvariantBroken("buddies", f"a piece of {size} slots at {start} is not aligned to a power of two")
            if (
                start in self._free.get(size, ())
                and self._roots.get(start) != size
                and start ^ size in self._free[size]
            ):
                raise InvariantBroken("coalescing", f"the free buddies at {start} and {start ^ size} lie apart")
            end += size
        if end != self.capacity:
            raise InvariantBroken("I1", f"chunks and holes end at {end}, the arena at {self.capacity}")
