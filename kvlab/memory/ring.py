"""The other way to keep a window: a ring of blocks that are overwritten in place."""

from __future__ import annotations

from operator import index
from typing import NoReturn

from kvlab.errors import InvariantBroken, UsageError

from .protocols import Pool
from .table import blocks_needed, slot_mapping
from .window import gone_blocks


class RingTable:
    """One sequence's last `window` tokens in `ceil(window / block_size) + 1` blocks, taken from `pool` as it grows.

    Block number i of the sequence lies in block `i % size` of the ring, so a block behind the window is written again
    with no call to the pool: Mistral's rolling buffer (Jiang et al. 2023, arXiv 2310.06825, section 2), in blocks.

    It is right for one owner who goes on a token, or a few, at a time. It is not where blocks are shared: what is
    written in place is overwritten for whoever else holds it, so it can be neither forked nor found as a prefix. And a
    long prompt must come in chunks: see `room`.
    """

    def __init__(self, window: int, block_size: int, pool: Pool) -> None:
        gone_blocks(0, window, block_size)  # refuses what is no window
        self.window, self.block_size, self.pool = window, block_size, pool
        self.size = blocks_needed(window, block_size) + 1
        self.num_tokens = 0
        self.ring: list[int] = []

    def __repr__(self) -> str:
        return f"RingTable({self.num_tokens} tokens, {len(self.ring)} of {self.size} blocks of {self.block_size})"

    @property
    def room(self) -> int:
        """Tokens that can be written at once, while none that the first of them sees is overwritten."""
        first = max(0, self.num_tokens - self.window + 1) // self.block_size
        return (first + self.size) * self.block_size - self.num_tokens

    @property
    def table(self) -> list[int]:
        """The block table that attention reads: it names each block again and again, and only the window is right."""
        entries = blocks_needed(self.num_tokens, self.block_size)
        return [self.ring[place % self.size] for place in range(entries)]

    def extend(self, count: int) -> list[int]:
        """The slots of the next `count` (>= 0) tokens. More than `room`: `UsageError`; no free block: `OutOfBlocks`."""
        count = index(count)
        if not 0 <= count <= self.room:
            raise UsageError(
                f"{count} tokens do not fit beside the window of {self.window}: the ring has room for {self.room}"
            )
        start, stop = self.num_tokens, self.num_tokens + count
        missing = min(self.size, blocks_needed(stop, self.block_size)) - len(self.ring)
        self.ring += self.pool.take(max(0, missing))
        self.num_tokens = stop
        return slot_mapping(self.table, start, stop, self.block_size)

    def fork(self) -> NoReturn:
        """Refused with `UsageError`: two owners of blocks that are written in place would overwrite each other."""
        raise UsageError("a ring has one owner: its blocks are overwritten in place, so they cannot be shared")

    def free(self) -> None:
        """Give its blocks back, each once, however often the table names it."""
        self.pool.release(self.ring)
        self.ring, self.num_tokens = [], 0

    def check(self) -> None:
        """The ring has the blocks that its tokens need (I3), and holds each of them alone (I5)."""
        needed = min(self.size, blocks_needed(self.num_tokens, self.block_size))
        if len(set(self.ring)) != needed or len(self.ring) != needed:
            raise InvariantBroken("I3", f"{self.num_tokens} tokens, and a ring of {self.ring}, not of {needed} blocks")
        shared = [block for block in self.ring if self.pool.ref_count(block) != 1]
        if shared:
            raise InvariantBroken("I5", f"blocks {shared} of a ring have other holders, who would be overwritten")
