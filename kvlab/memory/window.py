"""Sliding windows: the blocks that no later token can see go back to the pool, and the null block stands in for them.

A token at position p sees itself and the `window - 1` tokens before it (Jiang et al. 2023, Mistral 7B, arXiv
2310.06825, section 2). So once `num_tokens` tokens are there, the next one sees positions above `num_tokens - window`,
and whatever lies before is read by nobody any more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import index
from typing import SupportsIndex

import numpy as np

from kvlab.errors import InvariantBroken, UsageError

from .manager import BlockManager
from .pool import BlockPool
from .protocols import Pool
from .table import blocks_needed


def gone_blocks(num_tokens: int, window: int, block_size: int) -> int:
    """Blocks at the front of a table of which the token at position `num_tokens`, and any later one, sees nothing.

    That token sees positions above `num_tokens - window`: the first `num_tokens - window + 1` tokens are out of sight,
    and a block is gone when all of its tokens are. A window or a block size below 1, or negative tokens: `UsageError`.
    """
    if window < 1:
        raise UsageError(f"a window has at least 1 token, the one that looks, not {window}")
    blocks_needed(num_tokens, block_size)  # refuses what is no number of tokens, or no size
    return max(0, num_tokens - window + 1) // block_size


def window_blocks(window: int, block_size: int) -> int:
    """Blocks that the first token after a full block sees of those before it: `window - 1` tokens, rounded up."""
    return blocks_needed(window - 1, block_size)


def release_window(table: list[int], num_tokens: int, window: int, block_size: int, pool: Pool, null_block: int) -> int:
    """Name `null_block` in place of each block that no later token can see, release these, and return how many.

    table: of a sequence whose first `num_tokens` tokens are written; the next query stands at position `num_tokens` and
    sees positions above `num_tokens - window`. Only whole blocks go, and entries keep their places, so that position p
    is still found in entry `p // block_size`. An entry holds what it names, the null block too, so fork and free need
    no special case. The blocks are released in the table's order: the last of them is reused first. A table that is too
    short for what is gone, and what `gone_blocks` refuses: `UsageError`, and nothing changes.
    """
    gone = gone_blocks(num_tokens, window, block_size)
    if gone > len(table):
        raise UsageError(f"{gone} blocks of {block_size} are behind the window, but the table names {len(table)}")
    first = gone
    while first and table[first - 1] != null_block:  # what is before a null block went earlier
        first -= 1
    leaving = table[first:gone]
    pool.share([null_block] * len(leaving))
    pool.release(leaving)
    table[first:gone] = [null_block] * len(leaving)
    return len(leaving)


class WindowManager(BlockManager):
    """A `BlockManager` for layers that see the last `window` tokens: `slide` gives back what is behind the window.

    `pool` is a number of blocks, or a `BlockPool` with a null block, else `UsageError`. Everything else is as it was:
    forks share what is inside the window, copies are made where somebody writes, and a prefix may begin with null
    blocks (see `WindowPrefixCache`). Nothing slides by itself, so that a call which is refused changes nothing (I13).
    """

    def __init__(self, pool: BlockPool | SupportsIndex, block_size: int, window: int) -> None:
        gone_blocks(0, window, block_size)  # refuses what is no window
        made = BlockPool(pool, null_block=True) if isinstance(pool, SupportsIndex) else pool
        null = getattr(made, "null", None)
        if null is None:
            raise UsageError("a window needs a pool with a null block: BlockPool(num_blocks, null_block=True)")
        super().__init__(made, block_size)
        self.window, self.null = window, int(null)

    def slide(self, seq_id: Hashable, num_tokens: int | None = None) -> int:
        """Release what the sequence's token at position `num_tokens` will not see; returns how many blocks that were.

        num_tokens: tokens that are written, by default all that the sequence has. More than it has: `UsageError`.
        """
        held = self._find(seq_id)
        written = held.num_tokens if num_tokens is None else index(num_tokens)
        if not 0 <= written <= held.num_tokens:
            raise UsageError(f"sequence {seq_id!r} has {held.num_tokens} tokens, of which {written} cannot be written")
        gone = (written - self.window + 1) // self.block_size
        if gone <= 0 or held.table[gone - 1] == self.null:
            return 0  # nothing has left the window since: nearly every step of a decoding sequence
        return release_window(held.table, written, self.window, self.block_size, self.pool, self.null)

    def slots(self, seq_id: Hashable, start: int = 0, stop: int | None = None) -> np.ndarray:
        """`BlockManager.slots`, for positions whose blocks are there. One behind the window: `UsageError`."""
        found = super().slots(seq_id, start, stop)
        if len(found) and self._find(seq_id).table[start // self.block_size] == self.null:
            raise UsageError(f"token {start} of sequence {seq_id!r} is behind the window of {self.window}: it is gone")
        return found

    def num_gone(self, seq_id: Hashable) -> int:
        """Entries of the sequence's table that name the null block: the first ones."""
        return self._find(seq_id).table.count(self.null)

    def check(self, others: Iterable[int] = ()) -> None:
        """`BlockManager.check`, and: null entries stand first, and nowhere that the next token sees (I3)."""
        super().check(others)
        self.check_windows()

    def check_windows(self) -> None:
        """The part of `check` that this class adds, from the tables alone."""
        for seq_id, held in self._sequences.items():
            nulls, gone = held.table.count(self.null), gone_blocks(held.num_tokens, self.window, self.block_size)
            if nulls > gone or held.table[:nulls] != [self.null] * nulls:
                where = [place for place, block in enumerate(held.table) if block == self.null]
                raise InvariantBroken(
                    "I3", f"{seq_id!r} has lost the blocks at {where}, but only the first {gone} are behind its window"
                )
