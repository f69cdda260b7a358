"""The block pool: which blocks are free, how many holders the others have, and what a free one still remembers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import index
from typing import NoReturn, SupportsIndex

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError

from .lru import LRUList


class BlockPool:
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
        num_blocks = index(num_blocks)
        if num_blocks < 1 + null_block:
            raise UsageError(f"a pool needs at least {1 + null_block} blocks, not {num_blocks}")
        self.num_blocks = num_blocks
        self.null = 0 if null_block else None
        self.counts = [0] * num_blocks
        """Reference count of each block, the null block's own hold included. To be read, not written."""
        self._blank = list(range(num_blocks - 1, -1 + null_block, -1))  # a stack: the lowest number is on top
        self._cached = LRUList(num_blocks)
        self._key_of: dict[int, Hashable] = {}
        self._block_of: dict[Hashable, int] = {}
        self.on_forget: Callable[[int], None] | None = None
        """Told the block whenever `take` or `evict` makes one lose its hash; for the index that filed it."""
        if null_block:
            self.counts[0] = 1

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

    def ref_count(self, block: int) -> int:
        """How many holders `block` has."""
        return self.counts[self._known(block)]

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

    def share(self, blocks: Iterable[int]) -> None:
        """One more holder for each of `blocks`. A free one can be had back like this only while it has its hash."""
        self.share_known(self._ids(blocks))

    def share_known(self, blocks: list[int]) -> None:
        """`share` in half the time, for plain ints from 0 to `num_blocks - 1`."""
        counts = self.counts
        if 0 in map(counts.__getitem__, blocks):
            idle = [block for block in dict.fromkeys(blocks) if not counts[block]]
            for block in idle:
                if block not in self._key_of:
                    raise UsageError(f"block {block} is free (reference count 0), so it cannot be shared")
            self._cached.remove_all(idle)
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

    def _return(self, freed: list[int]) -> None:
        """Put blocks without a holder where `take` finds them, the last of them first."""
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
