"""A block pool that is the learner's inside, with books beside it by which every call is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from kvlab.course.myparts.parts import Parts, said
from kvlab.course.shorten import show
from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import BlockPool


class OwnPool:
    """`num_blocks` blocks of the learner's `BlockPool`, or of the finished one, for a `BlockManager`.

    A lab's pool forgets a block when nobody holds it. So whoever keeps prompts to be found again (`keep`) holds them
    like anybody else in there; for the manager such a block is free, and `forget` is asked to give up as many as are
    needed. holders: how many tables name each block. kept: which blocks are kept, and when each was last used.

    If the learner's pool and the books disagree, a finished one takes its place in the state that the books have.
    """

    def __init__(self, parts: Parts, num_blocks: int) -> None:
        self.parts, self.num_blocks = parts, num_blocks
        self.holders = [0] * num_blocks
        self.kept: dict[int, int] = {}
        self.forget: Callable[[int], int] = lambda count: 0
        self._clock = count()
        self._renew()

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

    def ref_count(self, block: int) -> int:
        """How many tables name `block`."""
        if not 0 <= block < self.num_blocks:
            raise UsageError(f"there is no block {block}: the pool has blocks 0 to {self.num_blocks - 1}")
        return self.holders[block]

    def take(self, count: int) -> list[int]:
        """`count` free blocks, each with one holder; all of them or, with `OutOfBlocks`, none."""
        if count < 0:
            raise UsageError(f"cannot take {count} blocks")
        if count > self.num_free:
            self._refused(count)
            raise OutOfBlocks(count, self.num_free)
        short = count - self._blank
        if short > 0:
            self.forget(short)
        blocks = self._taken(count)
        for block in blocks:
            self.holders[block] = 1
        self._compare(f"take({count})", blocks)
        return blocks

    def share(self, blocks: Iterable[int]) -> None:
        """One more holder for each of `blocks`, none of which is free unless it is kept."""
        ids = list(blocks)
        for block in ids:
            if not self.ref_count(block) and block not in self.kept:
                raise UsageError(f"block {block} is free (reference count 0), so it cannot be shared")
        for block in ids:
            self.holders[block] += 1
        self._call("share", ids)

    def release(self, blocks: Iterable[int]) -> None:
        """One holder less for each of `blocks`."""
        ids = list(blocks)
        for block in set(ids):
            if ids.count(block) > self.ref_count(block):
                raise UsageError(f"block {block} is released {ids.count(block)} times here, but its reference count is "
                                 f"{self.holders[block]}")
        for block in ids:
            self.holders[block] -= 1
        for block in reversed(ids):  # a table's end is forgotten before its beginning
            self.used(block)
        self._call("release", ids)

    def keep(self, block: int) -> None:
        """Hold `block`, which a table names, until `drop`."""
        self.kept[block] = next(self._clock)
        self._call("share", [block])

    def drop(self, block: int) -> None:
        """Keep `block` no longer."""
        del self.kept[block]
        self._call("release", [block])

    def used(self, block: int) -> None:
        """A kept block was of use now."""
        if block in self.kept:
            self.kept[block] = next(self._clock)

    def restore(self, holders: Sequence[int]) -> None:
        """The state in which `holders` was copied, but for what has been forgotten since."""
        if self.holders != holders:
            self.holders = list(holders)
            self._renew()

    def check(self) -> None:
        """Compare all that the pool says of itself with the books (I1, I2)."""
        self._compare("a step", range(self.num_blocks))
        if any(count < 0 for count in self.holders):
            raise InvariantBroken("I1", "a reference count is below 0")
        if isinstance(self._inner, BlockPool):
            self._inner.check()

    @property
    def _blank(self) -> int:
        """Blocks that are free for the learner's pool too."""
        return self.num_free - self.num_cached

    def _expected(self, block: int) -> int:
        return self.holders[block] + (block in self.kept)

    def _asked(self, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        """What a call of the learner's pool returns or raises. If it is interrupted, nobody knows how far it got."""
        try:
            return self.parts.attempt("BlockPool", call)
        except BaseException:
            self._renew()
            raise

    def _refused(self, count: int) -> None:
        """The learner's pool must refuse this too, and be as it was (I13)."""
        if "BlockPool" not in self.parts.mine:
            return
        inner, free = self._inner, self._blank
        got, error = self._asked(lambda: inner.take(count))
        if not isinstance(error, OutOfBlocks):
            what = f"returned {show(got, 40)}" if error is None else said(error)
            self._replace(f"take({count}) with {free} free blocks {what}, expected OutOfBlocks.", "I13")
        elif (error.needed, error.free) != (count, free):
            self._replace(f"take({count}) raised OutOfBlocks({error.needed}, {error.free}), expected "
                          f"OutOfBlocks({count}, {free}).", "I13")
        else:
            self._compare(f"a refused take({count})", range(self.num_blocks))

    def _taken(self, count: int) -> list[int]:
        if "BlockPool" in self.parts.mine:
            inner = self._inner
            got, error = self._asked(lambda: list(map(int, inner.take(count))))
            wrong = self._wrong_take(count, got, error)
            if not wrong:
                return got
            self._replace(f"take({count}) {wrong}")
        return self._inner.take(count)

    def _wrong_take(self, count: int, got: Any, error: BaseException | None) -> str:
        if error is not None:
            return f"{said(error)}, expected {count} of the {self._blank} free blocks."
        if len(got) != count or len(set(got)) != count:
            return f"returned {show(got, 60)}, expected {count} different blocks."
        wrong = [block for block in got if not 0 <= block < self.num_blocks]
        if wrong:
            return f"returned block {wrong[0]}, expected blocks from 0 to {self.num_blocks - 1}."
        owned = [block for block in got if self._expected(block)]
        return f"returned block {owned[0]}, which is in use, expected free ones." if owned else ""

    def _call(self, method: str, blocks: list[int]) -> None:
        """Let the pool follow the books, which know of it already."""
        inner = self._inner
        if "BlockPool" not in self.parts.mine:
            getattr(inner, method)(blocks)
            return
        _, error = self._asked(lambda: getattr(inner, method)(list(blocks)))
        if error is not None:
            self._replace(f"{method}({show(blocks, 60)}) {said(error)}, expected it to be done.")
        else:
            self._compare(f"{method}({show(blocks, 60)})", blocks)

    def _compare(self, after: str, blocks: Iterable[int]) -> None:
        """What the learner's pool says of its free blocks and of `blocks`, beside the books."""
        if "BlockPool" not in self.parts.mine:
            return
        ids, inner = list(blocks), self._inner
        got, error = self._asked(lambda: (inner.num_free, [inner.ref_count(one) for one in ids]))
        wanted = self._blank, [self._expected(one) for one in ids]
        if error is not None:
            self._replace(f"num_free or ref_count after {after} {said(error)}.")
        elif got[0] != wanted[0]:
            self._replace(f"num_free after {after} is {show(got[0], 30)}, expected {wanted[0]}.")
        elif got != wanted:
            block, one, other = next(row for row in zip(ids, *(got[1], wanted[1]), strict=True) if row[1] != row[2])
            self._replace(f"ref_count({block}) after {after} is {show(one, 30)}, expected {other}.", "I2")

    def _replace(self, sentence: str, invariant: str = "I1") -> None:
        self.parts.blame("BlockPool", f"BlockPool: {sentence}", invariant)
        self._renew()

    def _renew(self) -> None:
        """A new pool in the state that the books have: all is taken, and what nobody holds given back."""
        if "BlockPool" in self.parts.mine:
            made = self.parts.mine["BlockPool"]
            self._inner, error = self.parts.attempt("BlockPool", lambda: self._in_state(made))
            if error is not None:
                self.parts.blame("BlockPool", f"BlockPool({self.num_blocks}) {said(error)}.", "I1")
        if "BlockPool" not in self.parts.mine:
            self._inner = self._in_state(BlockPool)

    def _in_state(self, made: Callable[[int], Any]) -> Any:
        pool = made(self.num_blocks)
        wanted = [self._expected(block) for block in range(self.num_blocks)]
        if any(wanted):
            pool.take(self.num_blocks)
            pool.release([block for block, count in enumerate(wanted) if not count])
            for block, count in enumerate(wanted):
                for _ in range(count - 1):
                    pool.share([block])
        return pool
