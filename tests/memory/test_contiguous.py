"""Arenas by hand: where chunks go, what is refused, and that `check` sees each kind of damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, OutOfMemory, UsageError
from kvlab.memory import Arena, BuddyArena, FirstFitArena, compact, external_fragmentation
from tests.memory.snapshots import refused


def holed(fit: str) -> Arena:
    """An arena of 100 with holes of 20, 10 and 30 at 0, 30 and 70."""
    arena = Arena(100, fit)  # type: ignore[arg-type]
    for size in (20, 10, 10, 30, 30):
        arena.allocate(size)
    for start in (0, 30, 70):
        arena.free(start)
    assert arena.holes == [(0, 20), (30, 10), (70, 30)]
    return arena


def test_first_fit_takes_the_leftmost_hole_that_is_large_enough() -> None:
    arena = holed("first")
    assert [arena.allocate(size) for size in (10, 10, 10, 25)] == [0, 10, 30, 70]
    arena.check()


def test_best_fit_takes_the_smallest_hole_that_is_large_enough() -> None:
    arena = holed("best")
    assert [arena.allocate(size) for size in (10, 15, 25)] == [30, 0, 70]
    arena.check()


def test_first_fit_under_its_own_name() -> None:
    assert FirstFitArena(10).fit == Arena(10).fit == "first"


@pytest.mark.parametrize("order", [(0, 10, 20), (0, 20, 10), (10, 0, 20), (10, 20, 0), (20, 0, 10), (20, 10, 0)])
def test_freed_neighbours_become_one_hole_in_any_order(order: tuple[int, ...]) -> None:
    arena = Arena(30)
    for _ in range(3):
        arena.allocate(10)
    for start in order:
        arena.free(start)
        arena.check()
    assert arena.holes == [(0, 30)]
    assert arena.chunks == {}


def test_enough_in_total_but_not_in_one_piece_is_refused_with_all_three_numbers() -> None:
    arena = holed("first")
    raised = refused(OutOfMemory, arena, call=lambda: arena.allocate(31))
    assert (raised.value.needed, raised.value.free, raised.value.largest) == (31, 60, 30)
    assert "31" in str(raised.value) and "60" in str(raised.value) and "30" in str(raised.value)


def test_a_full_arena_refuses_even_one_slot() -> None:
    for arena in (Arena(8), BuddyArena(8)):
        arena.allocate(8)
        refused(OutOfMemory, arena, call=lambda arena=arena: arena.allocate(1), match="0 were free")


@pytest.mark.parametrize("make", [Arena, lambda slots: Arena(slots, "best"), BuddyArena])
def test_calls_that_can_never_be_right_change_nothing(make) -> None:
    arena = make(64)
    start = arena.allocate(8)
    arena.free(start)
    arena.allocate(16)
    refused(UsageError, arena, call=lambda: arena.allocate(0), match="not 0")
    refused(UsageError, arena, call=lambda: arena.allocate(-3), match="not -3")
    refused(TypeError, arena, call=lambda: arena.allocate(2.5))
    refused(UsageError, arena, call=lambda: arena.free(5), match="no chunk starts at slot 5")
    arena.free(0)
    refused(UsageError, arena, call=lambda: arena.free(0), match="free already")
    for capacity in (0, -1):
        with pytest.raises(UsageError):
            make(capacity)


def test_an_unknown_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="'worst'"):
        Arena(10, "worst")  # type: ignore[arg-type]


def test_views_are_copies() -> None:
    for arena in (Arena(16), BuddyArena(16)):
        arena.allocate(4)
        arena.holes.clear()
        arena.chunks.clear()
        arena.check()
        assert arena.chunks == {0: 4}


def test_an_arena_says_how_full_it_is() -> None:
    assert repr(holed("first")) == "Arena(100 slots, 60 free in 3 holes)"


def test_buddies_round_up_and_start_at_multiples_of_their_size() -> None:
    arena = BuddyArena(64)
    assert [arena.allocate(size) for size in (5, 8, 9, 1)] == [0, 8, 16, 32]
    assert arena.chunks == {0: 8, 8: 8, 16: 16, 32: 1}
    arena.check()
    for start in (8, 0, 32, 16):
        arena.free(start)
        arena.check()
    assert arena.holes == [(0, 64)]


def test_a_buddy_is_refused_what_it_has_only_after_rounding() -> None:
    arena = BuddyArena(15_700)
    raised = refused(OutOfMemory, arena, call=lambda: arena.allocate(8193))
    assert (raised.value.needed, raised.value.free, raised.value.largest) == (16_384, 15_700, 8192)


def test_a_capacity_that_is_no_power_of_two_is_a_row_of_pieces_that_never_join() -> None:
    arena = BuddyArena(15_700)
    whole = [(0, 8192), (8192, 4096), (12288, 2048), (14336, 1024), (15360, 256), (15616, 64), (15680, 16), (15696, 4)]
    assert arena.holes == whole
    starts = [arena.allocate(size) for _, size in whole]
    assert starts == [start for start, _ in whole]
    for start in starts:
        arena.free(start)
        arena.check()
    assert arena.holes == whole


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda arena: arena._chunks.pop(20), "I1"),
        (lambda arena: arena._chunks.update({20: 11}), "I1"),
        (lambda arena: arena._chunks.update({5: 5}), "I1"),
        (lambda arena: arena._holes.append((100, 10)), "I1"),
        (lambda arena: arena._holes.pop(), "I1"),
        (lambda arena: arena._holes.append((100, 0)), "I1"),
        (lambda arena: arena._holes.__setitem__(slice(0, 1), [(0, 10), (10, 10)]), "coalescing"),
        (lambda arena: arena._holes.reverse(), "coalescing"),
    ],
)
def test_a_damaged_arena_is_found_out(damage, invariant: str) -> None:
    arena = holed("first")
    arena.check()
    damage(arena)
    with pytest.raises(InvariantBroken, match=invariant):
        arena.check()


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda arena: arena._chunks.pop(0), "I1"),
        (lambda arena: arena._free[16].clear(), "I1"),
        (lambda arena: arena._free[8].add(0), "I1"),
        (lambda arena: (arena._free[16].clear(), arena._free[8].update({16, 24})), "coalescing"),
        (lambda arena: (arena._free[16].clear(), arena._chunks.update({16: 12, 28: 4})), "buddies"),
    ],
)
def test_a_damaged_buddy_arena_is_found_out(damage, invariant: str) -> None:
    arena = BuddyArena(32)
    arena.allocate(8)
    arena.allocate(8)
    arena.check()
    damage(arena)
    with pytest.raises(InvariantBroken, match=invariant):
        arena.check()


def test_fragmentation_is_what_lies_outside_the_largest_hole() -> None:
    assert external_fragmentation([(0, 20), (30, 10), (70, 30)]) == pytest.approx(0.5)
    assert external_fragmentation([(5, 40)]) == 0.0
    assert external_fragmentation([]) == 0.0
    assert external_fragmentation([(0, 1)] * 10) == pytest.approx(0.9)


def test_compaction_slides_to_the_left_and_counts_what_it_copies() -> None:
    assert compact([(0, 10), (20, 10), (50, 5)]) == ([(20, 10, 10), (50, 20, 5)], 15)
    assert compact([(50, 5), (0, 10), (20, 10)]) == ([(20, 10, 10), (50, 20, 5)], 15)
    assert compact([(0, 10), (10, 10)]) == ([], 0)
    assert compact([]) == ([], 0)


def test_overlapping_chunks_cannot_be_compacted() -> None:
    with pytest.raises(UsageError, match="at 5 overlaps the one that ends at 10"):
        compact([(0, 10), (5, 10)])


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20)), max_size=8))
def test_compaction_carries_every_token_and_leaves_one_hole(pieces: list[tuple[int, int]]) -> None:
    memory, chunks = [], []
    for number, (size, gap) in enumerate(pieces):
        memory += [None] * gap
        chunks.append((len(memory), size))
        memory += [(number, token) for token in range(size)]
    tokens = [token for token in memory if token is not None]
    moves, moved = compact(chunks)
    for source, target, size in moves:
        memory[target : target + size] = memory[source : source + size]
    assert memory[: len(tokens)] == tokens
    assert moved == sum(size for _, _, size in moves) <= len(tokens)
    assert all(source != target for source, target, _ in moves)
