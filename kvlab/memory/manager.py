"""The block manager: one table a sequence, grown block by block from one pool."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, Literal, NoReturn, SupportsIndex, overload

import numpy as np

from kvlab.errors import UsageError

from .growth import append_each
from .pool import BlockPool
from .protocols import Pool
from .sharing import Copy, Write, take_after
from .table import Held, blocks_needed
from .tables import BlockTables


class CountsOf:
    """Reference counts of another kind of pool, read like the list that a `BlockPool` keeps."""

    def __init__(self, pool: Pool) -> None:
        self._ref_count = pool.ref_count

    def __getitem__(self, block: int) -> int:
        return self._ref_count(block)


class BlockManager(BlockTables):
    """Block tables of the sequences that share one pool of blocks of `block_size` slots.

    `pool` is the number of blocks for a new `BlockPool`, or a pool: ours, or any object with the names of `Pool`.
    A call that is refused changes nothing (I13). Sequences share blocks after `fork`, or `admit` with a prefix; who
    then writes into a block that others hold must do it by `append_cow`, and gets a copy (I5).
    """

    def __init__(self, pool: Pool | SupportsIndex, block_size: int) -> None:
        super().__init__(BlockPool(pool) if isinstance(pool, SupportsIndex) else pool, block_size)
        self._counts: Any = CountsOf(self.pool)
        self._release: Callable[[list[int]], None] = self.pool.release
        if type(self.pool) is BlockPool:  # the same without a call for each; a subclass may have changed them
            self._counts, self._release = self.pool.counts, self.pool.release_known

    def admit(self, seq_id: Hashable, num_tokens: int, prefix: Sequence[int] = ()) -> list[int]:
        """Give a new sequence blocks for its first `num_tokens` (>= 0) tokens and return its table.

        prefix: full blocks of tokens that are there already. The table begins with them; each gets one more holder, and
        one that lies free (with its hash) is taken back. With too few free blocks, these included: `OutOfBlocks`. An id
        in use, or a prefix of more than `num_tokens` tokens: `UsageError`.
        """
        if seq_id in self._sequences:
            raise UsageError(f"sequence {seq_id!r} is admitted already")
        num_tokens = index(num_tokens)
        needed, shared = blocks_needed(num_tokens, self.block_size), len(prefix)
        if shared and shared * self.block_size > num_tokens:
            raise UsageError(f"{shared} full blocks of {self.block_size} are no prefix of {num_tokens} tokens")
        table = take_after(prefix, needed, self.pool) if shared else self.pool.take(needed)
        self._sequences[seq_id] = Held(table, num_tokens)
        return table.copy()

    def adopt(self, seq_id: Hashable, table: Sequence[int], num_tokens: int) -> None:
        """A new sequence of `num_tokens` tokens on the blocks of `table`, each of which has one holder more.

        An id that is in use, a table of another length than so many tokens need (I3), or a block that cannot be shared:
        `UsageError`.
        """
        if seq_id in self._sequences:
            raise UsageError(f"sequence {seq_id!r} is admitted already")
        needed = blocks_needed(index(num_tokens), self.block_size)
        if len(table) != needed:
            raise UsageError(f"{num_tokens} tokens lie in {needed} blocks of {self.block_size}, not in {len(table)}")
        self.pool.share(table)
        self._sequences[seq_id] = Held(list(table), num_tokens)

    def fork(self, parent: Hashable, children: Iterable[Hashable]) -> None:
        """Admit each of `children` with the tokens and the blocks of `parent`; all of them or none. Nothing is copied.

        Every block of the parent has one more holder for each child. An unknown parent, or a child that is admitted
        already or named twice: `UsageError`.
        """
        sequence = self._find(parent)
        if isinstance(children, str):
            raise UsageError(f"children are a list of ids, not the one id {children!r}")
        ids = list(children)
        taken = [child for child in ids if child in self._sequences or ids.count(child) > 1]
        if taken:
            raise UsageError(f"sequence {taken[0]!r} is admitted already, or named twice")
        self.pool.share(sequence.table * len(ids))
        for child in ids:
            self._sequences[child] = Held(sequence.table.copy(), sequence.num_tokens)

    @overload
    def append(self, seq_id: Hashable, count: Literal[1] = 1) -> int: ...
    @overload
    def append(self, seq_id: Hashable, count: int) -> int | np.ndarray: ...
    def append(self, seq_id: Hashable, count: int = 1) -> int | np.ndarray:
        """The slot of the sequence's next token, or for `count` other than 1 the slots of so many, as `extend` does.

        A block is taken only if the last one is full; without a free one: `OutOfBlocks`. This is the hot path of
        every decode step, so the one-token case calls nothing that it can do itself.
        """
        if count != 1:
            return self.extend(seq_id, count)
        try:
            sequence = self._sequences[seq_id]
        except KeyError:
            self._refuse_unknown(seq_id)
        table, num_tokens, block_size = sequence.table, sequence.num_tokens, self.block_size
        offset = num_tokens % block_size
        if offset:
            block = table[-1]
            if self._counts[block] != 1:
                self._refuse_shared(seq_id, block)
        else:
            (block,) = self.pool.take(1)
            table.append(block)
        sequence.num_tokens = num_tokens + 1
        return block * block_size + offset

    def extend(self, seq_id: Hashable, count: int) -> np.ndarray:
        """The slots of the sequence's next `count` (>= 0) tokens, int64; all of them or, with `OutOfBlocks`, none."""
        sequence, count = self._find(seq_id), index(count)
        if count < 0:
            raise UsageError(f"cannot append {count} tokens")
        start, stop = sequence.num_tokens, sequence.num_tokens + count
        if count and start % self.block_size and self._counts[sequence.table[-1]] != 1:
            self._refuse_shared(seq_id, sequence.table[-1])
        sequence.table += self.pool.take(blocks_needed(stop, self.block_size) - len(sequence.table))
        sequence.num_tokens = stop
        return self.slots(seq_id, start, stop)

    def append_cow(self, seq_id: Hashable, count: int = 1) -> Write:
        """`extend` for a sequence that may share its last block: the new slots, and the copies to make before a write.

        If others hold the last block and it is not full, its place in the table goes to a new block, into which it is
        to be copied; the last owner writes in place, with no copy. All of it or, with `OutOfBlocks`, nothing.

        The sources must hold their tokens when the copies are made, so carry out the plan of a sequence and write its
        tokens before it is forked again.
        """
        sequence, count = self._find(seq_id), index(count)
        table, start, stop = sequence.table, sequence.num_tokens, sequence.num_tokens + count
        if count < 1 or not start % self.block_size or self._counts[table[-1]] == 1:
            return Write(self.extend(seq_id, count), [])
        shared = table[-1]
        table[-1:] = self.pool.take(blocks_needed(stop, self.block_size) - len(table) + 1)
        copies = [(shared, table[start // self.block_size])]
        self._release([shared])
        sequence.num_tokens = stop
        return Write(self.slots(seq_id, start, stop), copies)

    def remap(self, seq_id: Hashable, blocks: Mapping[int, int]) -> None:
        """Let the table name another block at some positions, one that holds the same tokens; its own are released.

        `{position: block}` is what a prefix index's `publish` returns. A position that the table lacks, or a block
        that cannot be shared: `UsageError`.
        """
        table = self._find(seq_id).table
        if not blocks.keys() <= set(range(len(table))):
            raise UsageError(f"the table of {seq_id!r} has {len(table)} entries, none at one of {sorted(blocks)}")
        self.pool.share(list(blocks.values()))
        self._release([table[position] for position in blocks])
        for position, block in blocks.items():
            table[position] = block

    def append_each(self, seq_ids: Iterable[Hashable]) -> tuple[list[int], list[Copy]]:
        """One token more for each sequence, each named once: slots in the same order, and copies to make before.

        All of them or, with `OutOfBlocks`, none.
        """
        return append_each(self.held(seq_ids), self._counts, self.pool, self._release, self.block_size)

    def free(self, seq_id: Hashable) -> None:
        """Forget the sequence and release its blocks. An id that is not admitted: `UsageError`."""
        self._release(self._find(seq_id).table)
        del self._sequences[seq_id]

    def _refuse_shared(self, seq_id: Hashable, block: int) -> NoReturn:
        why = f"it has {self._counts[block]} holders (I5); append_cow copies it"
        raise UsageError(f"{seq_id!r} cannot write to block {block}: {why}")
