"""Block pools whose refusal comes too late: by then something has changed (I13)."""

from __future__ import annotations

from kvlab.course.exercises.lab03_pool_counts import RefusesHalfway, ShareHalfway
from kvlab.course.exercises.lab03_pool_plain import Plain
from kvlab.errors import UsageError


class BothHalfway(RefusesHalfway, ShareHalfway):
    pass


class LowersThenLooks(Plain):
    def release(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
            if self.counts[block] < 0:
                raise UsageError("more releases than owners")
            if self.counts[block] == 0:
                self.free.append(block)


class LowersThenLooksBothHalfway(LowersThenLooks, ShareHalfway):
    pass


class LowersAllThenLooks(Plain):
    def release(self, blocks):
        self.lower(blocks)
        self.free += [block for block in set(blocks) if self.counts[block] == 0]

    def lower(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
        if any(self.counts[block] < 0 for block in blocks):
            raise UsageError("more releases than owners")


class LowersAllFreesTwice(LowersAllThenLooks):
    def release(self, blocks):
        self.lower(blocks)
        self.free += [block for block in blocks if self.counts[block] == 0]
