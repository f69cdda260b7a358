"""Arenas in any order of calls, beside a model that knows only which slot belongs to whom."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kvlab.errors import OutOfMemory, UsageError
from kvlab.memory import Arena, BuddyArena, next_power_of_two
from kvlab.memory.contiguous import ContiguousMemory
from tests.memory.snapshots import snapshot

CAPACITY = st.integers(1, 70)


class ArenaMachine(RuleBasedStateMachine):
    """The model is the memory itself: one owner (a chunk's first slot) or None for each slot."""

    arena: ContiguousMemory
    slots: list[int | None]

    def holes(self) -> list[tuple[int, int]]:
        """Maximal runs of slots without an owner."""
        found, start = [], None
        for slot, owner in enumerate([*self.slots, -1]):
            if owner is None and start is None:
                start = slot
            elif owner is not None and start is not None:
                found.append((start, slot - start))
                start = None
        return found

    def expected_start(self, size: int) -> int | None:
        raise NotImplementedError

    def granted(self, size: int) -> int:
        return size

    @rule(size=st.integers(1, 80))
    def allocate(self, size: int) -> None:
        expected, before = self.expected_start(size), snapshot(self.arena)
        if expected is None:
            with pytest.raises(OutOfMemory) as raised:
                self.arena.allocate(size)
            assert (raised.value.needed, raised.value.free) == (self.granted(size), self.slots.count(None))
            assert raised.value.largest == self.arena.largest_hole < self.granted(size)
            assert snapshot(self.arena) == before
            return
        assert self.arena.allocate(size) == expected
        for slot in range(expected, expected + self.granted(size)):
            assert self.slots[slot] is None
            self.slots[slot] = expected

    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        owners = sorted({owner for owner in self.slots if owner is not None})
        if owners:
            start = data.draw(st.sampled_from(owners))
            self.arena.free(start)
            self.slots = [None if owner == start else owner for owner in self.slots]

    @rule(start=st.integers(-2, 75))
    def free_what_was_never_allocated(self, start: int) -> None:
        if start not in self.slots:
            before = snapshot(self.arena)
            with pytest.raises(UsageError):
                self.arena.free(start)
            assert snapshot(self.arena) == before

    @invariant()
    def agrees_with_the_model(self) -> None:
        self.arena.check()
        owners = {owner for owner in self.slots if owner is not None}
        assert self.arena.chunks == {owner: self.slots.count(owner) for owner in owners}
        assert self.arena.num_free == self.slots.count(None)


class FitMachine(ArenaMachine):
    @initialize(capacity=CAPACITY, fit=st.sampled_from(["first", "best"]))
    def begin(self, capacity: int, fit: str) -> None:
        self.arena, self.slots, self.fit = Arena(capacity, fit), [None] * capacity, fit  # type: ignore[arg-type]

    def expected_start(self, size: int) -> int | None:
        fitting = [(hole, start) for start, hole in self.holes() if hole >= size]
        if self.fit == "first":
            return min((start for _, start in fitting), default=None)
        return min(fitting)[1] if fitting else None

    @invariant()
    def holes_are_the_maximal_runs(self) -> None:
        assert self.arena.holes == self.holes()
        assert self.arena.largest_hole == max((size for _, size in self.holes()), default=0)


class BuddyMachine(ArenaMachine):
    @initialize(capacity=CAPACITY)
    def begin(self, capacity: int) -> None:
        self.arena, self.slots = BuddyArena(capacity), [None] * capacity

    def granted(self, size: int) -> int:
        return next_power_of_two(size)

    def free_pieces(self) -> list[tuple[int, int]]:
        """(size, start) of the largest free pieces: cut until each piece is all free or all used."""
        pieces, start = [], 0
        for bit in reversed(range(7)):
            if len(self.slots) >> bit & 1:
                self.cut(start, 1 << bit, pieces)
                start += 1 << bit
        return pieces

    def cut(self, start: int, size: int, pieces: list[tuple[int, int]]) -> None:
        inside = self.slots[start : start + size]
        if all(owner is None for owner in inside):
            pieces.append((size, start))
        elif any(owner is None for owner in inside):
            self.cut(start, size // 2, pieces)
            self.cut(start + size // 2, size // 2, pieces)

    def expected_start(self, size: int) -> int | None:
        fitting = [piece for piece in self.free_pieces() if piece[0] >= self.granted(size)]
        return min(fitting)[1] if fitting else None

    @invariant()
    def holes_are_the_largest_free_pieces(self) -> None:
        assert self.arena.holes == sorted((start, size) for size, start in self.free_pieces())


STEPS = settings(max_examples=50, stateful_step_count=35, deadline=None)

FitMachine.TestCase.settings = STEPS
TestArenaInAnyOrder = FitMachine.TestCase
BuddyMachine.TestCase.settings = STEPS
TestBuddyArenaInAnyOrder = BuddyMachine.TestCase
