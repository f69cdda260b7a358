"""One more token for each of many sequences at once: what a decode step asks of the block manager."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .protocols import Pool
from .sharing import Copy
from .table import Held


def append_each(
    sequences: list[Held], counts: Any, pool: Pool, release: Callable[[list[int]], None], block_size: int
) -> tuple[list[int], list[Copy]]:
    """Grow each of `sequences` by a token: their slots, in the same order, and the copies to make before they are
    written.

    Each has a `table` and `num_tokens`. Who has a full last block gets a new one; who shares one that is not full gets
    a copy, but for the last who would (I5). All blocks are taken at once, or with `OutOfBlocks` none (I13).
    """
    needy = needing_a_block(sequences, counts, block_size)
    copies = []
    for held, block in zip(needy, pool.take(len(needy)) if needy else (), strict=True):
        if held.num_tokens % block_size:
            copies.append((held.table[-1], block))
            held.table[-1] = block
        else:
            held.table.append(block)
    if copies:
        release([source for source, _ in copies])
    slots = []
    for held in sequences:
        num_tokens = held.num_tokens
        slots.append(held.table[-1] * block_size + num_tokens % block_size)
        held.num_tokens = num_tokens + 1
    return slots, copies


def needing_a_block(sequences: list[Held], counts: Any, block_size: int) -> list[Held]:
    """Those of `sequences` for whose next token a block must be taken: a new one, or one for a copy."""
    needy = [held for held in sequences if not held.num_tokens % block_size]
    shared = [] if len(needy) == len(sequences) else _shared(sequences, counts, block_size)
    if shared:
        marked = set(map(id, shared))
        needy = [held for held in sequences if not held.num_tokens % block_size or id(held) in marked]
    return needy


def _shared(sequences: Iterable[Held], counts: Any, block_size: int) -> list[Held]:
    """Those who need a copy of their last block: all of its writers but one, or every one if others hold it too."""
    found, left = [], dict[int, int]()
    for held in sequences:
        if counts[held.table[-1] if held.table else 0] > 1 and held.num_tokens % block_size:
            block = held.table[-1]
            left[block] = left.get(block, counts[block]) - 1
            if left[block]:
                found.append(held)
    return found
