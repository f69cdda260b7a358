"""The bench for `gather_kv`: a pool whose every number says which slot it lies in."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvlab.course.declare import Wrong
from kvlab.course.exercises.lab04_tensors import clone, equal, is_tensor, numbered, torch, unchanged
from kvlab.course.shorten import show


class Read(NamedTuple):
    """One call: the block table, which may go on behind the blocks that are needed, and the length."""

    table: tuple[int, ...]
    length: int
    blocks: int = 8
    block_size: int = 4
    kv_heads: int = 2
    dim: int = 3

    def pool(self) -> Any:
        """Numbered slots; those of blocks that are not in the table are empty, and hold NaN."""
        pool = numbered(self.blocks, self.block_size, self.kv_heads, self.dim, start=1)
        for block in set(range(self.blocks)) - set(self.table):
            pool[block] = float("nan")
        return pool


def run(part: Any, value: Read) -> None:
    """Reads with the learner's function; `Wrong` at the first token that comes from another slot."""
    pool, table = value.pool(), list(value.table)
    before = clone(pool)
    flat, size = before.flatten(0, 1), value.block_size
    found = part(pool, table, value.length)
    got = is_tensor(found, (value.length, value.kv_heads, value.dim), _begins_elsewhere(found, value, flat))
    for token in range(value.length):
        slot = value.table[token // size] * size + token % size
        if not equal(got[token], flat[slot]):
            expected = f"slot {slot} (block {slot // size}, offset {slot % size})"
            raise Wrong(f"token {token} of the result {_origin(got[token], flat, size)}, expected {expected}.")
    unchanged(pool=(before, pool))
    if table != list(value.table):
        raise Wrong(f"changed the table to {show(table, 40)}, expected it to be left alone.")


def _begins_elsewhere(got: Any, value: Read, flat: Any) -> str:
    """Where the first row comes from, if the number of rows is wrong and the first one too; else an empty string."""
    rows = isinstance(got, torch.Tensor) and tuple(got.shape[1:]) == (value.kv_heads, value.dim) and len(got)
    if not rows or not value.length or rows == value.length:
        return ""
    first = value.table[0] * value.block_size
    return "" if equal(got[0], flat[first]) else f"token 0 {_origin(got[0], flat, value.block_size)}"


def _origin(row: Any, flat: Any, size: int) -> str:
    """Where a row was read, in words."""
    for slot, held in enumerate(flat):
        if equal(row, held) and not bool(held.isnan().any()):
            return f"comes from slot {slot} (block {slot // size}, offset {slot % size})"
    if bool(row.isnan().any()):
        return "is nan, from a slot that nobody wrote"
    return "is zero" if not bool(row.any()) else "is no slot's"


def render(value: Read) -> list[str]:
    """The call, with a comment for the pool."""
    shape = value.blocks, value.block_size, value.kv_heads, value.dim
    return [f"gather_kv(pool, table={list(value.table)}, length={value.length}), pool of shape {list(shape)}"]


def random_reads() -> Any:
    """A Hypothesis strategy for `Read`s: any blocks, any length, stale entries behind them."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Read:
        block_size, blocks = draw(st.integers(1, 4)), draw(st.integers(1, 6))
        length = draw(st.integers(0, blocks * block_size))
        table = draw(st.permutations(range(blocks)))[: -(-length // block_size)]
        stale = draw(st.lists(st.sampled_from((987_654_321, -1, 0)), max_size=2))
        return Read((*table, *stale), length, blocks, block_size, draw(st.integers(1, 2)), 1)

    return values()
