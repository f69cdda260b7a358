"""Block pools as beginners write them: one plain pool with a single thing done wrong."""

from __future__ import annotations

from collections import defaultdict

from kvlab.course.exercises.lab03_pool_plain import Plain
from kvlab.errors import OutOfBlocks


class TakesOneByOne(Plain):
    def take(self, count):
        taken = []
        for _ in range(count):
            if not self.free:
                raise OutOfBlocks(count, len(taken))
            taken.append(self.free.pop())
            self.counts[taken[-1]] = 1
        return taken


class PopsFromEmpty(Plain):
    def take(self, count):
        taken = [self.free.pop() for _ in range(count)]
        for block in taken:
            self.counts[block] = 1
        return taken


class GivesWhatThereIs(Plain):
    def take(self, count):
        taken, self.free = self.free[:count], self.free[count:]
        for block in taken:
            self.counts[block] = 1
        return taken


class ReturnsNone(Plain):
    def refuse(self, count):
        return None


class ReturnsEmpty(Plain):
    def refuse(self, count):
        return []


class OtherException(Plain):
    def refuse(self, count):
        raise ValueError("not enough blocks")


class NumbersSwapped(Plain):
    def refuse(self, count):
        raise OutOfBlocks(len(self.free), count)


class SaysWhatIsMissing(Plain):
    def refuse(self, count):
        raise OutOfBlocks(count - len(self.free), len(self.free))


class ReusesOneList(Plain):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.out = []

    def take(self, count):
        taken = super().take(count)
        self.out.clear()
        self.out.extend(taken)
        return self.out


class KeepsOneBack(Plain):
    def take(self, count):
        return super().take(count) if count < len(self.free) else self.refuse(count)


class NumbersFromOne(Plain):
    def __init__(self, num_blocks):
        self.free = list(range(1, num_blocks + 1))
        self.counts = [0] * (num_blocks + 1)


class NeverReusesList(Plain):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.next, self.total, self.released = 0, num_blocks, 0

    @property
    def num_free(self):
        return self.total - self.next + self.released

    def take(self, count):
        if count > self.num_free:
            raise OutOfBlocks(count, self.num_free)
        taken = list(range(self.next, self.next + count))
        self.next += count
        for block in taken:
            self.counts[block] = 1
        return taken

    def give_back(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
            self.released += self.counts[block] == 0


class NeverReuses(NeverReusesList):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.counts = defaultdict(int)


class SharedBetweenPools(Plain):
    free, counts = [], []

    def __init__(self, num_blocks):
        self.free[:] = range(num_blocks)
        self.counts[:] = [0] * num_blocks
