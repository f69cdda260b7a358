"""Block tables: from a token's position in its sequence to its slot in the pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvlab.errors import UsageError

from .protocols import Takes


class Held:
    """A sequence's table and how many of its tokens are there."""

    __slots__ = ("num_tokens", "table")

    def __init__(self, table: list[int], num_tokens: int) -> None:
        self.table, self.num_tokens = table, num_tokens


def _not_negative(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 0:
            raise UsageError(f"{name} cannot be negative, but is {number}")


def blocks_needed(num_tokens: int, block_size: int) -> int:
    """Blocks that hold `num_tokens` (>= 0) tokens at `block_size` (>= 1) tokens per block: rounded up (I3)."""
    _not_negative(num_tokens=num_tokens)
    if block_size < 1:
        raise UsageError(f"a block has at least 1 slot, not {block_size}")
    return -(-num_tokens // block_size)


def round_up_to_block(num_tokens: int, block_size: int) -> int:
    """Slots that `num_tokens` tokens take up in whole blocks."""
    return blocks_needed(num_tokens, block_size) * block_size


def append_tokens(table: list[int], num_tokens: int, new_tokens: int, pool: Takes, block_size: int) -> list[int]:
    """The slots of `new_tokens` tokens after the `num_tokens` that `table` holds; `table` grows as far as needed.

    Its blocks come from `pool`. What the pool refuses (`OutOfBlocks`) leaves the table and the pool as they were (I13).
    """
    _not_negative(num_tokens=num_tokens, new_tokens=new_tokens)
    total = num_tokens + new_tokens
    missing = blocks_needed(total, block_size) - len(table)
    if missing > 0:
        table.extend(pool.take(missing))
    return slot_mapping(table, num_tokens, total, block_size)


def slot_mapping(table: Sequence[int], start: int, stop: int, block_size: int) -> list[int]:
    """Slots of the tokens at positions `start` to `stop - 1`: block * `block_size` + offset, by the table (I4)."""
    _not_negative(start=start)
    if blocks_needed(max(stop, 0), block_size) > len(table):
        raise UsageError(f"a table of {len(table)} blocks of {block_size} has no slot for token {stop - 1}")
    return [table[position // block_size] * block_size + position % block_size for position in range(start, stop)]


def paged_waste(lengths: Iterable[int], block_size: int) -> int:
    """Slots in the last blocks of sequences of these lengths that hold no token."""
    return sum(round_up_to_block(length, block_size) - length for length in lengths)


def block_size_sweep(lengths: Sequence[int], block_sizes: Iterable[int]) -> list[tuple[int, float, int]]:
    """`(block_size, share_held, lookups)` for each block size.

    `share_held` is tokens over allocated slots (1.0 where nothing is allocated); `lookups` are the table entries
    that are read to walk every sequence once.
    """
    rows = []
    for size in block_sizes:
        lookups = sum(blocks_needed(length, size) for length in lengths)
        rows.append((size, sum(lengths) / (lookups * size) if lookups else 1.0, lookups))
    return rows
