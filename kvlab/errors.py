"""The course's own exceptions. Every one derives from `KVLabError` and names the numbers needed and there."""

from __future__ import annotations


class KVLabError(Exception):
    """Root of every exception that kvlab raises on purpose."""


class UsageError(KVLabError, ValueError):
    """A call that can never be right: a negative size, an unknown block, a policy that does not exist."""


class OutOfBlocks(KVLabError):
    """A block pool cannot give what was asked. Nothing was taken (I13)."""

    def __init__(self, needed: int, free: int) -> None:
        there = f"there {'was' if free == 1 else 'were'} {free}"
        super().__init__(f"needed {needed} free block{'s' * (needed != 1)}, {there}")
        self.needed, self.free = needed, free

    def __reduce__(self):  # the default would call __init__ with the message alone
        return type(self), (self.needed, self.free)


class OutOfPages(KVLabError):
    """A budget of physical pages cannot give what was asked. Nothing was mapped (I13)."""

    def __init__(self, needed: int, free: int) -> None:
        there = f"there {'was' if free == 1 else 'were'} {free}"
        super().__init__(f"needed {needed} free page{'s' * (needed != 1)}, {there}")
        self.needed, self.free = needed, free

    def __reduce__(self):
        return type(self), (self.needed, self.free)


class OutOfMemory(KVLabError):
    """No hole of a contiguous arena is large enough, whatever the free slots add up to. Nothing was taken (I13)."""

    def __init__(self, needed: int, free: int, largest: int) -> None:
        super().__init__(f"needed {needed} slots in one piece; {free} were free, the largest hole had {largest}")
        self.needed, self.free, self.largest = needed, free, largest

    def __reduce__(self):
        return type(self), (self.needed, self.free, self.largest)


class InvariantBroken(KVLabError):
    """A `check()` found a broken invariant: `invariant` is its number in the course, such as "I2"."""

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant, self.detail = invariant, detail

    def __reduce__(self):
        return type(self), (self.invariant, self.detail)
