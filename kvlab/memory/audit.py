"""Block tables beside their pool: what must hold between them, walked and said by number, and which slots are empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from kvlab.errors import InvariantBroken

from .protocols import Pool
from .table import Held, blocks_needed
from .waste import Waste


def check_tables(pool: Pool, block_size: int, sequences: Mapping[Any, Held], others: Iterable[int] = ()) -> None:
    """Raise `InvariantBroken` for the first of these that does not hold between `pool` and the tables of `sequences`.

    Table lengths (I3); tables that name blocks the pool has (I4); sequences that share a block and have the same number
    of tokens in it, since otherwise one has written there (I5); reference counts against table entries and `others`,
    blocks named once for each hold from outside (I2).
    """
    null = getattr(pool, "null", None)
    holds, filled = Counter(others), dict[int, int]()
    for seq_id, sequence in sequences.items():
        _check_table(pool, block_size, seq_id, sequence)
        holds.update(sequence.table)
        for position, block in enumerate(sequence.table):
            fill = min(block_size, sequence.num_tokens - position * block_size)
            if filled.setdefault(block, fill) != fill and block != null:
                raise InvariantBroken(
                    "I5", f"block {block} is shared, yet has {filled[block]} tokens here, {fill} there"
                )
    for block in range(pool.num_blocks):
        count = pool.ref_count(block) - (block == null)
        if count != holds[block]:
            raise InvariantBroken(
                "I2", f"block {block} has reference count {count}, but {holds[block]} entries name it"
            )


def _check_table(pool: Pool, block_size: int, seq_id: Hashable, sequence: Held) -> None:
    needed, entries = blocks_needed(sequence.num_tokens, block_size), len(sequence.table)
    if entries != needed:
        raise InvariantBroken("I3", f"{seq_id!r} has {sequence.num_tokens} tokens and {entries} entries, not {needed}")
    foreign = [block for block in sequence.table if not 0 <= block < pool.num_blocks]
    if foreign:
        raise InvariantBroken("I4", f"the table of {seq_id!r} names blocks the pool does not have: {foreign}")


def waste_of(pool: Pool, block_size: int, sequences: Iterable[Held]) -> Waste:
    """Where the pool's slots are. A slot that several sequences share counts once.

    The empty slots of last blocks count as internal, since nobody knows whether they will be used.
    """
    last = {held.table[-1]: -held.num_tokens % block_size for held in sequences if held.table}
    empty = sum(last.values()) + (getattr(pool, "null", None) is not None) * block_size
    used = (pool.num_blocks - pool.num_free) * block_size
    return Waste(held=used - empty, internal=empty, free=pool.num_free * block_size)
