"""What `append_with_cow` must do: room for one token, a copy where others own the block it goes into, else none."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from kvlab.course.declare import Wrong
from kvlab.course.exercises.cow_model import Value, World, asked_of, flat, listed, same_books, same_words, steps
from kvlab.course.exercises.scenarios import is_count, refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks


class Case(NamedTuple):
    """One write and what it meets."""

    name: str
    call: str
    tokens: int
    before: list[int]
    others: list[str]  # who else has the last block

    @property
    def last(self) -> int:
        return self.before[-1]


def run(part: Any, value: Value) -> None:
    """Every write by the learner's function; `Wrong` at the first table, count, copy, slot or token that is wrong."""
    for world, (kind, what), shown in steps(value):
        with shown:
            name = chr(ord("a") + what)
            if kind == "start":
                world.start(what)
            elif kind == "write":
                _write(part, world, name)
            else:
                getattr(world, kind)(name)


def _write(part: Any, world: World, name: str) -> None:
    table, tokens = world.tables[name], len(world.said[name])
    others = world.others(name, table[-1]) if table else []
    case = Case(name, f"the write of {name}", tokens, list(table), others)
    full, rest = tokens % world.size == 0, {other: list(t) for other, t in world.tables.items() if other != name}
    call = partial(part, table, tokens, world.pool, world.size)
    if (full or others) and not world.pool.num_free:
        why = "its last block is full" if full else f"{listed(others)} own its last block too"
        refused(call, case.call, OutOfBlocks, f"{why}, and no block is free", accepted="returned None")
        _untouched(world, case)
        return
    free = world.pool.num_free
    try:
        with asked_of(case.call):
            got = call()
    except TypeError as error:
        if not flat(table):
            raise _no_table(table, case) from error
        raise
    except OutOfBlocks as refusal:
        raise Wrong(f"{case.call} was refused ({refusal}), but it {'needs one block' if full or others else 'has room'}"
                    f" and {world.pool.num_free} {'is' if world.pool.num_free == 1 else 'are'} free.",
                    next="take one block, and only where one is needed") from None
    if table == case.before and (full or others) and world.pool.num_free < free:
        raise Wrong(f"{case.call} took a block from the pool, but the table the caller has is still {table}.",
                    next="change table itself: table[-1] = ..., table += ...")
    (_new_block if full else _replaced if others else _in_place)(world, case)
    same_books(world, f"after {case.call}")
    if any(world.tables[other] != kept for other, kept in rest.items()):
        raise Wrong(f"{case.call} changed the table of another sequence.", next="change this table alone")
    _carry_out(world, case, *_pair(got, world, case, full))


def _untouched(world: World, case: Case) -> None:
    table = world.tables[case.name]
    if table != case.before:
        raise Wrong(f"after the refusal the table of {case.name} is {show(table, 40)}, expected {case.before}, "
                    "as before (I13).", next="take the block first, then change the table")
    same_books(world, "after the refusal", next="take the block first, then release the old one")


def _new_block(world: World, case: Case) -> None:
    table = world.tables[case.name]
    _grown_by(1, table, case, "its last block is full" if case.before else "it has no block yet")
    if table[:-1] != case.before:
        raise Wrong(f"{case.call} made its table {table} of {case.before}, expected the old blocks and a new one.",
                    next="where the last block is full, add one and copy nothing")


def _in_place(world: World, case: Case) -> None:
    table, why = world.tables[case.name], f"nobody else owns block {case.last}, and it has room"
    _grown_by(0, table, case, why)
    if table != case.before:
        raise Wrong(f"{case.call} put block {table[-1]} in the place of {case.last}, expected none: {why}.",
                    next="write in place where the count is 1")


def _replaced(world: World, case: Case) -> None:
    table, whose = world.tables[case.name], listed(case.others)
    own = f"own{'s' * (len(case.others) == 1)}"
    _grown_by(0, table, case, f"a new block takes the place of {case.last}")
    if table == case.before:
        raise Wrong(f"{case.call} goes into block {case.last}, which {whose} {own} too, expected a block of its own "
                    "(I5).", next="look at the reference count of the last block")
    if table[:-1] != case.before[:-1]:
        raise Wrong(f"{case.call} made its table {table} of {case.before}, expected only the last block to change.",
                    next="replace the last block alone: nobody writes into the others")


def _grown_by(count: int, table: list[int], case: Case, why: str) -> None:
    if not flat(table):
        raise _no_table(table, case)
    if len(table) != len(case.before) + count:
        entries = f"{len(table)} entr{'y' if len(table) == 1 else 'ies'}"
        raise Wrong(f"{case.call} left its table with {entries}, expected {len(case.before) + count}: {why} "
                    "(I3).")


def _no_table(table: list[Any], case: Case) -> Wrong:
    return Wrong(f"{case.call} left its table as {show(table, 40)}, expected a flat list of blocks.",
                 next="take(1) gives a list with one block in it")


def _pair(got: Any, world: World, case: Case, full: bool) -> tuple[int, Any]:
    """The slot and the copy that were returned, as they must be."""
    table = world.tables[case.name]
    copy = (case.last, table[-1]) if case.others and not full else None
    slot = table[-1] * world.size + case.tokens % world.size
    wanted = f"the slot and the copy, ({slot}, {copy})"
    if got is None:
        raise Wrong(f"{case.call} returned nothing (None), expected {wanted}; is a `return` missing?",
                    next="end with return, on every way through")
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Wrong(f"{case.call} returned {show(got, 40)}, expected {wanted}.", next="return slot, copy")
    if tuple(got) == (copy, slot):
        raise Wrong(f"{case.call} returned {show(got, 40)}, expected the slot first, ({slot}, {copy}).",
                    next="return slot, copy")
    if copy != (tuple(got[1]) if isinstance(got[1], list) and got[1] else got[1]):
        raise Wrong(f"{case.call} returned {show(got[1], 40)} as its copy, expected {copy}{_means(copy, got[1])}.",
                    next=_copy_next(copy, got[1]))
    if not is_count(got[0]) or got[0] != slot:
        where = f"token {case.tokens} goes to offset {case.tokens % world.size} of block {table[-1]}"
        raise Wrong(f"{case.call} returned slot {show(got[0], 40)}, expected {slot}: {where} (I4).",
                    next="block * block_size + num_tokens % block_size")
    return got[0], copy


def _means(copy: tuple[int, int] | None, got: Any) -> str:
    if copy is None:
        return ": nothing has to be copied"
    return f": from block {copy[0]} to block {copy[1]}" + (", source first" if got == copy[::-1] else "")


def _copy_next(copy: tuple[int, int] | None, got: Any) -> str:
    if copy is None:
        return "return None where nothing is copied"
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        return "return the pair (old block, new block) as the copy"
    return "swap the two" if tuple(got) == copy[::-1] else "remember the old block before you replace it"


def _carry_out(world: World, case: Case, slot: int, copy: Any) -> None:
    if copy is not None:
        world.copy(*copy)
    world.write(case.name, slot)
    same_words(world, f"after {case.call}")
