"""The brute-force model behind the arena exercise: one entry per slot, and everything found by walking them."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from kvlab.course.declare import Wrong, shows
from kvlab.course.exercises.scenarios import is_count, refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfMemory, UsageError

Operation = tuple[str, int]
Value = tuple[int, tuple[Operation, ...]]  # capacity, operations


class ArenaModel:
    """Which piece each slot belongs to."""

    def __init__(self, capacity: int) -> None:
        self.owner: list[int | None] = [None] * capacity  # the first slot of the piece, None where free

    @property
    def holes(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for slot, owner in enumerate(self.owner):
            if owner is None and found and sum(found[-1]) == slot:
                found[-1] = (found[-1][0], found[-1][1] + 1)
            elif owner is None:
                found.append((slot, 1))
        return found

    @property
    def pieces(self) -> list[int]:
        return sorted({owner for owner in self.owner if owner is not None})

    def fit(self, size: int) -> int | None:
        """Start of the lowest hole of at least `size` slots."""
        return next((start for start, length in self.holes if length >= size), None)

    def allocate(self, size: int) -> None:
        start = self.fit(size)
        if start is not None:
            self.owner[start : start + size] = [start] * size

    def free(self, start: int) -> None:
        self.owner = [None if owner == start else owner for owner in self.owner]


def run(part: Any, value: Value) -> None:
    """Every operation on the learner's arena and on the model; `Wrong` at the first difference."""
    capacity, operations = value
    arena, model = part(capacity), ArenaModel(capacity)
    with shows(lambda: render((capacity, ()))):
        same_holes(arena, model, "a new arena")
    for done, (name, number) in enumerate(operations, 1):
        with shows(partial(render, (capacity, operations[:done]))):
            (_allocate if name == "allocate" else _free)(arena, model, number)


def _allocate(arena: Any, model: ArenaModel, size: int) -> None:
    start, call = model.fit(size), f"allocate({size})"
    lengths = [length for _, length in model.holes]
    if start is None:
        free, largest = sum(lengths), max(lengths, default=0)
        refusal = refused(lambda: arena.allocate(size), call, OutOfMemory, f"the largest hole has {largest} slots",
                          accepted="returned None")
        same_holes(arena, model, f"the refused {call}")
        said = (refusal.needed, refusal.free, refusal.largest)
        if said != (size, free, largest):
            raise Wrong(f"the refusal says needed={show(said[0])}, free={show(said[1])}, largest={show(said[2])}, "
                        f"expected needed={size}, free={free}, largest={largest}.",
                        next=_numbers_next(said, (size, free, largest)))
        return
    try:
        got = arena.allocate(size)
    except OutOfMemory:
        raise Wrong(f"{call} was refused, but the hole at {start} has {dict(model.holes)[start]} slots.",
                    next="return the start as soon as a hole is long enough") from None
    if not is_count(got) or got != start:
        raise Wrong(f"{call} returned {show(got, 30)}, expected {start}, "
                    "the start of the lowest hole that is long enough.",
                    next="end with return start" if got is None else None)
    model.allocate(size)
    same_holes(arena, model, call)


def _numbers_next(said: tuple[Any, ...], wanted: tuple[int, ...]) -> str:
    if sorted(map(str, said)) == sorted(map(str, wanted)):
        return "put the numbers in this order: OutOfMemory(needed, free, largest)"
    if said[0] != wanted[0]:
        return "needed is what was asked for, the whole of it"
    return "free is all free slots together" if said[1] != wanted[1] else "largest is the longest single hole"


def _free(arena: Any, model: ArenaModel, start: int) -> None:
    if start in model.pieces:
        try:
            arena.free(start)
        except UsageError:
            raise Wrong(f"free({start}) was refused, but a piece begins there.",
                        next="remember in allocate where each piece begins, and how long it is") from None
        model.free(start)
        return same_holes(arena, model, f"free({start})")
    def damage() -> str:
        try:
            same_holes(arena, model, "it")
        except Wrong as now:
            return f"; {str(now).split(', expected')[0]}"
        return ", and nothing happened"

    refused(lambda: arena.free(start), f"free({start})", UsageError, "no piece starts there", damage)
    same_holes(arena, model, f"the refused free({start})")


def same_holes(arena: Any, model: ArenaModel, after: str) -> None:
    """`arena.holes` must be the model's, as pairs in any kind of sequence."""
    place = after if after == "a new arena" else f"after {after} the arena"
    try:
        holes = arena.holes
    except AttributeError:
        raise Wrong("has no `holes`; it is the list of (start, size) of all that is free.",
                    next="set self.holes in __init__") from None
    if callable(holes):
        raise Wrong("`holes` is a method; it is read like a list, so make it an attribute or put @property above it.",
                    next="put @property above holes")
    try:
        pairs = [(start, size) for start, size in holes]
    except (TypeError, ValueError):
        raise Wrong(f"`holes` is {show(holes, 50)}, expected a list of (start, size).",
                    next="keep pairs (start, size) in holes") from None
    if pairs != model.holes:
        number = " (I13)" if "refused" in after else ""
        raise Wrong(f"{place} has holes {_short(pairs)}, expected {_short(model.holes)}{_reason(pairs)}{number}.",
                    next=_holes_next(pairs, model.holes, after))


def _short(pairs: list[tuple[int, int]]) -> str:
    return str(pairs) if len(pairs) <= 4 else f"[{', '.join(map(str, pairs[:4]))}, ...]"


def _holes_next(pairs: list[tuple[int, int]], wanted: list[tuple[int, int]], after: str) -> str | None:
    """What to do about holes that are wrong in a way of which the operation before knows more than the check."""
    if after == "a new arena":
        return "begin with one hole as long as the arena"
    if pairs != wanted and sorted(pairs, key=str) == sorted(wanted, key=str):
        return f"keep the holes sorted after {after.partition('(')[0]} too"
    return None


def _reason(pairs: list[tuple[int, int]]) -> str:
    try:
        if any(size == 0 for _, size in pairs):
            return ": a hole of 0 slots is none"
        if sorted(pairs) != pairs:
            return ": sorted by start"
        if any(sum(one) == other[0] for one, other in pairwise(pairs)):
            return ": holes that touch are one hole"
    except TypeError:
        pass
    return ""


def render(value: Value) -> list[str]:
    """`arena = FirstFitArena(8)`, `arena.allocate(4)  # 0`, `arena.free(0)`."""
    capacity, operations = value
    return [f"arena = FirstFitArena({capacity})", *(f"arena.{name}({number})" for name, number in operations)]


def random_operations() -> Any:
    """A Hypothesis strategy for `Value`s: small arenas, and now and then a piece that is not there."""
    from hypothesis import strategies as st

    names = st.sampled_from(("free", "allocate", "free"))

    @st.composite
    def values(draw: Any) -> Value:
        capacity = draw(st.integers(4, 14))
        model, operations = ArenaModel(capacity), []
        steps = [("allocate", size) for size in draw(st.lists(st.integers(1, 4), max_size=8))]  # something to free
        steps += draw(st.lists(st.tuples(names, st.integers(1, 6)), max_size=10))
        for name, number in steps:
            if name == "free":
                odd = number == 6 or not model.pieces
                number = number % capacity if odd else model.pieces[number % len(model.pieces)]
            operations.append((name, number))
            getattr(model, name)(number)
        return capacity, tuple(operations)

    return values()
