"""Sliding windows: the blocks that no later token can see go back to the pool, and the null block stands in for them.

A token at position p sees itself and the `window - 1` tokens before it (Jiang et al. 2023, Mistral 7B, arXiv
2310.06825, section 2). So once `num_tokens` tokens are there, the next one sees positions above `num_tokens - window`,
and whatever lies before is read by nobody any more.
"""

from __future__ import annotations

from kvlab.errors import UsageError

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
