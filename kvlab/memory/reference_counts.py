"""How many holders each block has: who may write into one, and when it is free again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import index
from typing import NoReturn, SupportsIndex

from kvlab.errors import UsageError


class ReferenceCounts(ABC):
    """A count for each of `num_blocks` blocks, numbered from 0; those with count 0 are free. Where they lie then is for
    a subclass to say.

    null_block: block 0 is set aside, with a hold of the pool's own, and so never free. A call that is refused changes
    nothing (I13). Every one costs O(blocks named), however many there are.
    """

    def __init__(self, num_blocks: SupportsIndex, null_block: bool = False) -> None:
        num_blocks = index(num_blocks)
        if num_blocks < 1 + null_block:
            raise UsageError(f"a pool needs at least {1 + null_block} blocks, not {num_blocks}")
        self.num_blocks = num_blocks
        self.null = 0 if null_block else None
        self.counts = [0] * num_blocks
        """Reference count of each block, the null block's own hold included. To be read, not written."""
        if null_block:
            self.counts[0] = 1

    def ref_count(self, block: int) -> int:
        """How many holders `block` has."""
        return self.counts[self._known(block)]

    def share(self, blocks: Iterable[int]) -> None:
        """One more holder for each of `blocks`; one that is free and cannot be had back is refused with `UsageError`.

        `BlockPool` has those back that still have their hash.
        """
        self.share_known(self._ids(blocks))

    def share_known(self, blocks: list[int]) -> None:
        """`share` in half the time, for plain ints from 0 to `num_blocks - 1`."""
        counts = self.counts
        if 0 in map(counts.__getitem__, blocks):
            self._have_back([block for block in dict.fromkeys(blocks) if not counts[block]])
        for block in blocks:
            counts[block] += 1

    def release(self, blocks: Iterable[int]) -> None:
        """One holder less for each of `blocks`; whoever has none left is free, the last named before the others.

        A block that is free already, or named more often than it has holders, raises `UsageError`; then none is
        released.
        """
        self.release_known(self._ids(blocks))

    def release_known(self, blocks: list[int]) -> None:
        """`release` in half the time, for ids known to be plain ints from `take`, such as a manager's tables."""
        counts, freed = self.counts, []
        for position, block in enumerate(blocks):
            count = counts[block]
            if count == 1:
                counts[block] = 0
                freed.append(block)
            elif count:
                counts[block] = count - 1
            else:
                self._refuse_release(blocks, position)
        if self.null is not None and self.null in freed:  # that was the pool's own hold on it
            self._refuse_release(blocks, len(blocks), self.null)
        self._return(freed)

    @abstractmethod
    def _have_back(self, idle: list[int]) -> None:
        """These free blocks, each named once, have a holder from now on. `UsageError` if one cannot be had back."""

    @abstractmethod
    def _return(self, freed: list[int]) -> None:
        """These blocks are free from now on, the last of them to be given before the others."""

    def _refuse_release(self, blocks: list[int], done: int, block: int | None = None) -> NoReturn:
        """Undo the first `done` releases and say what is wrong with the next one, or with that of `block`."""
        for undone in blocks[:done]:
            self.counts[undone] += 1
        block = blocks[done] if block is None else block
        named, holders = blocks.count(block), self.counts[block] - (block == self.null)
        raise UsageError(
            f"block {block} is released {named} time{'s' * (named != 1)} here, but its reference count is {holders}"
        )

    def _known(self, block: int) -> int:
        block = index(block)
        if not 0 <= block < self.num_blocks:
            raise UsageError(f"there is no block {block}: the pool has blocks 0 to {self.num_blocks - 1}")
        return block

    def _ids(self, blocks: Iterable[int]) -> list[int]:
        """The ids as plain ints in a list of our own; one that is no block's raises `UsageError`."""
        try:
            ids = list(map(index, blocks))
        except TypeError:
            raise UsageError(f"blocks are named by a list of whole numbers, not by {blocks!r:.60}") from None
        if ids:
            self._known(min(ids))
            self._known(max(ids))
        return ids
