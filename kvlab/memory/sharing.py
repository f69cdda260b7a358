"""One prompt, many owners: forks, copy-on-write and what sharing saves, as plain functions on block tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import NamedTuple

import numpy as np

from kvlab.errors import OutOfBlocks, UsageError

from .pool import BlockPool
from .protocols import Pool
from .table import blocks_needed

Copy = tuple[int, int]
"""A block to copy and the block it goes to: `(source, target)`."""


class Write(NamedTuple):
    """Where new tokens go, and what must happen before they do.

    slots: one for each token, int64. copies: `(source, target)` blocks to be copied before anything is written. The
    copies of all writes of one step go into one list, of which every source is read before any target is written.
    """

    slots: np.ndarray
    copies: list[Copy]


def fork(table: Sequence[int], pool: Pool) -> list[int]:
    """A second table that names the same blocks, each of which has one holder more from now on. Nothing is copied."""
    pool.share(table)
    return list(table)


def append_with_cow(table: list[int], num_tokens: int, pool: Pool, block_size: int) -> tuple[int, Copy | None]:
    """Make room for one token after the `num_tokens` that `table` holds: its slot, and the copy to make before it.

    A full last block: a new one is taken. A last block that others hold too: a new one is taken in its place, the old
    one loses a holder, and its content is to be copied. The last owner writes in place. `table` is changed; without a
    free block, `OutOfBlocks` leaves it and the pool as they were (I13). Source: Kwon et al. 2023, section 4.4.
    """
    if blocks_needed(num_tokens, block_size) != len(table):
        raise UsageError(f"{num_tokens} tokens do not fill {len(table)} blocks of {block_size}")
    offset, copy = num_tokens % block_size, None
    if not offset:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        (fresh,) = pool.take(1)
        copy = table[-1], fresh
        pool.release([table[-1]])
        table[-1] = fresh
    return table[-1] * block_size + offset, copy


def beam_step(tables: Sequence[Sequence[int]], parents: Iterable[int], pool: Pool) -> list[list[int]]:
    """The tables of the next beams: the i-th continues that of beam `parents[i]`; who has no child is freed.

    Survivors are shared before losers are released, so no block that is still wanted is free in between. A parent that
    does not exist is refused with `UsageError` before anything is touched.
    """
    parents = list(parents)
    wrong = [parent for parent in parents if not 0 <= parent < len(tables)]
    if wrong:
        raise UsageError(f"there are beams 0 to {len(tables) - 1}, and no beam {wrong[0]} to continue")
    chosen = [list(tables[parent]) for parent in parents]
    pool.share([block for table in chosen for block in table])
    pool.release([block for table in tables for block in table])
    return chosen


def block_counts(tables: Iterable[Sequence[int]]) -> tuple[int, int]:
    """`(blocks, unshared)`: different blocks that the tables name, and blocks they would name if nobody shared."""
    different, unshared = set[int](), 0
    for table in tables:
        different.update(table)
        unshared += len(table)
    return len(different), unshared


def saved_blocks(tables: Iterable[Sequence[int]]) -> float:
    """The share of blocks that sharing saves: blocks saved, over the blocks there would be without sharing.

    0.0 where there is no block. Source: Kwon et al. 2023, section 6.3.
    """
    blocks, unshared = block_counts(tables)
    return (unshared - blocks) / unshared if unshared else 0.0


def take_after(prefix: Sequence[int], num_blocks: int, pool: Pool) -> list[int]:
    """A table of `num_blocks` that begins with the blocks of `prefix`, each of which has one holder more from now on.

    Those of `prefix` that lie free are needed like the others that must be taken (F2): with too few, `OutOfBlocks`. A
    block that the pool does not have, or that is free and cannot be had back, is refused with `UsageError`. Either way
    nothing changes.
    """
    table = list(map(index, prefix))
    wrong = [block for block in (min(table), max(table)) if not 0 <= block < pool.num_blocks] if table else []
    if wrong:
        raise UsageError(f"there is no block {wrong[0]}: the pool has blocks 0 to {pool.num_blocks - 1}")
    missing = num_blocks - len(table)
    count_of = pool.counts.__getitem__ if type(pool) is BlockPool else pool.ref_count
    needed = missing + (len({block for block in table if not count_of(block)}) if 0 in map(count_of, table) else 0)
    if needed > pool.num_free:
        raise OutOfBlocks(needed, pool.num_free)
    share = pool.share_known if type(pool) is BlockPool else pool.share
    share(table)  # first, so that `take` cannot give away what it holds
    return table + pool.take(missing)
