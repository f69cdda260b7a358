"""Block pools as beginners write them: one plain pool with a single thing done wrong."""

from __future__ import annotations

from collections import defaultdict

from kvlab.course.exercises.lab03_pool_plain import Plain
from kvlab.errors import OutOfBlocks, UsageError


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


class FreesAtFirstRelease(Plain):
    def give_back(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
            self.free.append(block)


class ReleaseForgetsTheFreeList(Plain):
    def give_back(self, blocks):
        for block in blocks:
            self.counts[block] -= 1


class ResetsToZero(Plain):
    def give_back(self, blocks):
        for block in blocks:
            self.counts[block] = 0
            if block not in self.free:
                self.free.append(block)


class CountStaysOne(Plain):
    def share(self, blocks):
        if any(self.counts[block] == 0 for block in blocks):
            raise UsageError("a free block has no owner")
        for block in blocks:
            self.counts[block] = 2


class TakeForgetsTheCount(Plain):
    def take(self, count):
        if count > len(self.free):
            return self.refuse(count)
        return [self.free.pop() for _ in range(count)]

    def give_back(self, blocks):
        self.free.extend(blocks)

    def release(self, blocks):
        self.give_back(blocks)


class DoubleFree(Plain):
    def release(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
            if self.counts[block] <= 0:
                self.free.append(block)


class CountsBelowZero(Plain):
    def release(self, blocks):
        self.give_back(blocks)


class IgnoresFreeBlocks(Plain):
    def release(self, blocks):
        for block in blocks:
            if self.counts[block] > 0:
                self.give_back([block])


class RefusesHalfway(Plain):
    def release(self, blocks):
        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError("already free")
            self.give_back([block])


class ShareHalfway(Plain):
    def share(self, blocks):
        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError("a free block has no owner")
            self.counts[block] += 1


class RepeatsNotSeen(Plain):
    def release(self, blocks):
        if any(self.counts[block] == 0 for block in blocks):
            raise UsageError("already free")
        self.give_back(blocks)


class EachOnlyOnce(Plain):
    def release(self, blocks):
        super().release(list(set(blocks)))


class SharesFreeBlocks(Plain):
    def share(self, blocks):
        for block in blocks:
            self.counts[block] += 1


class ValueErrors(Plain):
    def share(self, blocks):
        if any(self.counts[block] == 0 for block in blocks):
            raise ValueError("a free block has no owner")
        super().share(blocks)

    def release(self, blocks):
        if any(blocks.count(block) > self.counts[block] for block in blocks):
            raise ValueError("more releases than owners")
        super().release(blocks)


class EmptiesTheCallersList(Plain):
    def give_back(self, blocks):
        while blocks:
            block = blocks.pop()
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free.append(block)


class SharedBetweenPools(Plain):
    free, counts = [], []

    def __init__(self, num_blocks):
        self.free[:] = range(num_blocks)
        self.counts[:] = [0] * num_blocks
