"""The block pool: who holds which block, counted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import index

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError

from .lru import LRUList


class BlockPool:
    """`num_blocks` physical blocks, numbered from 0, each with a reference count.

    A block with count 0 is free. Free blocks without a hash hold nothing worth keeping: they lie on a stack and are reused first,
    the last returned before the others. Free blocks with a hash still hold a prefix that a later request may want: they wait in a list,
    and only when the stack is empty is the one given up that nobody has used for longest. A refused call changes nothing (I13).
    """

    def __init__(self, num_blocks: int) -> None:
        if num_blocks < 1:
            raise UsageError(f"a pool needs at least 1 block, not {num_blocks}")
        self.num_blocks = num_blocks
        self._refs = [0] * num_blocks
        self._blank = list(range(num_blocks - 1, -1, -1))  # a stack: block 0 is on top
        self._cached = LRUList(num_blocks)
        self._hash_of: dict[int, Hashable] = {}
        self._block_of: dict[Hashable, int] = {}

    @property
    def num_free(self) -> int:
        """Blocks that `take` can give, with or without a hash."""
        return len(self._blank) + len(self._cached)

    def ref_count(self, block: int) -> int:
        """How many holders `block` has."""
        return self._refs[self._known(block)]

    def take(self, count: int) -> list[int]:
        """`count` free blocks, each with a reference count of 1 from now on; all of them or, with `OutOfBlocks`, none."""
        if count < 0:
            raise UsageError(f"cannot take {count} blocks")
        if count > self.num_free:
            raise OutOfBlocks(count, self.num_free)
        cut = max(0, len(self._blank) - count)
        blocks = self._blank[cut:]
        del self._blank[cut:]
        blocks.reverse()
        while len(blocks) < count:
            blocks.append(self._give_up())
        for block in blocks:
            self._refs[block] = 1
        return blocks

    def _give_up(self) -> int:
        block = self._cached.pop()
        del self._block_of[self._hash_of.pop(block)]
        return block

    def share(self, blocks: Iterable[int]) -> None:
        """One more holder for each of `blocks`. A free block can be had back this way only while it still has its hash."""
        blocks = self._ids(blocks)
        for block in blocks:
            if not self._refs[self._known(block)] and block not in self._hash_of:
                raise UsageError(f"block {block} is free (reference count 0) and cannot be shared")
        for block in blocks:
            if not self._refs[block]:
                self._cached.remove(block)
            self._refs[block] += 1

    def release(self, blocks: Iterable[int]) -> None:
        """One holder less for each of `blocks`; those without a holder are free. More releases than holders: `UsageError`, none done."""
        blocks = self._ids(blocks)
        freed = []
        for position, block in enumerate(blocks):
            if not 0 <= block < self.num_blocks or not self._refs[block]:
                for undone in blocks[:position]:
                    self._refs[undone] += 1
                self._refuse_release(block, blocks.count(block))
            self._refs[block] -= 1
            if not self._refs[block]:
                freed.append(block)
        freed.reverse()  # a sequence's last block is given up before its first
        for block in freed:
            if block in self._hash_of:
                self._cached.push(block)
            else:
                self._blank.append(block)

    def _refuse_release(self, block: int, named: int) -> None:
        count = self._refs[self._known(block)]
        raise UsageError(f"block {block} is released {named} time{'s' * (named != 1)} here but its reference count is {count}")

    def publish(self, block: int, hash: Hashable) -> int:
        """File `block`, whose tokens are all written, under `hash`; returns the block that is found there from now on.

        That is another one if it was published first; `block` then stays without a hash.
        """
        if not self._refs[self._known(block)]:
            raise UsageError(f"block {block} is free (reference count 0) and cannot be published")
        if self._hash_of.get(block, hash) != hash:
            raise UsageError(f"block {block} is published already, under another hash")
        if self._block_of.setdefault(hash, block) == block:
            self._hash_of[block] = hash
        return self._block_of[hash]

    def lookup(self, hash: Hashable) -> int | None:
        """The block published under `hash`, in use or free; None if there is none. It takes no reference: `share` does."""
        return self._block_of.get(hash)

    def _known(self, block: int) -> int:
        if not 0 <= block < self.num_blocks:
            raise UsageError(f"no block {block}: the pool has blocks 0 to {self.num_blocks - 1}")
        return block

    @staticmethod
    def _ids(blocks: Iterable[int]) -> list[int]:
        try:
            return list(map(index, blocks))
        except TypeError as error:
            raise UsageError(f"blocks are given as a list of integers: {error}") from None

    def check(self) -> None:
        """Walk the whole pool: each block is in use or in one free list, never both (I1); hashes agree. Else `InvariantBroken`."""
        self._cached.check()
        free = [*self._blank, *self._cached]
        if len(set(free)) != len(free):
            raise InvariantBroken("I1", "a block is in the free lists twice")
        used = {block for block, count in enumerate(self._refs) if count}
        if used & set(free) or len(used) + len(free) != self.num_blocks:
            raise InvariantBroken("I1", f"{len(used)} used and {len(free)} free blocks of {self.num_blocks}; in both: {sorted(used & set(free))}")
        if {block: hash for hash, block in self._block_of.items()} != self._hash_of:
            raise InvariantBroken("hashes", "the two directions of the hash table disagree")
        if any(block not in self._hash_of for block in self._cached) or any(block in self._hash_of for block in self._blank):
            raise InvariantBroken("hashes", "a free block is in the wrong free list")
