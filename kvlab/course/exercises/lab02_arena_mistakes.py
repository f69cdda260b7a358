"""Arenas as beginners write them. All but the first are one plain arena with a single thing done wrong."""

from __future__ import annotations

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


def joined(holes):
    result = []
    for start, size in sorted(holes):
        if result and sum(result[-1]) == start:
            start, size = result[-1][0], result.pop()[1] + size
        result.append((start, size))
    return result


class _Plain:
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


class BestFit(_Plain):
    def choose(self, size):
        return min((hole for hole in self.holes if hole[1] >= size), key=lambda hole: hole[1], default=None)


class WorstFit(_Plain):
    def choose(self, size):
        return max((hole for hole in self.holes if hole[1] >= size), key=lambda hole: hole[1], default=None)


class FromTheEnd(_Plain):
    def cut(self, hole, size):
        i, (start, length) = self.holes.index(hole), hole
        self.holes[i : i + 1] = [(start, length - size)] if length > size else []
        self.sizes[start + length - size] = size
        return start + length - size


class NeverJoins(_Plain):
    def give_back(self, start, size):
        self.holes = sorted([*self.holes, (start, size)])


class JoinsRightOnly(_Plain):
    def give_back(self, start, size):
        for hole in self.holes:
            if hole[0] == start + size:
                self.holes.remove(hole)
                size += hole[1]
                break
        self.holes = sorted([*self.holes, (start, size)])


class JoinsLeftOnly(_Plain):
    def give_back(self, start, size):
        for hole in self.holes:
            if sum(hole) == start:
                self.holes.remove(hole)
                start, size = hole[0], hole[1] + size
                break
        self.holes = sorted([*self.holes, (start, size)])


class JoinsOneSide(_Plain):
    def give_back(self, start, size):
        for i, (other, length) in enumerate(self.holes):
            if other + length == start:
                self.holes[i] = (other, length + size)
                return
            if start + size == other:
                self.holes[i] = (start, size + length)
                return
        self.holes = sorted([*self.holes, (start, size)])


class JoinsRightOrLeft(_Plain):
    def give_back(self, start, size):
        for other, length in self.holes:
            if other == start + size:
                self.holes.remove((other, length))
                self.holes = sorted([*self.holes, (start, size + length)])
                return
        for i, (other, length) in enumerate(self.holes):
            if other + length == start:
                self.holes[i] = (other, length + size)
                return
        self.holes = sorted([*self.holes, (start, size)])


class EmptyHoles(_Plain):
    def cut(self, hole, size):
        i, (start, length) = self.holes.index(hole), hole
        self.holes[i] = (start + size, length - size)
        self.sizes[start] = size
        return start


class ExactFitRefused(_Plain):
    def choose(self, size):
        return next((hole for hole in self.holes if hole[1] > size), None)


class HolesInOrderOfFreeing(_Plain):
    def give_back(self, start, size):
        for hole in list(self.holes):
            if sum(hole) == start:
                self.holes.remove(hole)
                start, size = hole[0], hole[1] + size
            elif start + size == hole[0]:
                self.holes.remove(hole)
                size += hole[1]
        self.holes.append((start, size))


class RestAtTheEnd(_Plain):
    def cut(self, hole, size):
        start, length = hole
        self.holes.remove(hole)
        if length > size:
            self.holes.append((start + size, length - size))
        self.sizes[start] = size
        return start


class FreeAndLargestSwapped(_Plain):
    def refuse(self, size):
        lengths = [length for _, length in self.holes]
        raise OutOfMemory(size, max(lengths, default=0), sum(lengths))


class HighestForLargest(_Plain):
    def refuse(self, size):
        raise OutOfMemory(size, sum(length for _, length in self.holes), max(self.holes)[1] if self.holes else 0)


class DeletesWhileWalking(_Plain):
    def give_back(self, start, size):
        self.holes = sorted([*self.holes, (start, size)])
        for i in range(len(self.holes) - 1):
            (left, length), (right, more) = self.holes[i], self.holes[i + 1]
            if left + length == right:
                self.holes[i : i + 2] = [(left, length + more)]


class MaxOfNothing(_Plain):
    def refuse(self, size):
        lengths = [length for _, length in self.holes]
        raise OutOfMemory(size, sum(lengths), max(lengths))


class NeverReuses(_Plain):
    def choose(self, size):
        return next((hole for hole in self.holes[-1:] if hole[1] >= size), None)


class CountsFreeSlots(_Plain):
    def choose(self, size):
        fitting = next((hole for hole in self.holes if hole[1] >= size), None)
        return fitting or (self.holes[0] if sum(length for _, length in self.holes) >= size else None)

    def cut(self, hole, size):
        i, (start, length) = self.holes.index(hole), hole
        self.holes[i : i + 1] = [(start + size, length - size)] if length > size else []
        self.sizes[start] = size
        return start


class ReturnsNone(_Plain):
    def refuse(self, size):
        return None


class OtherException(_Plain):
    def refuse(self, size):
        raise MemoryError(f"no room for {size}")


class FreesTwice(_Plain):
    def free(self, start):
        if start not in self.sizes:
            raise UsageError(f"no piece at {start}")
        self.give_back(start, self.sizes[start])


class IgnoresUnknown(_Plain):
    def free(self, start):
        if start in self.sizes:
            self.give_back(start, self.sizes.pop(start))


class KeyErrorForUnknown(_Plain):
    def free(self, start):
        self.give_back(start, self.sizes.pop(start))
