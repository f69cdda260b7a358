"""The learner's block pool at work inside the engine's: what it says is compared with the books after every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.wording import said
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks
from kvlab.memory import BlockPool


class Books(Protocol):
    """What is known of `num_blocks` blocks whatever the learner's pool says."""

    num_blocks: int

    @property
    def blank(self) -> int:
        """How many blocks nobody has."""

    def owners(self, block: int) -> int:
        """How many have `block`."""


class InnerPool:
    """The learner's `BlockPool` in the state that `books` have. From its first wrong word on, a finished one."""

    def __init__(self, parts: Parts, books: Books) -> None:
        self.parts, self.books = parts, books
        self.renew()

    def take(self, count: int) -> list[int]:
        """`count` blocks that nobody has, of which the books must have as many."""
        if "BlockPool" in self.parts.mine:
            pool = self._pool
            got, error = self._asked(lambda: list(map(int, pool.take(count))))
            wrong = self._wrong_take(count, got, error)
            if not wrong:
                return got
            self._replace(f"take({count}) {wrong}")
        return self._pool.take(count)

    def refuse(self, count: int) -> None:
        """There are not `count` blocks: the learner's pool must say so too, and be as it was (I13)."""
        if "BlockPool" not in self.parts.mine:
            return
        pool, free = self._pool, self.books.blank
        got, error = self._asked(lambda: pool.take(count))
        if not isinstance(error, OutOfBlocks):
            what = f"returned {show(got, 40)}" if error is None else said(error)
            self._replace(f"take({count}) with {free} free blocks {what}, expected OutOfBlocks.", "I13")
        elif (error.needed, error.free) != (count, free):
            self._replace(f"take({count}) raised OutOfBlocks({error.needed}, {error.free}), expected "
                          f"OutOfBlocks({count}, {free}).", "I13")
        else:
            self.compare(f"a refused take({count})", range(self.books.num_blocks))

    def call(self, method: str, blocks: list[int]) -> None:
        """Let the pool follow the books, which know of it already."""
        pool = self._pool
        if "BlockPool" not in self.parts.mine:
            getattr(pool, method)(blocks)
            return
        _, error = self._asked(lambda: getattr(pool, method)(list(blocks)))
        if error is not None:
            self._replace(f"{method}({show(blocks, 60)}) {said(error)}, expected it to be done.")
        else:
            self.compare(f"{method}({show(blocks, 60)})", blocks)

    def compare(self, after: str, blocks: Iterable[int]) -> None:
        """What the learner's pool says of its free blocks and of `blocks`, beside the books."""
        if "BlockPool" not in self.parts.mine:
            return
        ids, pool = list(blocks), self._pool
        got, error = self._asked(lambda: (pool.num_free, [pool.ref_count(one) for one in ids]))
        wanted = self.books.blank, [self.books.owners(one) for one in ids]
        if error is not None:
            self._replace(f"num_free or ref_count after {after} {said(error)}.")
        elif got[0] != wanted[0]:
            self._replace(f"num_free after {after} is {show(got[0], 30)}, expected {wanted[0]}.")
        elif got != wanted:
            block, one, other = next(row for row in zip(ids, *(got[1], wanted[1]), strict=True) if row[1] != row[2])
            self._replace(f"ref_count({block}) after {after} is {show(one, 30)}, expected {other}.", "I2")

    def check(self) -> None:
        """Compare all that the pool says of itself with the books; a finished one walks its own state too."""
        self.compare("a step", range(self.books.num_blocks))
        if isinstance(self._pool, BlockPool):
            self._pool.check()

    def renew(self) -> None:
        """A new pool in the state that the books have: all is taken, and what nobody holds given back."""
        if "BlockPool" in self.parts.mine:
            made = self.parts.mine["BlockPool"]
            self._pool, error = self.parts.attempt("BlockPool", lambda: self._in_state(made))
            if error is not None:
                self.parts.blame("BlockPool", f"BlockPool({self.books.num_blocks}) {said(error)}.", "I1")
        if "BlockPool" not in self.parts.mine:
            self._pool = self._in_state(BlockPool)

    def _asked(self, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        """What a call of the learner's pool returns or raises. If it is interrupted, nobody knows how far it got."""
        try:
            return self.parts.attempt("BlockPool", call)
        except BaseException:
            self.renew()
            raise

    def _wrong_take(self, count: int, got: Any, error: BaseException | None) -> str:
        if error is not None:
            return f"{said(error)}, expected {count} of the {self.books.blank} free blocks."
        if len(got) != count or len(set(got)) != count:
            return f"returned {show(got, 60)}, expected {count} different blocks."
        wrong = [block for block in got if not 0 <= block < self.books.num_blocks]
        if wrong:
            return f"returned block {wrong[0]}, expected blocks from 0 to {self.books.num_blocks - 1}."
        owned = [block for block in got if self.books.owners(block)]
        return f"returned block {owned[0]}, which is in use, expected free ones." if owned else ""

    def _replace(self, sentence: str, invariant: str = "I1") -> None:
        self.parts.blame("BlockPool", f"BlockPool: {sentence}", invariant)
        self.renew()

    def _in_state(self, made: Callable[[int], Any]) -> Any:
        pool = made(self.books.num_blocks)
        wanted = [self.books.owners(block) for block in range(self.books.num_blocks)]
        if any(wanted):
            pool.take(self.books.num_blocks)
            pool.release([block for block, count in enumerate(wanted) if not count])
            for block, count in enumerate(wanted):
                for _ in range(count - 1):
                    pool.share([block])
        return pool
