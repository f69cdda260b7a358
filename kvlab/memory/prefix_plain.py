"""The decisions of a hash-chained prefix cache as plain functions: what is found, and who goes when room is needed.

`PrefixCache` decides the same with the pool's own books, in less time; a test compares them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kvlab.errors import UsageError


class CachedBlock(NamedTuple):
    """A block with a hash. parent: the block before it in its chain, None for the first. last_used: a time."""

    block: int
    parent: int | None
    owners: int
    last_used: float


def longest_hit(
    hashes: Sequence[Hashable], block_of: Mapping[Hashable, int], num_tokens: int, block_size: int
) -> list[int]:
    """The blocks that hold the longest known beginning of a prompt of `num_tokens` tokens.

    hashes: those of its full blocks. block_of: what the cache has. A block behind one that is missing counts for
    nothing, and at least one token is left to be computed, since only that yields a next one (I7).
    """
    blocks: list[int] = []
    for key in hashes[: max(0, num_tokens - 1) // block_size]:
        if key not in block_of:
            break
        blocks.append(block_of[key])
    return blocks


def evict(cached: Iterable[CachedBlock], count: int) -> list[int]:
    """Up to `count` blocks to forget, in that order: of those that nobody owns and nothing follows, the least recently
    used, then again.

    A block whose parent is gone could never be found, so a chain loses its tail before its head. Two of the same time:
    either. A negative count: `UsageError`.
    """
    if count < 0:
        raise UsageError(f"cannot evict {count} blocks")
    left, gone = list(cached), list[int]()
    while len(gone) < count:
        parents = {entry.parent for entry in left}
        ends = [entry for entry in left if not entry.owners and entry.block not in parents]
        if not ends:
            break
        oldest = min(ends, key=lambda entry: entry.last_used)
        left.remove(oldest)
        gone.append(oldest.block)
    return gone
