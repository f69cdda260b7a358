"""Prefix hits of layers with a window: only the blocks inside it must be there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kvlab.errors import UsageError

from .history import HashFunction, chain_sha256, history_of
from .pool import BlockPool
from .prefix import PrefixCache
from .protocols import Match
from .window import gone_blocks, window_blocks


def longest_window_hit(found: Sequence[int | None], window: int, block_size: int, null_block: int) -> list[int]:
    """The longest beginning whose last `ceil((window - 1) / block_size)` blocks are all there, or all of it is.

    found: for each full block of a prompt, the block that holds its tokens already, or None. What lies before those is
    named by `null_block`, whether it is there or not: no token to come sees it. Source: vLLM's sliding window manager
    (`find_longest_cache_hit`), which also looks from the end.
    """
    needed, run = window_blocks(window, block_size), 0
    if not needed:  # the next token sees no other
        return [null_block] * len(found)
    for position in range(len(found) - 1, -1, -1):
        run = run + 1 if found[position] is not None else 0
        if run == needed or run and not position:  # so many in a row, or all from the start
            inside = [block for block in found[position : position + run] if block is not None]
            return [null_block] * position + inside
    return []


class WindowPrefixCache(PrefixCache):
    """A `PrefixCache` for a sequence's table with a window: hits need, and name, the blocks inside the window only.

    Keys still chain from the start, so a hit means that all tokens before are equal (I9), the forgotten ones too. The
    pool must have a null block, else `UsageError`.
    """

    def __init__(self, pool: BlockPool, block_size: int, window: int, function: HashFunction = chain_sha256) -> None:
        gone_blocks(0, window, block_size)  # refuses what is no window
        if pool.null is None:
            raise UsageError("a window needs a pool with a null block: BlockPool(num_blocks, null_block=True)")
        super().__init__(pool, block_size, function)
        self.window, self.null = window, pool.null

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> Match:
        """The longest beginning of `tokens` from which one can go on, at least one token left over (I7).

        `BlockManager.admit(..., prefix=match.blocks)` takes the holds, those of the null block too.
        """
        history = history_of(tokens, tag)
        keys = self._keys(history)[1 : (len(history) - 1) // self.block_size + 1]
        blocks = longest_window_hit(list(map(self.pool.lookup, keys)), self.window, self.block_size, self.null)
        return Match(blocks, len(blocks) * self.block_size)

    def publish(self, tokens: Sequence[int], blocks: Sequence[int], tag: tuple[Hashable, ...] = ()) -> dict[int, int]:
        """`PrefixCache.publish` of the blocks that are not gone; publish before you slide, or they are never found."""
        history = history_of(tokens, tag)
        keys, key_of = self._keys(history), self.pool.key_of
        stop = start = min(len(history) // self.block_size, len(blocks))
        while start and blocks[start - 1] != self.null and key_of(blocks[start - 1]) != keys[start]:
            start -= 1
        found = self.pool.publish_all(blocks[start:stop], keys[start + 1 : stop + 1])
        return {start + position: block for position, block in found.items()}
