"""A host tier of chunks: runs of many blocks, found by a hash of all tokens up to their end.

LMCache stores chunks of 256 tokens like this, only full ones unless told otherwise, and gives up the least recently
used (its v1/config.py, v1/token_database.py and cache_policy/lru.py). Large chunks make large copies, and coarse hits.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kvlab.errors import UsageError

from .history import chain_sha256, history_of
from .tiers import TierPlaces

CHUNK = 256
"""Tokens in a chunk of LMCache, by default."""


class ChunkTier:
    """Room for `num_chunks` chunks of `chunk_size` tokens, in a tier whose blocks the chunks are.

    It keeps keys alone; the bytes are somebody else's. No chunk, or chunks of no token: `UsageError`.
    """

    def __init__(self, num_chunks: int, chunk_size: int = CHUNK) -> None:
        if chunk_size < 1:
            raise UsageError(f"a chunk has at least 1 token, not {chunk_size}")
        self.chunk_size, self.places = chunk_size, TierPlaces(num_chunks)

    def __len__(self) -> int:
        return len(self.places)

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> int:
        """How many tokens at the beginning of `tokens` lie here, whole chunks, at least one token left over (I7).

        What is found counts as used.
        """
        keys = history_of(tokens, tag).keys(self.chunk_size, chain_sha256)[1 : (len(tokens) - 1) // self.chunk_size + 1]
        found = self.places.match(keys)
        self._use(keys[:found])
        return found * self.chunk_size

    def store(self, tokens: Sequence[int], num_tokens: int, tag: tuple[Hashable, ...] = ()) -> int:
        """Keep the full chunks of the first `num_tokens` tokens, which are written (I8); returns how many are new.

        For each that there is no room for, the least recently used goes. Of more than fit, the beginning is kept.
        """
        keys, places = history_of(tokens, tag).keys(self.chunk_size, chain_sha256), self.places
        wanted = keys[1 : min(num_tokens // self.chunk_size, places.num_blocks) + 1]
        self._use([key for key in wanted if key in places])
        new = [key for key in wanted if key not in places]
        for key in new:
            places.store_begin(key)
            places.store_done(key)
        self._use(wanted)
        return len(new)

    def _use(self, keys: Sequence[Hashable]) -> None:
        """The beginning is used last: it is needed by all that follows."""
        for key in reversed(keys):
            self.places.touch(key)

    def check(self) -> None:
        """Walk the tier."""
        self.places.check()
