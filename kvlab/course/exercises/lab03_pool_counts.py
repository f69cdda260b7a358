"""Block pools that lose count of a block's owners (I2): when one is added, when one leaves, and when neither may be."""

from __future__ import annotations

from kvlab.course.exercises.lab03_pool_plain import Plain
from kvlab.errors import UsageError


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
