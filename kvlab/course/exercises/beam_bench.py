"""What `beam_step` must do: a table for each next beam, and every count the number of tables that name the block."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from kvlab.course.declare import Wrong, shows
from kvlab.course.exercises.cow_model import flat, list_wanted
from kvlab.course.shorten import show
from kvlab.errors import KVLabError, OutOfBlocks, UsageError
from kvlab.memory import BlockPool

Tables = tuple[tuple[int, ...], ...]
Value = tuple[int, Tables, tuple[tuple[int, ...], ...]]  # blocks in the pool, tables of the beams, parents of each step


class Watched(BlockPool):
    """A pool that remembers whether an owner was ever counted or let go: to do nothing, and to give with one hand what
    the other takes, leave the same counts and are not the same thought."""

    asked = False

    def share(self, blocks: Any) -> None:
        super().share(blocks)
        self.asked = True

    def release(self, blocks: Any) -> None:
        super().release(blocks)
        self.asked = True


class Beams:
    """A pool whose only owners are the beams."""

    def __init__(self, num_blocks: int, tables: Tables) -> None:
        self.pool, self.tables = Watched(num_blocks), [list(table) for table in tables]
        blocks = self.pool.take(num_blocks)
        self.pool.share([block for table in tables for block in table])
        self.pool.release(blocks)
        self.pool.asked = False


def run(part: Any, value: Value) -> None:
    """Every step by the learner's function; `Wrong` at the first table or count that is not as it must be."""
    num_blocks, tables, steps = value
    beams = Beams(num_blocks, tables)
    for done, parents in enumerate(steps, 1):
        with shows(partial(render, (num_blocks, tables, steps[:done]))):
            beams.tables = _step(part, beams, list(parents))


def run_new(part: Any, value: Value) -> None:
    """A step whose tables must be new lists in a new list, for a beam with one child too; all else is known to hold."""
    num_blocks, tables, steps = value
    beams = Beams(num_blocks, tables)
    for parents in steps:
        call, old = f"the step to {list(parents)}", list(beams.tables)
        got = part(beams.tables, list(parents), beams.pool)
        kept = [i for i, table in enumerate(got) if any(table is one for one in old)]
        if kept:
            raise Wrong(f"{call} returned the old list of beam {parents[kept[0]]} as table {kept[0]}, expected a new "
                        "list.", next="give each child a list of its own: list(...)")
        if got is beams.tables:
            raise Wrong(f"{call} put the next tables into the list that it was given, expected a list of their own.",
                        next="build the next tables in a list of their own")
        beams.tables = got


def _step(part: Any, beams: Beams, parents: list[int]) -> list[list[int]]:
    before = [list(table) for table in beams.tables]
    wanted = [before[parent] for parent in parents]
    free, call = beams.pool.num_free, f"the step to {parents}"
    try:
        got = part(beams.tables, list(parents), beams.pool)
    except (OutOfBlocks, UsageError) as refusal:
        raise Wrong(f"{call} was refused by the pool: {refusal}.", next=list_wanted(refusal) or _after(refusal)
                    ) from refusal
    _right_tables(got, wanted, call)
    _right_counts(beams, before, wanted, parents, call)
    if beams.pool.num_free < free:
        raise Wrong(f"{call} left {beams.pool.num_free} blocks free of {free}, expected no fewer.")
    return got


def _after(refusal: KVLabError) -> str:
    if isinstance(refusal, OutOfBlocks):
        return "a child names its parent's blocks: take none"
    if "cannot be shared" in str(refusal):
        return "share for the children before you release"
    return "release each loser once, and what its table names once"


def _right_tables(got: Any, wanted: list[list[int]], call: str) -> None:
    if got is None:
        raise Wrong(f"{call} returned nothing (None), expected the next tables, {wanted}; is a `return` missing?",
                    next="return the list of the next tables")
    if not isinstance(got, list) or not all(map(flat, got)):
        raise Wrong(f"{call} returned {show(got, 60)}, expected a list of tables, {wanted}.",
                    next="return a list with one table, itself a list, for each beam")
    if got != wanted:
        raise Wrong(f"{call} returned {show(got, 60)}, expected {wanted}.", next=_tables_next(got, wanted))
    if len({id(table) for table in got}) < len(got):
        raise Wrong(f"{call} returned the same list for two beams. What is appended for one is then appended for both.",
                    next="give each beam a list of its own: list(...)")


def _tables_next(got: list[list[int]], wanted: list[list[int]]) -> str:
    if len(got) != len(wanted):
        return "one table for each entry of parents"
    if sorted(got) == sorted(wanted):
        return "keep the order of parents"
    return "next beam i continues the table of beam parents[i]"


def _right_counts(beams: Beams, before: list[list[int]], wanted: list[list[int]], parents: list[int],
                  call: str) -> None:
    """I2, told by what the block was before: its losers left, its winners multiplied."""
    named = Counter(block for table in wanted for block in table)
    for block in range(beams.pool.num_blocks):
        got = beams.pool.ref_count(block)
        if got != named[block]:
            owners = ", ".join(str(i) for i, parent in enumerate(parents) if block in before[parent])
            why = f"next beams that name it: {owners}" if owners else "no next beam names it"
            raise Wrong(f"after {call} block {block} has reference count {got}, expected {named[block]}; {why} (I2).",
                        next=_counts_next(got, named[block]), alike=(block, got, beams.pool.asked))


def _counts_next(got: int, wanted: int) -> str:
    if not wanted:
        return "release the tables of beams without a child"
    return "one owner for each child, and none for the parent" if got > wanted else "share once for each child"


def render(value: Value) -> list[str]:
    """`tables = [[0, 1], [0, 2]]`, `tables = beam_step(tables, [0, 0], pool)`."""
    num_blocks, tables, steps = value
    lines = [f"tables, pool = {[list(table) for table in tables]}, BlockPool({num_blocks})"]
    lines += [f"tables = beam_step(tables, {list(parents)}, pool)" for parents in steps]
    return [*lines[:-1], f"{lines[-1]}  # the pool counts the owners of these tables"]


def random_steps() -> Any:
    """A strategy for `Value`s: one to four beams with a common beginning, and up to three steps."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Value:
        width, common, own = draw(st.integers(1, 4)), draw(st.integers(0, 2)), draw(st.integers(0, 2))
        start = tuple(range(common))
        tables = tuple(start + tuple(range(common + i * own, common + (i + 1) * own)) for i in range(width))
        parents = st.lists(st.integers(0, width - 1), min_size=width, max_size=width).map(tuple)
        steps = tuple(draw(st.lists(parents, min_size=1, max_size=3)))
        return common + width * own + draw(st.integers(1, 2)), tables, steps

    return values()
