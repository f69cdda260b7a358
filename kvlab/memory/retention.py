"""Eviction by priority: what is worth less goes first, and only among equals whatever was used least recently.

TensorRT-LLM keeps a queue of free blocks for each priority from 0 to 100 (35 unless a request says otherwise), and only
a block that nothing follows in the search tree may go (its documentation "KV Cache System", and evictionPolicy.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import SupportsIndex

from kvlab.errors import InvariantBroken, UsageError

from .lru import LRUList
from .pool import BlockPool

LOWEST, DEFAULT, HIGHEST = 0, 35, 100
"""Priorities of TensorRT-LLM's retention policy."""


class PriorityList(LRUList):
    """An `LRUList` for each priority: `pop` takes from the lowest one that has a block which may go.

    priorities: of each block, read when it is pushed. may_go: whether a block may be given up now; where no block may,
    the first is taken all the same.
    """

    def __init__(self, num_blocks: int) -> None:
        self.priorities = [DEFAULT] * num_blocks
        self.may_go: Callable[[int], bool] = lambda block: True
        self._num_blocks = num_blocks
        self._levels: dict[int, LRUList] = {}
        self._level_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._level_of)

    def __iter__(self) -> Iterator[int]:
        return (block for level in sorted(self._levels) for block in self._levels[level])

    def push(self, block: int) -> None:
        """Add `block` as the most recently used of its priority."""
        level = self._level_of[block] = self.priorities[block]
        if level not in self._levels:
            self._levels[level] = LRUList(self._num_blocks)
        self._levels[level].push(block)

    def push_all(self, blocks: Sequence[int]) -> None:
        """`push` for each of them in order."""
        for block in blocks:
            self.push(block)

    def remove(self, block: int) -> None:
        """Unlink `block`, wherever it stands."""
        self._levels[self._level_of.pop(block)].remove(block)

    def remove_all(self, blocks: Sequence[int]) -> None:
        """`remove` for each of them."""
        for block in blocks:
            self.remove(block)

    def pop(self) -> int:
        """Unlink and return the block to give up. The list must not be empty."""
        block = next(filter(self.may_go, self), None)
        block = next(iter(self)) if block is None else block
        self.remove(block)
        return block

    def check(self) -> None:
        """Walk every level: each block lies in the one that is written down for it."""
        for level, blocks in self._levels.items():
            blocks.check()
            wrong = [block for block in blocks if self._level_of.get(block) != level]
            if wrong:
                raise InvariantBroken("priorities", f"blocks {wrong} lie at priority {level}, not at their own")
        if sum(map(len, self._levels.values())) != len(self._level_of):
            raise InvariantBroken("priorities", f"{len(self._level_of)} blocks are counted, and not as many lie here")


class RetentionPool(BlockPool):
    """A `BlockPool` that gives up blocks by priority. A block has priority 35 until `retain` says otherwise.

    may_go: set by the index that files the blocks, so that none is given up before what follows it
    (`RadixCache.is_leaf`).
    """

    def __init__(self, num_blocks: SupportsIndex, null_block: bool = False) -> None:
        super().__init__(num_blocks, null_block)
        self._cached: PriorityList = PriorityList(self.num_blocks)

    def only_if(self, may_go: Callable[[int], bool]) -> None:
        """From now on a free block with a hash is given up only if `may_go(block)`, as long as there is one."""
        self._cached.may_go = may_go

    def priority(self, block: int) -> int:
        """The priority of `block`, 0 to 100."""
        return self._cached.priorities[self._known(block)]

    def retain(self, blocks: Iterable[int], priority: int) -> None:
        """Give blocks in use another priority; a later one overrides. Outside 0 to 100, or a free block: `UsageError`.

        A block that loses its hash, and one that is taken anew, has the default again.
        """
        ids = self._ids(blocks)
        if not LOWEST <= priority <= HIGHEST:
            raise UsageError(f"a priority lies between {LOWEST} and {HIGHEST}, and {priority} does not")
        idle = [block for block in ids if not self.counts[block]]
        if idle:
            raise UsageError(f"blocks {idle} are not in use, so their priority is not changed")
        for block in ids:
            self._cached.priorities[block] = priority

    def take(self, count: int) -> list[int]:
        """As `BlockPool.take`; the blocks begin at the default priority."""
        blocks = super().take(count)
        for block in blocks:
            self._cached.priorities[block] = DEFAULT
        return blocks
