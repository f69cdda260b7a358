"""The bench for `append_tokens`: a pool that never hands out neighbours on purpose, and what the table must be."""

from __future__ import annotations

from functools import partial
from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.exercises.scenarios import is_count, refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks, UsageError

Value = tuple[int, tuple[int, ...], tuple[int, ...]]  # block size, free blocks in the order they go, tokens that arrive


class ListedPool:
    """Hands out the blocks of a list in its order, all or nothing."""

    def __init__(self, blocks: tuple[int, ...]) -> None:
        self.free, self.counts = list(blocks), dict.fromkeys(blocks, 0)
        self.num_blocks = len(blocks)

    @property
    def num_free(self) -> int:
        return len(self.free)

    @property
    def owned(self) -> list[int]:
        return sorted(block for block, count in self.counts.items() for _ in range(count))

    def ref_count(self, block: int) -> int:
        return self.counts[block]

    def take(self, count: int) -> list[int]:
        if not is_count(count) or count < 0:
            raise UsageError(f"cannot take {count!r} blocks")
        if count > len(self.free):
            raise OutOfBlocks(count, len(self.free))
        taken, self.free = self.free[:count], self.free[count:]
        self.counts |= dict.fromkeys(taken, 1)
        return taken

    def share(self, blocks: list[int]) -> None:
        for block in blocks:
            self.counts[block] += 1

    def release(self, blocks: list[int]) -> None:
        for block in blocks:
            if not self.counts[block]:
                raise UsageError(f"block {block} is free already")
            self.counts[block] -= 1
            if not self.counts[block]:
                self.free.insert(0, block)


def run(part: Any, value: Value) -> None:
    """Every arrival on the learner's function; `Wrong` at the first table, slot or pool that is not as it must be."""
    block_size, blocks, arrivals = value
    pool, length = ListedPool(blocks), 0
    table: list[int] = []
    for arriving in arrivals:
        call = f"the call with {arriving} new tokens"
        before, total = list(table), length + arriving
        wanted = -(-total // block_size)
        append = partial(part, table, length, arriving, pool, block_size)
        if wanted > len(blocks):
            why = f"{total} tokens need {wanted} blocks, and {len(blocks)} exist"
            refused(append, call, OutOfBlocks, why, accepted="returned None")
            _unchanged(table, before, pool)
            continue
        try:
            slots = append()
        except OutOfBlocks as refusal:
            why = f"{total} tokens need {wanted} blocks of the {len(blocks)}"
            raise Wrong(f"{call} was refused ({refusal}), but {why}.") from None
        _grown(table, before, wanted, pool, total, block_size)
        _right_slots(slots, [table[i // block_size] * block_size + i % block_size for i in range(length, total)], table)
        length = total


def _unchanged(table: list[int], before: list[int], pool: ListedPool) -> None:
    if table != before:
        raise Wrong(f"after the refusal the table is {table}, expected {before}, as before (I13).")
    if pool.owned != sorted(before):
        raise Wrong(f"after the refusal {len(pool.owned)} blocks are taken from the pool, expected {len(before)}, "
                    "as before (I13).")


def _grown(table: list[int], before: list[int], wanted: int, pool: ListedPool, total: int, block_size: int) -> None:
    if table == before and len(pool.owned) > len(before) and wanted > len(before):
        taken = len(pool.owned) - len(before)
        raise Wrong(f"took {taken} from the pool, but the table the caller has is still {table}.")
    if any(not is_count(block) for block in table):
        raise Wrong(f"the table is {table}, expected a flat list of blocks.")
    if len(table) != wanted:
        entries = f"{len(table)} entr{'y' if len(table) == 1 else 'ies'}"
        raise Wrong(f"the table has {entries} for {total} tokens in blocks of {block_size}, expected {wanted} (I3).")
    if table[: len(before)] != before:
        raise Wrong(f"the table was {before} and is {table}, expected the new blocks after the old ones.")
    if sorted(table) != pool.owned:
        raise Wrong(f"the table is {table}, but the pool's owned blocks are {pool.owned}, expected the same.")


def _right_slots(got: Any, wanted: list[int], table: list[int]) -> None:
    if got is None:
        raise Wrong(f"returned nothing (None), expected the new tokens' slots {_short(wanted)}; is a `return` missing?")
    try:
        slots = list(got)
    except TypeError:
        raise Wrong(f"returned {show(got, 40)}, expected the list {_short(wanted)}.") from None
    if isinstance(got, (str, dict, set)) or len(slots) != len(wanted) or any(
            not is_count(one) or one != other for one, other in zip(slots, wanted, strict=True)):
        raise Wrong(f"returned {_short(slots)}, expected {_short(wanted)} with the table {table}.")
    if got is table:
        raise Wrong("returned the table itself, expected a list of slots.")


def _short(slots: list[Any]) -> str:
    return show(slots, 60)


def render(value: Value) -> list[str]:
    """What was called, with a comment for the pool."""
    block_size, blocks, arrivals = value
    order = ", ".join(map(str, blocks))
    lines, length = [f"table = []; the pool has blocks {order} and hands them out in this order"], 0
    for arriving in arrivals:
        lines.append(f"append_tokens(table, {length}, {arriving}, pool, {block_size})")
        if -(-(length + arriving) // block_size) <= len(blocks):
            length += arriving
    return lines


def random_arrivals() -> Any:
    """A Hypothesis strategy for `Value`s: blocks in any order, and arrivals of none to a few blocks."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Value:
        block_size = draw(st.integers(1, 5))
        blocks = draw(st.permutations(range(draw(st.integers(1, 6)))))
        arrivals = draw(st.lists(st.integers(0, 2 * block_size + 1), min_size=1, max_size=6))
        return block_size, tuple(blocks), tuple(arrivals)

    return values()
