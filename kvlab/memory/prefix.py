"""The prefix cache as a chain of hashes: a full block is filed under all tokens up to its end, not only its own.

Kwon et al. 2023 (section 4.4) share prefixes; that blocks are found by a hash of (the block before, own tokens) is how
vLLM does it. No block is held for the cache: a block without a holder lies in the pool's free list with its hash, until
somebody needs it more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import count

from kvlab.errors import InvariantBroken, UsageError

from .history import TOKEN_BYTES, HashFunction, History, chain_sha256, history_of
from .pool import BlockPool
from .protocols import Match

REMEMBERED = 64
"""Beginnings of prompts whose last history a cache remembers, so as not to hash again what it can compare."""


def block_hashes(
    tokens: Sequence[int], block_size: int, tag: tuple[Hashable, ...] = (), function: HashFunction = chain_sha256
) -> list[Hashable]:
    """The key of each full block of `tokens`: equal only if all tokens up to its end are, and the tag."""
    if block_size < 1:
        raise UsageError(f"a block has at least 1 slot, not {block_size}")
    return history_of(tokens, tag).keys(block_size, function)[1:]


class PrefixCache:
    """Finds blocks of `pool` that hold the beginning of a prompt already. The pool serves this one index.

    function: another way to make keys; with verify, tokens are kept and compared too, so that two texts of the same
    key are still told apart (I9). To be switched on with a function for which such texts can be found.
    """

    def __init__(
        self, pool: BlockPool, block_size: int, function: HashFunction = chain_sha256, verify: bool = False
    ) -> None:
        if block_size < 1:
            raise UsageError(f"a block has at least 1 slot, not {block_size}")
        self.pool, self.block_size, self.function, self.verify = pool, block_size, function, verify
        self._filed: dict[int, tuple[Hashable, Hashable, bytes]] = {}  # block -> (its number, that before it, tokens)
        self._numbers = count()
        self._recent: dict[bytes, History] = {}  # by tag and first block: comparing is cheaper than hashing
        claim(pool, self._forget)

    def __repr__(self) -> str:
        return f"PrefixCache({self.pool!r}, blocks of {self.block_size})"

    @property
    def evictable(self) -> int:
        """Blocks that hold a prefix and have no holder: free, as the pool counts them."""
        return self.pool.num_cached

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> Match:
        """The blocks that hold the longest known beginning of `tokens`, at least one of which is left over (I7).

        Nothing is held or counted yet: `BlockManager.admit(..., prefix=match.blocks)` takes the holds.
        """
        history = history_of(tokens, tag)
        blocks = self.pool.lookup_run(self._keys(history)[1 : (len(history) - 1) // self.block_size + 1])
        if self.verify:
            del blocks[self._equal(history, blocks) :]
        return Match(blocks, len(blocks) * self.block_size)

    def publish(self, tokens: Sequence[int], blocks: Sequence[int], tag: tuple[Hashable, ...] = ()) -> dict[int, int]:
        """File the blocks of a table whose tokens are all written (I8), as far as `tokens` fill them.

        Returns `{position in the table: block}` where another block with the same tokens was filed first; a table
        that names that one from now on (`BlockManager.remap`) frees its own. A block that is not in use, or is
        filed as something else: `UsageError`.
        """
        history = history_of(tokens, tag)
        keys, key_of = self._keys(history), self.pool.key_of
        stop = start = min(len(history) // self.block_size, len(blocks))
        while start and key_of(blocks[start - 1]) != keys[start]:  # those before one that is filed are filed too
            start -= 1
        if self.verify:
            return self._publish_verified(history, blocks, start, stop)
        found = self.pool.publish_all(blocks[start:stop], keys[start + 1 : stop + 1])
        return {start + position: block for position, block in found.items()} if found else found

    def evict(self, count: int) -> int:
        """Forget up to `count` blocks without a holder, least recently used first; returns how many.

        A table is given back from its end, so a chain loses its tail before its head.
        """
        return self.pool.evict(count)

    def check(self) -> None:
        """Walk everything: the pool (I1), and with `verify` that each key is that of its tokens (I9)."""
        self.pool.check()
        if not self.verify:
            return
        numbers = {number: block for block, (number, _, _) in self._filed.items()}
        for block, (_, before, data) in self._filed.items():
            key = self.pool.key_of(block)
            parent = numbers.get(before)
            known = isinstance(before, bytes) or parent is not None  # else the block before has been forgotten
            seed = self.pool.key_of(parent) if parent is not None else None
            seed = self.function(b"", before) if isinstance(before, bytes) else seed
            if key is None or known and self.function(seed, data) != key:
                raise InvariantBroken("I9", f"block {block} is filed under {key!r:.40}, which is not its tokens' key")

    def _keys(self, history: History) -> list[Hashable]:
        """Keys of `history`, taken over from what last began with the same block as far as both say the same."""
        if history.keyed_by == (self.block_size, self.function):
            return history.keys(self.block_size, self.function)
        width = self.block_size * TOKEN_BYTES
        start = history.tag + history.data[:width]
        like = self._recent.pop(start, None)
        self._recent[start] = history  # at the end, so that the one at the front is the least recently used
        if len(self._recent) > REMEMBERED:
            del self._recent[next(iter(self._recent))]
        return history.keys(self.block_size, self.function, like)

    def _tokens(self, history: History, position: int) -> bytes:
        width = self.block_size * TOKEN_BYTES
        return history.data[position * width : (position + 1) * width]

    def _equal(self, history: History, blocks: list[int]) -> int:
        """How many of `blocks`, found by their keys, hold what `history` says."""
        before: Hashable = history.tag
        for position, block in enumerate(blocks):
            number, follows, data = self._filed[block]
            if follows != before or data != self._tokens(history, position):
                return position
            before = number
        return len(blocks)

    def _publish_verified(self, history: History, blocks: Sequence[int], start: int, stop: int) -> dict[int, int]:
        keys, others = self._keys(history), dict[int, int]()
        before: Hashable = self._filed[blocks[start - 1]][0] if start else history.tag
        for position in range(start, stop):
            found, data = self.pool.publish(blocks[position], keys[position + 1]), self._tokens(history, position)
            if found == blocks[position]:
                self._filed[found] = next(self._numbers), before, data
            elif self._filed[found][1:] != (before, data):
                break  # another text has this key: what comes after could not be found either
            else:
                others[position] = found
            before = self._filed[found][0]
        return others

    def _forget(self, block: int) -> None:
        self._filed.pop(block, None)


def claim(pool: BlockPool, forget: Callable[[int], None]) -> None:
    """Make `forget` hear of each block whose hash `pool` drops. A pool that serves another index: `UsageError`."""
    if pool.on_forget is not None:
        raise UsageError("this pool serves another prefix index already")
    pool.on_forget = forget
