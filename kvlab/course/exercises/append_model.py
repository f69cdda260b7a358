"""The bench for `append_tokens`: a pool that never hands out neighbours on purpose, and what the table must be."""

from __future__ import annotations

from functools import partial
from typing import Any

from kvlab.course.declare import Wrong, shows
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
    for done, arriving in enumerate(arrivals, 1):
        with shows(partial(render, (block_size, blocks, arrivals[:done]))):
            length = _arrival(part, table, length, arriving, pool, block_size)


def _arrival(part: Any, table: list[int], length: int, arriving: int, pool: ListedPool, block_size: int) -> int:
    """One call of the learner's function; returns how many tokens there are now."""
    call, before, total = f"the call with {arriving} new tokens", list(table), length + arriving
    wanted, exist = -(-total // block_size), pool.num_blocks
    append = partial(part, table, length, arriving, pool, block_size)
    if wanted > exist:
        why = f"{total} tokens need {wanted} blocks, and {exist} exist"
        refused(append, call, OutOfBlocks, why, accepted="returned None")
        _unchanged(table, before, pool)
        return length
    try:
        slots = append()
    except OutOfBlocks as refusal:
        why = f"{total} tokens need {wanted} blocks of the {exist}"
        raise Wrong(f"{call} was refused ({refusal}), but {why}.",
                    next="take only what the table lacks for old and new tokens") from None
    except (IndexError, TypeError) as error:
        try:
            _grown(table, before, wanted, pool, total, block_size)
        except Wrong as wrong:  # a table as it must not be says more than the error of a look-up in it
            if table != before or isinstance(error, IndexError):
                raise wrong from error
        raise
    _grown(table, before, wanted, pool, total, block_size)
    _right_slots(slots, [table[i // block_size] * block_size + i % block_size for i in range(length, total)], table)
    return total


def _flat(table: list[Any]) -> None:
    if any(isinstance(block, list) for block in table):
        raise Wrong(f"the table is {show(table, 40)}, expected a flat list of blocks.", next="use extend, not append")


def _unchanged(table: list[int], before: list[int], pool: ListedPool) -> None:
    if table != before:
        raise Wrong(f"after the refusal the table is {table}, expected {before}, as before (I13).")
    if pool.owned != sorted(before):
        raise Wrong(f"after the refusal {len(pool.owned)} blocks are taken from the pool, expected {len(before)}, "
                    "as before (I13).")


def _grown(table: list[int], before: list[int], wanted: int, pool: ListedPool, total: int, block_size: int) -> None:
    if table == before and len(pool.owned) > len(before) and wanted > len(before):
        taken = len(pool.owned) - len(before)
        raise Wrong(f"took {taken} from the pool, but the table the caller has is still {table}.",
                    next="change the table itself: table.extend(...)")
    _flat(table)
    if any(not is_count(block) for block in table):
        raise Wrong(f"the table is {show(table, 40)}, expected block numbers.", next="put blocks into the table")
    if len(table) != wanted:
        entries = f"{len(table)} entr{'y' if len(table) == 1 else 'ies'}"
        raise Wrong(f"the table has {entries} for {total} tokens in blocks of {block_size}, expected {wanted} (I3).",
                    next=_size_next(len(table), len(before), wanted))
    if table[: len(before)] != before:
        raise Wrong(f"the table was {before} and is {table}, expected the new blocks after the old ones.",
                    next="leave the old entries as they are, and add at the end")
    if sorted(table) != pool.owned:
        raise Wrong(f"the table is {table}, but the pool's owned blocks are {pool.owned}, expected the same.",
                    next="take the blocks from `pool`, the one you are given")


def _size_next(now: int, before: int, wanted: int) -> str | None:
    if now == before and wanted > before:
        return "take the blocks that are missing, and extend the table in place"
    if now < before:
        return "keep the old entries, and add the new ones at the end"
    return None


def _right_slots(got: Any, wanted: list[int], table: list[int]) -> None:
    if got is None:
        raise Wrong(f"returned nothing (None), expected the new tokens' slots {_short(wanted)}; is a `return` missing?",
                    next="end with return, on every way through")
    try:
        slots = list(got)
    except TypeError:
        raise Wrong(f"returned {show(got, 40)}, expected the list {_short(wanted)}.", next="return a list") from None
    if isinstance(got, (str, dict, set)) or len(slots) != len(wanted) or any(
            not is_count(one) or one != other for one, other in zip(slots, wanted, strict=True)):
        next = "return the slots of tokens num_tokens to num_tokens + new_tokens - 1"
        raise Wrong(f"returned {_short(slots)}, expected {_short(wanted)} with the table {table}.", next=next)
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
