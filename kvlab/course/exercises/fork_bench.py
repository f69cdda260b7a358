"""What `fork` must do: another table with the same blocks, one more owner for each, and nothing taken."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Wrong, shows
from kvlab.course.exercises.cow_model import Value, World, asked_of, flat, same_books, steps
from kvlab.course.exercises.scenarios import refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks, UsageError


def run(part: Any, value: Value) -> None:
    """Every fork by the learner's function; `Wrong` at the first table or count that is not as it must be."""
    for world, (kind, what), shown in steps(value):
        with shown:
            name = chr(ord("a") + what)
            if kind == "start":
                world.start(what)
            elif kind == "free":
                world.free(name)
            else:
                _fork(part, world, name)


def _fork(part: Any, world: World, parent: str) -> None:
    table, free = world.tables[parent], world.pool.num_free
    before = list(table)
    try:
        with asked_of(f"fork({parent}, pool)"):
            child = part(table, world.pool)
    except OutOfBlocks as refusal:
        raise Wrong(f"fork({parent}, pool) was refused ({refusal}), but a fork needs no free block.",
                    next="name the same blocks, and take none") from None
    _right_table(child, world, before, parent)
    if world.pool.num_free < free:
        raise Wrong(f"fork({parent}, pool) took {free - world.pool.num_free} from the pool, expected 0.",
                    next="name the same blocks, and take none")
    world.born(parent, child)
    same_books(world, f"after fork({parent}, pool)", next="share each block of the table, once for each fork")


def _right_table(child: Any, world: World, before: list[int], parent: str) -> None:
    call, table = f"fork({parent}, pool)", world.tables[parent]
    if table != before:
        raise Wrong(f"{call} changed {parent} from {before} to {show(table, 40)}, expected it to be left alone.",
                    next="leave the parent's list as it is")
    if child is None:
        raise Wrong(f"{call} returned nothing (None), expected a second table, {before}; is a `return` missing?",
                    next="return the child's table")
    if child is table:
        counted = world.pool.ref_count(table[0]) if table else 0
        seen = f", and block {table[0]} still counts 1 owner" if counted == 1 else ""
        raise Wrong(f"{call} returned the parent's own list{seen}, expected a second list with the same blocks.",
                    next="return a new list with the same blocks")
    if not flat(child):
        raise Wrong(f"{call} returned {show(child, 50)}, expected one table, {before}, as a list.",
                    next="return one flat list of blocks")
    if child != before:
        raise Wrong(f"{call} returned {show(child, 40)}, expected the parent's blocks, {before}.",
                    next="name the same blocks, in the same order")


def forgets_nothing_when_refused(part: Any) -> None:
    """A table that names a free block is a mistake of the caller; the pool's refusal must leave all as it was (I13)."""
    world = World(4, 2)
    world.start(8)
    first, second = world.tables["a"]
    world.pool.release([second])
    with shows(lambda: ["pool = BlockPool(2)", "a = pool.take(2)", "pool.release(a[1:])", "fork(a, pool)"]):
        refused(lambda: part([first, second], world.pool), "fork(a, pool)", UsageError, f"block {second} is free",
                next="let the pool's exception pass: no try")
        if (got := world.pool.ref_count(first)) != 1:
            raise Wrong(f"the pool refused fork(a, pool), as block {second} is free, and now block {first} has "
                        f"reference count {got}, expected 1, as before (I13).",
                        next="share the whole table in one call")
