"""Arenas as beginners write them. All but the first are one plain arena with a single thing done wrong."""

from __future__ import annotations

from kvlab.course.exercises.lab02_arena_plain import Plain, joined
from kvlab.errors import OutOfMemory, UsageError


class SharedBetweenArenas:
    holes, sizes = [], {}  # type: ignore[var-annotated]

    def __init__(self, capacity):
        self.holes[:] = [(0, capacity)]
        self.sizes.clear()

    def allocate(self, size):
        for i, (start, length) in enumerate(self.holes):
            if length >= size:
                self.holes[i : i + 1] = [(start + size, length - size)] if length > size else []
                self.sizes[start] = size
                return start
        raise OutOfMemory(size, sum(n for _, n in self.holes), max([n for _, n in self.holes], default=0))

    def free(self, start):
        if start not in self.sizes:
            raise UsageError(f"no piece at {start}")
        self.holes[:] = joined([*self.holes, (start, self.sizes.pop(start))])


class BestFit(Plain):
    def choose(self, size):
        return min((hole for hole in self.holes if hole[1] >= size), key=lambda hole: hole[1], default=None)


class WorstFit(Plain):
    def choose(self, size):
        return max((hole for hole in self.holes if hole[1] >= size), key=lambda hole: hole[1], default=None)


class FromTheEnd(Plain):
    def cut(self, hole, size):
        i, (start, length) = self.holes.index(hole), hole
        self.holes[i : i + 1] = [(start, length - size)] if length > size else []
        self.sizes[start + length - size] = size
        return start + length - size


class EmptyHoles(Plain):
    def cut(self, hole, size):
        i, (start, length) = self.holes.index(hole), hole
        self.holes[i] = (start + size, length - size)
        self.sizes[start] = size
        return start


class ExactFitRefused(Plain):
    def choose(self, size):
        return next((hole for hole in self.holes if hole[1] > size), None)


class RestAtTheEnd(Plain):
    def cut(self, hole, size):
        start, length = hole
        self.holes.remove(hole)
        if length > size:
            self.holes.append((start + size, length - size))
        self.sizes[start] = size
        return start


class FreeAndLargestSwapped(Plain):
    def refuse(self, size):
        lengths = [length for _, length in self.holes]
        raise OutOfMemory(size, max(lengths, default=0), sum(lengths))


class HighestForLargest(Plain):
    def refuse(self, size):
        raise OutOfMemory(size, sum(length for _, length in self.holes), max(self.holes)[1] if self.holes else 0)


class MaxOfNothing(Plain):
    def refuse(self, size):
        lengths = [length for _, length in self.holes]
        raise OutOfMemory(size, sum(lengths), max(lengths))


class NeverReuses(Plain):
    def choose(self, size):
        return next((hole for hole in self.holes[-1:] if hole[1] >= size), None)


class CountsFreeSlots(Plain):
    def choose(self, size):
        fitting = next((hole for hole in self.holes if hole[1] >= size), None)
        return fitting or (self.holes[0] if sum(length for _, length in self.holes) >= size else None)

    def cut(self, hole, size):
        i, (start, length) = self.holes.index(hole), hole
        self.holes[i : i + 1] = [(start + size, length - size)] if length > size else []
        self.sizes[start] = size
        return start


class ReturnsNone(Plain):
    def refuse(self, size):
        return None


class OtherException(Plain):
    def refuse(self, size):
        raise MemoryError(f"no room for {size}")


class FreesTwice(Plain):
    def free(self, start):
        if start not in self.sizes:
            raise UsageError(f"no piece at {start}")
        self.give_back(start, self.sizes[start])


class IgnoresUnknown(Plain):
    def free(self, start):
        if start in self.sizes:
            self.give_back(start, self.sizes.pop(start))


class KeyErrorForUnknown(Plain):
    def free(self, start):
        self.give_back(start, self.sizes.pop(start))
