"""A plain arena, in steps that a wrong one replaces one by one."""

from __future__ import annotations

from kvlab.errors import OutOfMemory, UsageError


def joined(holes):
    result = []
    for start, size in sorted(holes):
        if result and sum(result[-1]) == start:
            start, size = result[-1][0], result.pop()[1] + size
        result.append((start, size))
    return result


class Plain:
    def __init__(self, capacity):
        self.holes = [(0, capacity)]
        self.sizes = {}

    def choose(self, size):
        return next((hole for hole in self.holes if hole[1] >= size), None)

    def refuse(self, size):
        lengths = [length for _, length in self.holes]
        raise OutOfMemory(size, sum(lengths), max(lengths, default=0))

    def allocate(self, size):
        hole = self.choose(size)
        if hole is None:
            return self.refuse(size)
        return self.cut(hole, size)

    def cut(self, hole, size):
        i, (start, length) = self.holes.index(hole), hole
        self.holes[i : i + 1] = [(start + size, length - size)] if length > size else []
        self.sizes[start] = size
        return start

    def free(self, start):
        if start not in self.sizes:
            raise UsageError(f"no piece at {start}")
        self.give_back(start, self.sizes.pop(start))

    def give_back(self, start, size):
        self.holes = joined([*self.holes, (start, size)])
