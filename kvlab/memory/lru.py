"""A doubly linked list of block ids, linked through two arrays: the order in which cached free blocks are given up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlab.errors import InvariantBroken


class LRUList:
    """Block ids from least to most recently used; `push`, `pop` and `remove` from the middle cost the same few steps.

    Intrusive: `_next[b]` and `_prev[b]` name the neighbours of block `b`, so no node object is made, and none searched
    for. Entry `num_blocks` is a sentinel that closes the ring, so that no end is a special case. The caller answers for
    what it pushes (nothing twice) and removes (only what is there).
    """

    def __init__(self, num_blocks: int) -> None:
        self._end = num_blocks
        self._next = list(range(num_blocks + 1))
        self._prev = list(range(num_blocks + 1))
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        block = self._next[self._end]
        while block != self._end:
            yield block
            block = self._next[block]

    def push(self, block: int) -> None:
        """Add `block` as the most recently used."""
        last = self._prev[self._end]
        self._next[last] = self._prev[self._end] = block
        self._prev[block], self._next[block] = last, self._end
        self._length += 1

    def push_all(self, blocks: Sequence[int]) -> None:
        """`push` for each of them in order, at a third of the price."""
        after, before, end = self._next, self._prev, self._end
        last = before[end]
        for block in blocks:
            after[last] = block
            before[block] = last
            last = block
        after[last], before[end] = end, last
        self._length += len(blocks)

    def remove_all(self, blocks: Sequence[int]) -> None:
        """`remove` for each of them, likewise."""
        following, preceding = self._next, self._prev
        for block in blocks:
            before, after = preceding[block], following[block]
            following[before] = after
            preceding[after] = before
        self._length -= len(blocks)

    def remove(self, block: int) -> None:
        """Unlink `block`, wherever it stands."""
        before, after = self._prev[block], self._next[block]
        self._next[before], self._prev[after] = after, before
        self._length -= 1

    def pop(self) -> int:
        """Unlink and return the least recently used block. The list must not be empty."""
        block = self._next[self._end]
        self.remove(block)
        return block

    def check(self) -> None:
        """Walk the ring and count. `InvariantBroken` if two neighbours disagree or the length is wrong."""
        block, steps = self._end, -1
        while steps < self._end:
            after = self._next[block]
            if self._prev[after] != block:
                raise InvariantBroken(
                    "links",
                    f"block {block} names {after} as the next, which names {self._prev[after]} as the one before",
                )
            block, steps = after, steps + 1
            if block == self._end:
                break
        if block != self._end or steps != self._length:
            raise InvariantBroken("links", f"{self._length} blocks are counted, but {steps} are linked")
