"""Swapping: which blocks go to the host and come back, as lists of copies. After Kwon et al. 2023, section 4.5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple, SupportsIndex

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError

from .manager import BlockManager
from .pool import BlockPool
from .sharing import Copy

Pairs = list[Copy]
"""Blocks to be copied, (source, target) each."""


class SwapPlan(NamedTuple):
    """The tables after a move, and the copies that make them true: `(source, target)`, each block once."""

    tables: list[list[int]]
    copies: Pairs


def swap_plan(tables: Iterable[list[int]], free: Iterable[int]) -> SwapPlan:
    """Move the blocks of `tables` to the blocks `free` of another pool; one that several tables name moves once (F20).

    With too few free blocks: `OutOfBlocks`, with the numbers needed and there.
    """
    tables, free = list(tables), list(free)
    different = list(dict.fromkeys(chain.from_iterable(tables)))
    if len(different) > len(free):
        raise OutOfBlocks(len(different), len(free))
    copies = list(zip(different, free, strict=False))
    place = dict(copies)
    return SwapPlan([[place[block] for block in table] for table in tables], copies)


class _Away(NamedTuple):
    """A sequence on the host: its blocks there, and its tokens."""

    table: list[int]
    num_tokens: int


class Swapper:
    """Moves sequences of `manager` to a host pool of `num_host_blocks` blocks and back. It plans; who copies is
    another.

    Sequences that are moved together share on the host, and again afterwards, what they share now. A call that is
    refused changes nothing (I13). plan: a stand-in for `swap_plan`, such as a learner's.
    """

    def __init__(self, manager: BlockManager, num_host_blocks: SupportsIndex) -> None:
        self.manager = manager
        self.host = BlockPool(num_host_blocks)
        self.plan: Callable[[list[list[int]], list[int]], SwapPlan] = swap_plan
        self._away: dict[Hashable, _Away] = {}

    def __repr__(self) -> str:
        return f"Swapper({len(self._away)} sequences away, host: {self.host!r})"

    def __contains__(self, seq_id: Hashable) -> bool:
        return seq_id in self._away

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._away)

    def next_blocks(self, seq_ids: Iterable[Hashable]) -> int:
        """Blocks that these sequences will need for one token more each, once they are back.

        One for each whose last block is full, and one for the copy of a last block that is not and that another shares.
        """
        size = self.manager.block_size
        away = self._find(list(dict.fromkeys(seq_ids)))
        full = sum(one.num_tokens % size == 0 for one in away)
        ends = Counter(one.table[-1] for one in away if one.num_tokens % size)
        return full + sum(writers - 1 for writers in ends.values())

    def swap_out(self, seq_ids: Iterable[Hashable]) -> Pairs:
        """Take these sequences from the manager: the copies (pool block, host block) to make before its blocks are
        reused.

        A host pool without enough free blocks: `OutOfBlocks`; an id that is not admitted, or is away too: `UsageError`.
        """
        ids = list(dict.fromkeys(seq_ids))
        tables = [self.manager.table(seq_id) for seq_id in ids]
        _refuse_both(ids, self._away)
        different = len(set(chain.from_iterable(tables)))
        host = self.host.take(different)
        moved, copies = self.plan(tables, host)
        for block, holders in Counter(chain.from_iterable(moved)).items():
            self.host.share([block] * (holders - 1))
        for seq_id, table in zip(ids, moved, strict=True):
            self._away[seq_id] = _Away(table, self.manager.num_tokens(seq_id))
            self.manager.free(seq_id)
        return copies

    def swap_in(self, seq_ids: Iterable[Hashable], spare: int = 0) -> Pairs:
        """Give these sequences back to the manager: the copies (host block, pool block) to make before they are read.

        The host's blocks are free at once, so the copies come before the next that go out. Fewer free blocks than are
        needed, `spare` of them beyond: `OutOfBlocks`. An id that is not away, or admitted anew since: `UsageError`.
        """
        ids = list(dict.fromkeys(seq_ids))
        away = self._find(ids)
        _refuse_both(ids, self.manager)
        needed, free = len(set(chain.from_iterable(one.table for one in away))), self.manager.pool.num_free
        if needed + spare > free:
            raise OutOfBlocks(needed + spare, free)
        blocks = self.manager.pool.take(needed)
        tables, copies = self.plan([one.table for one in away], blocks)
        for seq_id, one, table in zip(ids, away, tables, strict=True):
            self.manager.adopt(seq_id, table, one.num_tokens)
            del self._away[seq_id]
            self.host.release(one.table)
        self.manager.pool.release(blocks)  # they have their holders now
        return copies

    def forget(self, seq_ids: Iterable[Hashable]) -> None:
        """Give up sequences that are away, and their blocks on the host."""
        ids = list(dict.fromkeys(seq_ids))
        for seq_id, one in zip(ids, self._find(ids), strict=True):
            self.host.release(one.table)
            del self._away[seq_id]

    def check(self) -> None:
        """The host's pool holds (I1), and each of its blocks is counted once for each entry that names it (I2)."""
        self.host.check()
        named = Counter(chain.from_iterable(one.table for one in self._away.values()))
        for block, count in enumerate(self.host.counts):
            if count != named[block]:
                raise InvariantBroken("I2", f"host block {block} has count {count}, but {named[block]} entries name it")

    def _find(self, seq_ids: list[Hashable]) -> list[_Away]:
        missing = [seq_id for seq_id in seq_ids if seq_id not in self._away]
        if missing:
            raise UsageError(f"sequence {missing[0]!r} is not swapped out")
        return [self._away[seq_id] for seq_id in seq_ids]


def _refuse_both(seq_ids: list[Hashable], there: Container[Hashable]) -> None:
    """`UsageError` if one with the same id is where these are to go: it would lose its blocks."""
    both = [seq_id for seq_id in seq_ids if seq_id in there]
    if both:
        raise UsageError(f"sequence {both[0]!r} is admitted and swapped out, so it cannot be moved")
