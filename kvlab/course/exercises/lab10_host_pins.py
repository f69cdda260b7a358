"""Host tiers as beginners write them, where pins are counted, kept and let go."""

from __future__ import annotations

from collections import defaultdict

from kvlab.course.exercises.lab10_host_plain import Plain


class PinnedWhileStoring(Plain):
    def place(self, key):
        return self.storing[key] if key in self.storing else super().place(key)


class PinnedLeaves(Plain):
    def may_leave(self):
        return list(self.stored)


class PinIsUse(Plain):
    def pin(self, key):
        place = super().pin(key)
        self.touch(key)
        return place


class PinsAreASet(Plain):
    def unpin(self, key):
        del self.pins[key]


class PinsDeleted(Plain):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.pins = defaultdict(int)

    def unpin(self, key):
        del self.pins[key]


class UnpinIsNothing(Plain):
    def unpin(self, key):
        pass


class PinOfNothing(Plain):
    def place(self, key):
        return self.stored.get(key)


class PinKeyError(Plain):
    def place(self, key):
        return self.stored[key]


class PinReturnsNothing(Plain):
    def pin(self, key):
        super().pin(key)


class PinTakesOut(Plain):
    def __contains__(self, key):
        return key in self.stored and not self.pins[key]
