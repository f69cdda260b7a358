"""Contiguous KV memory: one stretch of slots a request, the holes between them, and what the holes cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import index
from typing import Literal

from kvlab.errors import InvariantBroken, OutOfMemory, UsageError

from .waste import Tenant, Waste, arena_waste


class ContiguousMemory(ABC):
    """A line of `capacity` slots from which contiguous chunks are cut, and what can be said of every such line."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise UsageError(f"an arena needs at least 1 slot, not {capacity}")
        self.capacity = capacity
        self._chunks: dict[int, int] = {}

    def __repr__(self) -> str:
        holes = self.holes
        return f"{type(self).__name__}({self.capacity} slots, {self.num_free} free in {len(holes)} holes)"

    @property
    @abstractmethod
    def holes(self) -> list[tuple[int, int]]:
        """Free stretches as `(start, size)`, from left to right."""

    @property
    def chunks(self) -> dict[int, int]:
        """A copy of the allocated chunks: first slot -> size."""
        return self._chunks.copy()

    @property
    def num_free(self) -> int:
        """Free slots, wherever they lie."""
        return sum(size for _, size in self.holes)

    @property
    def largest_hole(self) -> int:
        """Slots of the largest hole, 0 if nothing is free."""
        return max((size for _, size in self.holes), default=0)

    def waste(self, tenants: Mapping[int, Tenant], waiting: int = 0) -> Waste:
        """Where the slots are: `tenants` says (prompt, answer, generated) for each chunk's first slot; see
        `arena_waste`.
        """
        return arena_waste(self._chunks, self.holes, tenants, waiting)

    def _close(self, start: int) -> int:
        """Forget the chunk that starts at `start` and return its size. No such chunk: `UsageError`."""
        if start not in self._chunks:
            raise UsageError(f"no chunk starts at slot {start}: it was never allocated, or is free already")
        return self._chunks.pop(start)

    def _check_tiles(self) -> None:
        """Chunks and holes tile the memory: each piece starts where the one before it ends (I1)."""
        end = 0
        for start, size in sorted([*self.holes, *self._chunks.items()]):
            if start != end or size < 1:
                raise InvariantBroken(
                    "I1", f"a piece of {size} slots starts at {start}; the one before it ends at {end}"
                )
            end += size
        if end != self.capacity:
            raise InvariantBroken("I1", f"chunks and holes end at slot {end}, the memory at {self.capacity}")


class Arena(ContiguousMemory):
    """Chunks of any size. `fit` says from which hole they are cut: the "first" that is large enough, or the "best".

    The best is the smallest that is large enough, the leftmost among equals. A call that is refused changes nothing
    (I13).
    """

    def __init__(self, capacity: int, fit: Literal["first", "best"] = "first") -> None:
        super().__init__(capacity)
        if fit not in ("first", "best"):
            raise UsageError(f"fit is 'first' or 'best', not {fit!r}")
        self.fit = fit
        self._holes: list[tuple[int, int]] = [(0, capacity)]  # by start; two never touch

    @property
    def holes(self) -> list[tuple[int, int]]:
        """Free stretches as `(start, size)`, from left to right; two that touch are one."""
        return self._holes.copy()

    def allocate(self, size: int) -> int:
        """The first slot of a new chunk of `size` (>= 1) slots. Without a hole that is large enough: `OutOfMemory`."""
        size = index(size)
        if size < 1:
            raise UsageError(f"a chunk has at least 1 slot, not {size}")
        position = self._find(size)
        if position is None:
            raise OutOfMemory(size, self.num_free, self.largest_hole)
        start, hole = self._holes[position]
        self._holes[position : position + 1] = [(start + size, hole - size)] if hole > size else []
        self._chunks[start] = size
        return start

    def _find(self, size: int) -> int | None:
        """Where in the list of holes the one to cut from stands, None if there is none."""
        fitting = [(hole, position) for position, (_, hole) in enumerate(self._holes) if hole >= size]
        if not fitting:
            return None
        return fitting[0][1] if self.fit == "first" else min(fitting)[1]

    def free(self, start: int) -> None:
        """Return the chunk that starts at `start`; it becomes one with holes it touches. No such chunk:
        `UsageError`.
        """
        size, holes = self._close(start), self._holes
        position = bisect_left(holes, (start, 0))
        left, right = start, start + size
        if position < len(holes) and holes[position][0] == right:
            right += holes.pop(position)[1]
        if position and sum(holes[position - 1]) == left:
            position -= 1
            left = holes.pop(position)[0]
        holes.insert(position, (left, right - left))

    def check(self) -> None:
        """Walk the arena. `InvariantBroken` if chunks and holes do not tile it (I1), or if two holes touch."""
        self._check_tiles()
        for (start, size), (following, _) in zip(self._holes, self._holes[1:], strict=False):
            if start + size >= following:
                raise InvariantBroken("coalescing", f"the holes at {start} and {following} are not in order or touch")


class FirstFitArena(Arena):
    """An `Arena` that cuts from the leftmost hole that is large enough."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, "first")


def external_fragmentation(holes: Sequence[tuple[int, int]]) -> float:
    """The share of free memory outside the largest of the `(start, size)` holes, which no single request can use.

    1 - largest / total; 0.0 if nothing is free.
    """
    sizes = [size for _, size in holes]
    return 1 - max(sizes) / sum(sizes) if sum(sizes) else 0.0


def compact(chunks: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int, int]], int]:
    """Slide `(start, size)` chunks to the left, order kept: the moves `(from, to, size)` and the tokens they copy
    in all.

    A chunk that stays is not a move. Done in the order given, no move overwrites tokens that are still to be moved,
    though a move may overlap itself. Chunks that overlap raise `UsageError`.
    """
    moves, end, last = [], 0, 0
    for start, size in sorted(chunks):
        if start < last or size < 1:
            raise UsageError(f"the chunk of {size} slots at {start} overlaps the one that ends at {last}")
        if start != end:
            moves.append((start, end, size))
        end, last = end + size, start + size
    return moves, sum(size for _, _, size in moves)
