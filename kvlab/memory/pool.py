"""The block pool: which blocks are free, how many holders the others have, and what a free one still remembers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import SupportsIndex

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError

from .lru import LRUList
from .reference_counts import ReferenceCounts


class BlockPool(ReferenceCounts):
    """`num_blocks` physical blocks, numbered from 0, each with a reference count; those with count 0 are free.

    - A free block without a hash holds nothing worth keeping. It lies on a stack and is reused first.
    - A free block with a hash still holds a prefix that a later request may want, so it waits in a list from which
      it can be had back. Only when the stack is empty is the least recently used one given up, and only then does
      it lose its hash.
    - `null_block` sets block 0 aside: it is never taken, and a table may name it where a token's block is gone
      (windows).

    A call that is refused changes nothing (I13). Every operation costs O(blocks named), however large the pool.
    """

    def __init__(self, num_blocks: SupportsIndex, null_block: bool = False) -> None:
        super().__init__(num_blocks, null_block)
        self._blank = list(range(self.num_blocks - 1, -1 + null_block, -1))  # a stack: the lowest number is on top
        self._cached = LRUList(self.num_blocks)
        self._key_of: dict[int, Hashable] = {}
        self._block_of: dict[Hashable, int] = {}
        self.on_forget: Callable[[int], None] | None = None
        """Told the block whenever `take` or `evict` makes one lose its hash; for the index that filed it."""

    def __repr__(self) -> str:
        return f"BlockPool({self.num_blocks} blocks, {self.num_free} free, {len(self._cached)} of these with a hash)"

    @property
    def num_free(self) -> int:
        """Blocks that `take` can give, with or without a hash."""
        return len(self._blank) + len(self._cached)

    @property
    def num_cached(self) -> int:
        """Free blocks that still have a hash."""
        return len(self._cached)

    def take(self, count: int) -> list[int]:
        """`count` (>= 0) free blocks, each with one holder from now on; all of them or, with `OutOfBlocks`, none."""
        blank, counts = self._blank, self.counts
        if count < 0:
            raise UsageError(f"cannot take {count} blocks")
        if count > self.num_free:
            raise OutOfBlocks(count, self.num_free)
        cut = max(0, len(blank) - count)
        blocks = blank[cut:]
        del blank[cut:]
        blocks.reverse()
        while len(blocks) < count:  # what is given up may take others along, which are blank then
            blocks.append(blank.pop() if blank else self._give_up())
        for block in blocks:
            counts[block] = 1
        return blocks

    def _give_up(self) -> int:
        """The least recently used block with a hash, which it loses."""
        block = self._cached.pop()
        del self._block_of[self._key_of.pop(block)]
        if self.on_forget is not None:
            self.on_forget(block)
        return block

    def evict(self, count: int) -> int:
        """Make the `count` least recently used free blocks with a hash lose it; returns how many there were."""
        before = len(self._cached)
        while self._cached and before - len(self._cached) < count:
            self._blank.append(self._give_up())
        return before - len(self._cached)

    def _have_back(self, idle: list[int]) -> None:
        for block in idle:
            if block not in self._key_of:
                raise UsageError(f"block {block} is free (reference count 0), so it cannot be shared")
        self._cached.remove_all(idle)

    def _return(self, freed: list[int]) -> None:
        freed.reverse()  # a sequence's end is reused before its beginning, which others are likelier to share
        if not self._key_of:
            self._blank += freed
            return
        key_of = self._key_of
        self._blank += [block for block in freed if block not in key_of]
        self._cached.push_all([block for block in freed if block in key_of])

    def publish(self, block: int, key: Hashable) -> int:
        """File a block in use, all of whose tokens are written (I8), under `key`; returns the block to be found there.

        That is another one if it was filed first; `block` then stays without a hash. A free block, or one that is
        filed under another key, raises `UsageError`.
        """
        block = self._known(block)
        if not self.counts[block] or block == self.null:
            raise UsageError(f"block {block} is not in use, so it cannot be published")
        if self._key_of.get(block, key) != key:
            raise UsageError(f"block {block} is published already, under another hash")
        found = self._block_of.setdefault(key, block)
        if found == block:
            self._key_of[block] = key
        return found

    def publish_all(self, blocks: Iterable[int], keys: Sequence[Hashable]) -> dict[int, int]:
        """`publish` for blocks and as many keys: `{position: the block found}` where another was filed first.

        What `publish` refuses for one of them is refused for all, and none is filed.
        """
        blocks, counts, key_of, block_of = self._ids(blocks), self.counts, self._key_of, self._block_of
        if len(set(blocks)) < len(blocks):
            raise UsageError(f"a block is published once, not more often as in {blocks}")
        if 0 in map(counts.__getitem__, blocks) or self.null in blocks or not key_of.keys().isdisjoint(blocks):
            for block, key in zip(blocks, keys, strict=True):
                if not counts[block] or block == self.null or key_of.get(block, key) != key:
                    self.publish(block, key)  # says what is wrong
        found = [block_of.setdefault(key, block) for block, key in zip(blocks, keys, strict=True)]
        if found == blocks:
            key_of.update(zip(blocks, keys, strict=True))
            return {}
        key_of.update((block, key) for block, key, there in zip(blocks, keys, found, strict=True) if there == block)
        return {position: there for position, there in enumerate(found) if there != blocks[position]}

    def withdraw(self, block: int) -> None:
        """Take the hash from `block`, in use or free, because nobody can find it any more. Without one: nothing."""
        block = self._known(block)
        if block in self._key_of:
            del self._block_of[self._key_of.pop(block)]
            if not self.counts[block]:
                self._cached.remove(block)
                self._blank.append(block)

    def key_of(self, block: int) -> Hashable | None:
        """What `block` is filed under, None if it is not."""
        return self._key_of.get(block)

    def lookup(self, key: Hashable) -> int | None:
        """The block filed under `key`, in use or free; None if there is none. It takes no hold: `share` does."""
        return self._block_of.get(key)

    def lookup_run(self, keys: Iterable[Hashable]) -> list[int]:
        """The blocks filed under `keys`, up to the first key under which there is none."""
        found = list(map(self._block_of.get, keys))
        if None in found:
            del found[found.index(None) :]
        return found  # type: ignore[return-value]  # no None is left

    def check(self) -> None:
        """Walk the whole pool and raise `InvariantBroken` for what does not hold.

        Each block is used, null or free, and only one of these, once (I1); hashes and blocks name each other; free
        blocks lie where they belong.
        """
        self._cached.check()
        free = [*self._blank, *self._cached]
        used = {block for block, count in enumerate(self.counts) if count}
        both, twice = used.intersection(free), len(free) - len(set(free))
        if both or twice or used.union(free) != set(range(self.num_blocks)):
            raise InvariantBroken(
                "I1",
                f"of {self.num_blocks} blocks {len(used)} are used (null among them) and {len(free)} free; "
                f"both: {sorted(both)}, free more than once: {twice}",
            )
        if any(count < 0 for count in self.counts) or self.null is not None and not self.counts[self.null]:
            raise InvariantBroken("I1", "a reference count is below what it can be")
        if {block: key for key, block in self._block_of.items()} != self._key_of:
            raise InvariantBroken("hashes", "the table from hash to block and the one back disagree")
        if not self._key_of.keys().isdisjoint(self._blank) or not self._key_of.keys() >= set(self._cached):
            raise InvariantBroken("hashes", "a free block with a hash lies among those without, or the other way round")
