"""The block manager: one table a sequence, grown block by block from one pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np

from kvlab.errors import InvariantBroken, UsageError

from .pool import BlockPool
from .table import blocks_needed
from .waste import Waste


class _Sequence:
    """A sequence's table and how many tokens of it are there."""

    __slots__ = ("num_tokens", "table")

    def __init__(self, table: list[int], num_tokens: int) -> None:
        self.table, self.num_tokens = table, num_tokens


class BlockManager:
    """Tables of the sequences that share a `BlockPool`. Every call is done whole or, refused, changes nothing (I13)."""

    def __init__(self, pool: BlockPool | int, block_size: int) -> None:
        if block_size < 1:
            raise UsageError(f"a block has at least 1 slot, not {block_size}")
        self.pool = BlockPool(pool) if isinstance(pool, int) else pool
        self.block_size = block_size
        self._sequences: dict[Hashable, _Sequence] = {}

    def __contains__(self, seq_id: Hashable) -> bool:
        return seq_id in self._sequences

    def __len__(self) -> int:
        return len(self._sequences)

    def admit(self, seq_id: Hashable, num_tokens: int) -> list[int]:
        """Give a new sequence the blocks for its first `num_tokens` tokens, and return them. `OutOfBlocks` if there are not enough."""
        if seq_id in self._sequences:
            raise UsageError(f"sequence {seq_id!r} is admitted already")
        table = self.pool.take(blocks_needed(num_tokens, self.block_size))
        self._sequences[seq_id] = _Sequence(table, num_tokens)
        return list(table)

    def append(self, seq_id: Hashable, count: int = 1) -> int | np.ndarray:
        """The slot of the sequence's next token, or an int64 array of slots for `count` other than 1."""
        if count != 1:
            return self.extend(seq_id, count)
        sequence = self._find(seq_id)
        offset = sequence.num_tokens % self.block_size
        if not offset:
            sequence.table += self.pool.take(1)
        elif self.pool.ref_count(sequence.table[-1]) > 1:
            raise self._shared(seq_id, sequence.table[-1])
        sequence.num_tokens += 1
        return sequence.table[-1] * self.block_size + offset

    def extend(self, seq_id: Hashable, count: int) -> np.ndarray:
        """The slots of the sequence's next `count` tokens, int64; all of them or, with `OutOfBlocks`, none."""
        sequence = self._find(seq_id)
        if count < 0:
            raise UsageError(f"cannot append {count} tokens")
        start, stop = sequence.num_tokens, sequence.num_tokens + count
        if count and start % self.block_size and self.pool.ref_count(sequence.table[-1]) > 1:
            raise self._shared(seq_id, sequence.table[-1])
        sequence.table += self.pool.take(blocks_needed(stop, self.block_size) - len(sequence.table))
        sequence.num_tokens = stop
        return self.slots(seq_id, start, stop)

    def slots(self, seq_id: Hashable, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Slots of the tokens at positions `start` to `stop - 1` (all of them by default), int64, through the table (I4)."""
        sequence = self._find(seq_id)
        stop = sequence.num_tokens if stop is None else stop
        if not 0 <= start <= stop <= sequence.num_tokens:
            raise UsageError(f"sequence {seq_id!r} has {sequence.num_tokens} tokens, not positions {start} to {stop}")
        position = np.arange(start, stop, dtype=np.int64)
        return np.array(sequence.table, dtype=np.int64)[position // self.block_size] * self.block_size + position % self.block_size

    def free(self, seq_id: Hashable) -> None:
        """Forget the sequence and release its blocks."""
        self.pool.release(self._find(seq_id).table)
        del self._sequences[seq_id]

    def table(self, seq_id: Hashable) -> list[int]:
        """A copy of the sequence's block table."""
        return list(self._find(seq_id).table)

    def num_tokens(self, seq_id: Hashable) -> int:
        """Tokens the sequence has now."""
        return self._find(seq_id).num_tokens

    def waste(self) -> Waste:
        """Where the pool's slots are. Unfilled slots of last blocks count as internal, since nobody knows whether they will be used."""
        used = self.pool.num_blocks - self.pool.num_free
        held = sum(sequence.num_tokens for sequence in self._sequences.values())
        return Waste(held=held, internal=used * self.block_size - held, free=self.pool.num_free * self.block_size)

    def check(self, others: Iterable[int] = ()) -> None:
        """Walk everything: the pool (I1), counts against table entries (I2), table lengths (I3). `others` names blocks held elsewhere."""
        self.pool.check()
        named = Counter(others)
        for seq_id, sequence in self._sequences.items():
            named.update(sequence.table)
            needed = blocks_needed(sequence.num_tokens, self.block_size)
            if len(sequence.table) != needed:
                raise InvariantBroken("I3", f"sequence {seq_id!r} of {sequence.num_tokens} tokens has {len(sequence.table)} table entries, not {needed}")
        for block in range(self.pool.num_blocks):
            if self.pool.ref_count(block) != named[block]:
                raise InvariantBroken("I2", f"block {block} has reference count {self.pool.ref_count(block)}, but {named[block]} entries name it")

    def _find(self, seq_id: Hashable) -> _Sequence:
        try:
            return self._sequences[seq_id]
        except KeyError:
            raise UsageError(f"no sequence {seq_id!r} is admitted") from None

    @staticmethod
    def _shared(seq_id: Hashable, block: int) -> UsageError:
        return UsageError(f"sequence {seq_id!r} cannot write block {block}: others hold it too (I5)")
