"""The buddy allocator: chunks are powers of two, and a freed chunk becomes one with its buddy if that is free too."""

from __future__ import annotations

from operator import index

from kvlab.errors import InvariantBroken, OutOfMemory, UsageError

from .contiguous import ContiguousMemory
from .policies import next_power_of_two


class BuddyArena(ContiguousMemory):
    """Chunks whose sizes are powers of two and that start at multiples of their size (Knowlton 1965, CACM 8(10)).

    The buddy of a chunk is the other half of the piece it was cut from: its address differs in one bit. A capacity
    that is no power of two is a row of such pieces, the largest first. A call that is refused changes nothing
    (I13).
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._free: dict[int, set[int]] = {1 << bit: set() for bit in range(capacity.bit_length())}  # size -> starts
        self._roots: dict[int, int] = {}  # start -> size; a root has no buddy
        start = 0
        for size in sorted(self._free, reverse=True):
            if capacity & size:
                self._roots[start] = size
                self._free[size].add(start)
                start += size

    @property
    def holes(self) -> list[tuple[int, int]]:
        """Free pieces as `(start, size)`, from left to right. Neighbours that are not buddies stay apart."""
        return sorted((start, size) for size, starts in self._free.items() for start in starts)

    def allocate(self, size: int) -> int:
        """The first slot of a chunk of the next power of two from `size` (>= 1) on. No piece so large: `OutOfMemory`.

        It is cut, by halves, from the smallest piece that is large enough, the leftmost among equals.
        """
        size = index(size)
        if size < 1:
            raise UsageError(f"a chunk has at least 1 slot, not {size}")
        wanted = next_power_of_two(size)
        piece = min((free for free, starts in self._free.items() if starts and free >= wanted), default=None)
        if piece is None:
            raise OutOfMemory(wanted, self.num_free, self.largest_hole)
        start = min(self._free[piece])
        self._free[piece].remove(start)
        while piece > wanted:
            piece //= 2
            self._free[piece].add(start + piece)
        self._chunks[start] = wanted
        return start

    def free(self, start: int) -> None:
        """Return the chunk that starts at `start`; it joins its buddy for as long as that is free. None:
        `UsageError`.
        """
        size = self._close(start)
        while self._buddy_is_free(start, size):
            self._free[size].remove(start ^ size)
            start, size = min(start, start ^ size), 2 * size
        self._free[size].add(start)

    def _buddy_is_free(self, start: int, size: int) -> bool:
        return self._roots.get(start) != size and start ^ size in self._free[size]

    def check(self) -> None:
        """Walk the arena. `InvariantBroken` if the pieces do not tile it (I1), are misplaced, or are free buddies
        apart.
        """
        self._check_tiles()
        for start, size in [*self.holes, *self._chunks.items()]:
            if size != next_power_of_two(size) or start % size:
                raise InvariantBroken(
                    "buddies", f"{size} slots at {start} are not a power of two at a multiple of itself"
                )
        for start, size in self.holes:
            if self._buddy_is_free(start, size):
                raise InvariantBroken(
                    "coalescing", f"the buddies of {size} at {start} and {start ^ size} are free, apart"
                )
