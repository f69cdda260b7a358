"""Partial reuse: a block of which only the beginning fits a prompt is copied, and the copy is written on.

After TensorRT-LLM's `copy_on_partial_reuse` (documentation "KV Cache System"): the matched tokens go to a new block, so
that several requests can reuse parts of one block while others still read all of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from .history import TOKEN_BYTES, equal_units, history_of
from .radix import RadixCache


class PartialMatch(NamedTuple):
    """blocks: whole ones that are found. source: the block to copy `extra` tokens from, None if there are none."""

    blocks: list[int]
    num_tokens: int
    source: int | None
    extra: int


def match_partly(index: RadixCache, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> PartialMatch:
    """The longest known beginning of `tokens` in whole blocks, and in part of one more, at least one left over (I7).

    Nothing is held yet, neither the blocks nor the source: hold it until its copy is planned, else it may be taken for
    something else in between.
    """
    history = history_of(tokens, tag)
    blocks, num_tokens = index.match(history)
    left = len(history) - 1 - num_tokens
    rest = history.data[num_tokens * TOKEN_BYTES :][: left * TOKEN_BYTES]
    source, extra = None, 0
    for block, label in index.following(history, blocks):
        equal = equal_units(rest, label, TOKEN_BYTES)
        if equal > extra:
            source, extra = block, equal
    return PartialMatch(blocks, num_tokens, source, extra)
