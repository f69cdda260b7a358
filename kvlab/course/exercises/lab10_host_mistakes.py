"""Host tiers as beginners write them, each the plain one with one thing done wrong: what is found, and who leaves."""

from __future__ import annotations

from kvlab.course.exercises.lab10_host_plain import Plain
from kvlab.errors import UsageError


class FoundAtBegin(Plain):
    def __contains__(self, key):
        return self.known(key)

    def place(self, key):
        return self.storing[key] if key in self.storing else super().place(key)


class NeverPublished(Plain):
    def store_done(self, key):
        pass


class StoringLeaves(Plain):
    def may_leave(self):
        return [key for key in (*self.stored, *self.storing) if not self.pins[key]]

    def leave(self, key):
        self.free.append(self.stored.pop(key) if key in self.stored else self.storing.pop(key))

    def store_done(self, key):
        self.stored[key] = self.storing.pop(key, 0)


class NewestLeaves(Plain):
    def may_leave(self):
        return super().may_leave()[::-1]


class TouchIsNothing(Plain):
    def touch(self, key):
        pass


class KnownIsUse(Plain):
    def store_begin(self, key):
        if key in self.stored:
            self.touch(key)
        return super().store_begin(key)


class OrderOfBegin(Plain):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.used, self.clock = {}, 0

    def use(self, key):
        self.clock += 1
        self.used[key] = self.clock

    def store_begin(self, key):
        place = super().store_begin(key)
        if place is not None:
            self.use(key)
        return place

    def touch(self, key):
        self.use(key)

    def may_leave(self):
        return sorted(super().may_leave(), key=self.used.__getitem__)


class StoredAgain(Plain):
    def known(self, key):
        return key in self.storing


class StoredAgainMeanwhile(Plain):
    def known(self, key):
        return key in self.stored


class KnownPlace(Plain):
    def store_begin(self, key):
        places = self.stored | self.storing
        return places[key] if key in places else super().store_begin(key)


class StillFound(Plain):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.ever = set()

    def store_done(self, key):
        super().store_done(key)
        self.ever.add(key)

    def __contains__(self, key):
        return key in self.ever


class NoEviction(Plain):
    def may_leave(self):
        return []


class FullRaises(Plain):
    def full(self):
        raise UsageError("nobody may leave")


class FullRaisesIndexError(Plain):
    def full(self):
        return [][0]


class OldestOnly(Plain):
    def may_leave(self):
        first = next(iter(self.stored), None)
        return [] if first is None or self.pins[first] else [first]


class AllLeave(Plain):
    def leave(self, key):
        for other in self.may_leave():
            super().leave(other)


class LeavesThoughFree(Plain):
    def store_begin(self, key):
        if not self.known(key) and self.may_leave():
            self.leave(self.may_leave()[0])
        return super().store_begin(key)


class LeavesForKnown(Plain):
    def store_begin(self, key):
        if not self.free and self.may_leave():
            self.leave(self.may_leave()[0])
        return super().store_begin(key)


class PlaceIsLost(Plain):
    def leave(self, key):
        self.stored.pop(key)
        self.free.append(self.num_blocks)
        self.num_blocks += 1


class PlacesCounted(Plain):
    def store_begin(self, key):
        place = super().store_begin(key)
        return None if place is None else len(self.stored) + len(self.storing) - 1


class Shared(Plain):
    kept: dict = {}

    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.stored = self.kept
