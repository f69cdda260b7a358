"""The block manager: one table a sequence, grown block by block from one pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import index
from typing import Any, Literal, NoReturn, SupportsIndex, overload

import numpy as np

from kvlab.errors import InvariantBroken, UsageError

from .pool import BlockPool
from .protocols import Pool
from .table import blocks_needed
from .waste import Waste


class _Sequence:
    """A sequence's table and how many of its tokens are there."""

    __slots__ = ("num_tokens", "table")

    def __init__(self, table: list[int], num_tokens: int) -> None:
        self.table, self.num_tokens = table, num_tokens


class _CountsOf:
    """Reference counts of another kind of pool, read like the list that a `BlockPool` keeps."""

    def __init__(self, pool: Pool) -> None:
        self._ref_count = pool.ref_count

    def __getitem__(self, block: int) -> int:
        return self._ref_count(block)


class BlockManager:
    """Block tables of the sequences that share one pool of blocks of `block_size` slots.

    `pool` is the number of blocks for a new `BlockPool`, or a pool: ours, or any object with the names of `Pool`.
    A call that is refused changes nothing (I13).
    """

    def __init__(self, pool: Pool | SupportsIndex, block_size: int) -> None:
        if block_size < 1:
            raise UsageError(f"a block has at least 1 slot, not {block_size}")
        self.pool: Pool = BlockPool(pool) if isinstance(pool, SupportsIndex) else pool
        self.block_size = block_size
        self._sequences: dict[Hashable, _Sequence] = {}
        self._counts: Any = _CountsOf(self.pool)
        self._release: Callable[[list[int]], None] = self.pool.release
        if type(self.pool) is BlockPool:  # the same without a call for each; a subclass may have changed them
            self._counts, self._release = self.pool.counts, self.pool.release_known

    def __repr__(self) -> str:
        return f"BlockManager({len(self)} sequences, blocks of {self.block_size}, {self.pool!r})"

    def __contains__(self, seq_id: Hashable) -> bool:
        return seq_id in self._sequences

    def __len__(self) -> int:
        return len(self._sequences)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._sequences)

    def admit(self, seq_id: Hashable, num_tokens: int) -> list[int]:
        """Give a new sequence blocks for its first `num_tokens` (>= 0) tokens and return its table.

        With too few free blocks: `OutOfBlocks`. An id that is in use: `UsageError`.
        """
        if seq_id in self._sequences:
            raise UsageError(f"sequence {seq_id!r} is admitted already")
        num_tokens = index(num_tokens)
        table = self.pool.take(blocks_needed(num_tokens, self.block_size))
        self._sequences[seq_id] = _Sequence(table, num_tokens)
        return table.copy()

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

    def slots(self, seq_id: Hashable, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Slots of the tokens at positions `start` to `stop - 1` (all by default), int64, each through the table
        (I4).
        """
        sequence, size = self._find(seq_id), self.block_size
        stop = sequence.num_tokens if stop is None else stop
        if not 0 <= start <= stop <= sequence.num_tokens:
            raise UsageError(
                f"positions {start} to {stop} are not within the {sequence.num_tokens} tokens of sequence {seq_id!r}"
            )
        first = start // size
        blocks = np.array(sequence.table[first : blocks_needed(stop, size)], dtype=np.int64)
        slots = (blocks[:, None] * size + np.arange(size)).ravel()
        return slots[start - first * size : stop - first * size]

    def free(self, seq_id: Hashable) -> None:
        """Forget the sequence and release its blocks. An id that is not admitted: `UsageError`."""
        self._release(self._find(seq_id).table)
        del self._sequences[seq_id]

    def table(self, seq_id: Hashable) -> list[int]:
        """A copy of the sequence's block table."""
        return self._find(seq_id).table.copy()

    def num_tokens(self, seq_id: Hashable) -> int:
        """How many tokens the sequence has."""
        return self._find(seq_id).num_tokens

    def waste(self) -> Waste:
        """Where the pool's slots are. A slot that several sequences share counts once.

        The empty slots of last blocks count as internal, since nobody knows whether they will be used.
        """
        last = {seq.table[-1]: -seq.num_tokens % self.block_size for seq in self._sequences.values() if seq.table}
        empty = sum(last.values()) + (self._null is not None) * self.block_size
        used = (self.pool.num_blocks - self.pool.num_free) * self.block_size
        return Waste(held=used - empty, internal=empty, free=self.pool.num_free * self.block_size)

    def check(self, others: Iterable[int] = ()) -> None:
        """Walk the whole state and raise `InvariantBroken` with the number of the invariant that does not hold.

        The pool (I1); reference counts against table entries and `others`, blocks named once for each hold from
        outside (I2); table lengths (I3); tables that name blocks the pool has (I4); sequences that share a block
        and have the same number of tokens in it, since otherwise one has written there (I5).
        """
        if isinstance(self.pool, BlockPool):
            self.pool.check()
        holds, filled = Counter(others), dict[int, int]()
        for seq_id, sequence in self._sequences.items():
            self._check_table(seq_id, sequence)
            holds.update(sequence.table)
            for position, block in enumerate(sequence.table):
                fill = min(self.block_size, sequence.num_tokens - position * self.block_size)
                if filled.setdefault(block, fill) != fill and block != self._null:
                    raise InvariantBroken(
                        "I5", f"block {block} is shared, yet has {filled[block]} tokens here, {fill} there"
                    )
        for block in range(self.pool.num_blocks):
            count = self._counts[block] - (block == self._null)
            if count != holds[block]:
                raise InvariantBroken(
                    "I2", f"block {block} has reference count {count}, but {holds[block]} entries name it"
                )

    def _check_table(self, seq_id: Hashable, sequence: _Sequence) -> None:
        needed, entries = blocks_needed(sequence.num_tokens, self.block_size), len(sequence.table)
        if entries != needed:
            raise InvariantBroken(
                "I3", f"{seq_id!r} has {sequence.num_tokens} tokens and {entries} entries, not {needed}"
            )
        foreign = [block for block in sequence.table if not 0 <= block < self.pool.num_blocks]
        if foreign:
            raise InvariantBroken("I4", f"the table of {seq_id!r} names blocks the pool does not have: {foreign}")

    @property
    def _null(self) -> int | None:
        return getattr(self.pool, "null", None)

    def _find(self, seq_id: Hashable) -> _Sequence:
        try:
            return self._sequences[seq_id]
        except KeyError:
            self._refuse_unknown(seq_id)

    @staticmethod
    def _refuse_unknown(seq_id: Hashable) -> NoReturn:
        raise UsageError(f"no sequence {seq_id!r} is admitted") from None

    def _refuse_shared(self, seq_id: Hashable, block: int) -> NoReturn:
        raise UsageError(f"{seq_id!r} cannot write to block {block}: it has {self._counts[block]} holders (I5)")
