"""Contiguous KV memory: one stretch of slots a request, holes between them, and what the holes cost."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from kvlab.errors import InvariantBroken, OutOfMemory, UsageError


class Arena:
    """A line of `capacity` slots from which contiguous chunks are cut.

    `fit` is "first" (the leftmost hole that is large enough) or "best" (the smallest, leftmost among equals).
    """

    def __init__(self, capacity: int, fit: Literal["first", "best"] = "first") -> None:
        if capacity < 1:
            raise UsageError(f"an arena needs at least 1 slot, not {capacity}")
        if fit not in ("first", "best"):
            raise UsageError(f"fit is 'first' or 'best', not {fit!r}")
        self.capacity, self.fit = capacity, fit
        self._holes: list[tuple[int, int]] = [(0, capacity)]  # (start, size), by start, never two in a row
        self._chunks: dict[int, int] = {}

    @property
    def holes(self) -> list[tuple[int, int]]:
        """Free stretches as `(start, size)`, from left to right; neighbours are one hole."""
        return list(self._holes)

    @property
    def chunks(self) -> dict[int, int]:
        """Allocated chunks: first slot -> size."""
        return dict(self._chunks)

    @property
    def num_free(self) -> int:
        """Free slots, wherever they lie."""
        return sum(size for _, size in self._holes)

    @property
    def largest_hole(self) -> int:
        """Size of the largest hole, 0 if nothing is free."""
        return max((size for _, size in self._holes), default=0)

    def allocate(self, size: int) -> int:
        """The first slot of a new chunk of `size` slots. Without a hole that is large enough: `OutOfMemory`,
        nothing changed.
        """
        if size < 1:
            raise UsageError(f"a chunk has at least 1 slot, not {size}")
        index = self._find(size)
        if index is None:
            raise OutOfMemory(size, self.num_free, self.largest_hole)
        start, hole = self._holes[index]
        self._holes[index : index + 1] = [(start + size, hole - size)] if hole > size else []
        self._chunks[start] = size
        return start

    def _find(self, size: int) -> int | None:
        fitting = ((hole, index) for index, (_, hole) in enumerate(self._holes) if hole >= size)
        if self.fit == "first":
            return next((index for _, index in fitting), None)
        return min(fitting, default=(0, None))[1]

    def free(self, start: int) -> None:
        """Return the chunk that starts at `start`; it joins the holes on both sides. No such chunk: `UsageError`."""
        if start not in self._chunks:
            raise UsageError(f"no chunk starts at slot {start}; it was never allocated or is free already")
        size = self._chunks.pop(start)
        index = bisect_left(self._holes, (start, 0))
        after = index < len(self._holes) and self._holes[index][0] == start + size
        before = index > 0 and sum(self._holes[index - 1]) == start
        left = self._holes[index - 1][0] if before else start
        right = sum(self._holes[index]) if after else start + size
        self._holes[index - before : index + after] = [(left, right - left)]

    def check(self) -> None:
        """Walk the arena: chunks and holes tile it exactly (I1) and no two holes are neighbours. Else
        `InvariantBroken`.
        """
        end, was_hole = 0, False
        pieces = [(start, size, True) for start, size in self._holes] + [
            (*chunk, False) for chunk in self._chunks.items()
        ]
        for start, size, is_hole in sorted(pieces):
            if start != end or size < 1:
                raise InvariantBroken(
                    "I1", f"a piece of {size} slots starts at {start}, the one before it ends at {end}"
                )
            if is_hole and was_hole:
                raise InvariantBroken("coalescing", f"two holes meet at slot {start}")
            end, was_hole = start + size, is_hole
        if end != self.capacity:
            raise InvariantBroken("I1", f"chunks and holes end at {end}, the arena at {self.capacity}")


class FirstFitArena(Arena):
    """An `Arena` that cuts from the leftmost hole that is large enough."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, "first")


def external_fragmentation(holes: Sequence[tuple[int, int]]) -> float:
    """1 - largest hole / all free slots: the share of free memory that one request cannot have. 0.0 if nothing is
    free.
    """
    sizes = [size for _, size in holes]
    return 1 - max(sizes) / sum(sizes) if sum(sizes) else 0.0


def compact(chunks: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int, int]], int]:
    """Slide `(start, size)` chunks to the left, order kept: the moves `(from, to, size)` and the tokens they copy.

    A chunk that stays where it is is not a move. Done from left to right, no move overwrites what is still to be moved.
    """
    moves, end = [], 0
    for start, size in sorted(chunks):
        if start != end:
            moves.append((start, end, size))
        end += size
    return moves, sum(size for _, _, size in moves)
