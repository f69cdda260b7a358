"""A host tier of chunks: runs of many blocks, found by a hash of all tokens up to their end.

LMCache stores chunks of 256 tokens like this, only full ones unless told otherwise, and gives up the least recently
used (its v1/config.py, v1/token_database.py and cache_policy/lru.py). Large chunks make large copies, and coarse hits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence

from kvlab.errors import InvariantBroken, UsageError

from .history import chain_sha256, history_of

CHUNK = 256
"""Tokens in a chunk of LMCache, by default."""


class ChunkTier:
    """Room for `num_chunks` chunks of `chunk_size` tokens. It keeps keys alone; the bytes are somebody else's."""

    def __init__(self, num_chunks: int, chunk_size: int = CHUNK) -> None:
        if num_chunks < 0 or chunk_size < 1:
            raise UsageError(f"a tier has 0 chunks or more, of 1 token or more, not {num_chunks} of {chunk_size}")
        self.num_chunks, self.chunk_size = num_chunks, chunk_size
        self._chunks: OrderedDict[Hashable, None] = OrderedDict()  # the least recently used first

    def __len__(self) -> int:
        return len(self._chunks)

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> int:
        """How many tokens at the beginning of `tokens` lie here, whole chunks, at least one token left over (I7).

        What is found counts as used.
        """
        keys = history_of(tokens, tag).keys(self.chunk_size, chain_sha256)[1 : (len(tokens) - 1) // self.chunk_size + 1]
        found = 0
        for key in keys:
            if key not in self._chunks:
                break
            found += 1
        for key in reversed(keys[:found]):  # the beginning is used last: it is needed by all that follows
            self._chunks.move_to_end(key)
        return found * self.chunk_size

    def store(self, tokens: Sequence[int], num_tokens: int, tag: tuple[Hashable, ...] = ()) -> int:
        """Keep the full chunks of the first `num_tokens` tokens, which are written (I8); returns how many are new.

        For each that there is no room for, the least recently used goes. Of more than fit, the beginning is kept.
        """
        keys = history_of(tokens, tag).keys(self.chunk_size, chain_sha256)
        wanted = keys[1 : min(num_tokens // self.chunk_size, self.num_chunks) + 1]
        new = [key for key in wanted if key not in self._chunks]
        for key in reversed(wanted):
            self._chunks[key] = None
            self._chunks.move_to_end(key)
        while len(self._chunks) > self.num_chunks:
            self._chunks.popitem(last=False)
        return len(new)

    def check(self) -> None:
        """`InvariantBroken` if there is more than there is room for."""
        if len(self._chunks) > self.num_chunks:
            raise InvariantBroken("tier", f"{len(self._chunks)} chunks lie where {self.num_chunks} fit")
