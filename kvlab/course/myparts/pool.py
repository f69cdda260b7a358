"""A block pool that is the learner's inside, and the books beside it: who holds which block, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from kvlab.course.myparts.inner_pool import InnerPool
from kvlab.course.myparts.parts import Parts
from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError


class OwnPool:
    """`num_blocks` blocks of the learner's `BlockPool`, or of the finished one, for a `BlockManager`.

    A lab's pool forgets a block when nobody holds it. So whoever keeps prompts to be found again (`keep`) holds them
    like anybody else in there; for the manager such a block is free, and `forget` is asked to give up as many as are
    needed. holders: how many tables name each block. kept: which blocks are kept, and when each was last used.

    If the learner's pool and the books disagree, a finished one takes its place in the state that the books have.
    """

    def __init__(self, parts: Parts, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.holders = [0] * num_blocks
        self.kept: dict[int, int] = {}
        self.forget: Callable[[int], int] = lambda count: 0
        self._clock = count()
        self._inner = InnerPool(parts, self)

    def __repr__(self) -> str:
        return f"OwnPool({self.num_blocks} blocks, {self.num_free} free)"

    @property
    def num_cached(self) -> int:
        """Blocks that are kept and that no table names."""
        return sum(not self.holders[block] for block in self.kept)

    @property
    def num_free(self) -> int:
        """Blocks that no table names."""
        return self.holders.count(0)

    @property
    def blank(self) -> int:
        """Blocks that no table names and that nobody keeps: free for the learner's pool too."""
        return self.num_free - self.num_cached

    def owners(self, block: int) -> int:
        """How many hold `block` in the learner's pool: tables, and whoever keeps it."""
        return self.holders[block] + (block in self.kept)

    def ref_count(self, block: int) -> int:
        """How many tables name `block`. One that the pool does not have: `UsageError`."""
        if not 0 <= block < self.num_blocks:
            raise UsageError(f"there is no block {block}: the pool has blocks 0 to {self.num_blocks - 1}")
        return self.holders[block]

    def take(self, count: int) -> list[int]:
        """`count` free blocks, each with one holder; all of them or, with `OutOfBlocks`, none. A negative count is
        refused with `UsageError`."""
        if count < 0:
            raise UsageError(f"cannot take {count} blocks")
        if count > self.num_free:
            self._inner.refuse(count)
            raise OutOfBlocks(count, self.num_free)
        short = count - self.blank
        if short > 0:
            self.forget(short)
        blocks = self._inner.take(count)
        for block in blocks:
            self.holders[block] = 1
        self._inner.compare(f"take({count})", blocks)
        return blocks

    def share(self, blocks: Iterable[int]) -> None:
        """One more holder for each of `blocks`. If one is free and not kept, `UsageError`, and nothing changes."""
        ids = list(blocks)
        for block in ids:
            if not self.ref_count(block) and block not in self.kept:
                raise UsageError(f"block {block} is free (reference count 0), so it cannot be shared")
        for block in ids:
            self.holders[block] += 1
        self._inner.call("share", ids)

    def release(self, blocks: Iterable[int]) -> None:
        """One holder less for each of `blocks`. If one has fewer than that, `UsageError`, and nothing changes."""
        ids = list(blocks)
        for block in set(ids):
            if ids.count(block) > self.ref_count(block):
                raise UsageError(f"block {block} is released {ids.count(block)} times here, but its reference count is "
                                 f"{self.holders[block]}")
        for block in ids:
            self.holders[block] -= 1
        for block in reversed(ids):  # a table's end is forgotten before its beginning
            self.used(block)
        self._inner.call("release", ids)

    def keep(self, block: int) -> None:
        """Hold `block`, which a table names, until `drop`."""
        self.kept[block] = next(self._clock)
        self._inner.call("share", [block])

    def drop(self, block: int) -> None:
        """Keep `block` no longer."""
        del self.kept[block]
        self._inner.call("release", [block])

    def used(self, block: int) -> None:
        """A kept block was of use now."""
        if block in self.kept:
            self.kept[block] = next(self._clock)

    def restore(self, holders: Sequence[int]) -> None:
        """The state in which `holders` was copied, but for what has been forgotten since."""
        if self.holders != holders:
            self.holders = list(holders)
            self._inner.renew()

    def check(self) -> None:
        """Compare all that the pool says of itself with the books. `InvariantBroken` if the books cannot be right."""
        self._inner.check()
        if any(count < 0 for count in self.holders):
            raise InvariantBroken("I1", "a reference count is below 0")
