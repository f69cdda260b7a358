"""The block tables of many sequences on one pool: what can be read of them. What changes them is a `BlockManager`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NoReturn

import numpy as np

from kvlab.errors import UsageError

from .audit import check_tables, waste_of
from .pool import BlockPool
from .protocols import Pool
from .table import Held, blocks_needed
from .waste import Waste


class BlockTables:
    """One table a sequence, of blocks of `pool` with `block_size` slots each.

    Whatever names a sequence that is not admitted is refused with `UsageError`.
    """

    def __init__(self, pool: Pool, block_size: int) -> None:
        if block_size < 1:
            raise UsageError(f"a block has at least 1 slot, not {block_size}")
        self.pool, self.block_size = pool, block_size
        self._sequences: dict[Hashable, Held] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} sequences, blocks of {self.block_size}, {self.pool!r})"

    def __contains__(self, seq_id: Hashable) -> bool:
        return seq_id in self._sequences

    def __len__(self) -> int:
        return len(self._sequences)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._sequences)

    @property
    def sequences(self) -> Mapping[Hashable, Held]:
        """Each sequence's table and number of tokens, as they are: to be read, not written."""
        return self._sequences

    def held(self, seq_ids: Iterable[Hashable]) -> list[Held]:
        """Table and number of tokens of each of these sequences, in the same order: to be read, not written."""
        sequences = self._sequences
        try:
            return [sequences[seq_id] for seq_id in seq_ids]
        except KeyError as error:
            self._refuse_unknown(error.args[0])

    def table(self, seq_id: Hashable) -> list[int]:
        """A copy of the sequence's block table."""
        return self._find(seq_id).table.copy()

    def num_tokens(self, seq_id: Hashable) -> int:
        """How many tokens the sequence has."""
        return self._find(seq_id).num_tokens

    def slots(self, seq_id: Hashable, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Slots of the tokens at positions `start` to `stop - 1` (default: all), int64, each through the table (I4)."""
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

    def waste(self) -> Waste:
        """Where the pool's slots are; one that is shared counts once. Empty ends are internal: will they be used?"""
        return waste_of(self.pool, self.block_size, self._sequences.values())

    def check(self, others: Iterable[int] = ()) -> None:
        """Walk the whole state and raise `InvariantBroken` with the number of the invariant that does not hold.

        The pool (I1), and all that `check_tables` knows (I2 to I5). others: blocks named once for each hold from
        outside, as a prefix cache has.
        """
        if isinstance(self.pool, BlockPool):
            self.pool.check()
        check_tables(self.pool, self.block_size, self._sequences, others)

    def _find(self, seq_id: Hashable) -> Held:
        try:
            return self._sequences[seq_id]
        except KeyError:
            self._refuse_unknown(seq_id)

    @staticmethod
    def _refuse_unknown(seq_id: Hashable) -> NoReturn:
        raise UsageError(f"no sequence {seq_id!r} is admitted") from None
