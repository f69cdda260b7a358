"""The host tier that the known mistakes start from: a right one, in small steps that a mistake may replace."""

from __future__ import annotations

from collections import Counter

from kvlab.errors import UsageError


class Plain:
    """A right tier: `stored` is in the order of use, the least recently used first."""

    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.free = list(range(num_blocks))
        self.storing, self.stored, self.pins = {}, {}, Counter()

    def __contains__(self, key):
        return key in self.stored

    def known(self, key):
        return key in self.stored or key in self.storing

    def may_leave(self):
        return [key for key in self.stored if not self.pins[key]]

    def leave(self, key):
        self.free.append(self.stored.pop(key))

    def full(self):
        return None

    def store_begin(self, key):
        if self.known(key):
            return None
        if not self.free:
            victims = self.may_leave()
            if not victims:
                return self.full()
            self.leave(victims[0])
        self.storing[key] = self.free.pop()
        return self.storing[key]

    def store_done(self, key):
        self.stored[key] = self.storing.pop(key)

    def touch(self, key):
        self.stored[key] = self.stored.pop(key)

    def place(self, key):
        if key not in self.stored:
            raise UsageError(f"{key} is not stored")
        return self.stored[key]

    def pin(self, key):
        place = self.place(key)
        self.pins[key] += 1
        return place

    def unpin(self, key):
        self.pins[key] -= 1
