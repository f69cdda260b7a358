"""What an engine's requests find of their prompts computed already, and what they leave for others to find."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from weakref import WeakKeyDictionary

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import (
    BlockManager,
    BlockPool,
    History,
    HitRate,
    Match,
    PrefixIndex,
    chain_sha256,
    make_index,
)
from kvlab.memory.tier_stack import Load

from .request import Generation
from .tiering import Tiering

Prefix = str | PrefixIndex | Callable[[BlockPool, int], PrefixIndex]
"""An index by name, an index, or what makes one from a pool and a block size."""


def index_for(prefix: Prefix | None, manager: BlockManager) -> PrefixIndex | None:
    """The index that `prefix` names, over the manager's pool. One over another pool or block size: `UsageError`."""
    if prefix is None:
        return None
    if isinstance(prefix, str) or not isinstance(prefix, PrefixIndex) or isinstance(prefix, type):
        if not isinstance(prefix, str) and not callable(prefix):
            raise UsageError(f"a prefix index has match, publish, evict and check, which {prefix!r:.60} has not")
        if not isinstance(manager.pool, BlockPool):
            raise UsageError(f"a prefix index needs a BlockPool, which keeps hashes, not {type(manager.pool).__name__}")
        prefix = make_index(prefix, manager.pool, manager.block_size)
    for what, mine in (("pool", manager.pool), ("block_size", manager.block_size)):
        if getattr(prefix, what, mine) != mine:
            raise UsageError(f"the prefix index has another {what} than the manager, whose is {mine}")
    return prefix


class Reuse:
    """Sharing of prompts between the requests of one engine; without an index it shares nothing.

    checked: each match is compared with what was written to its blocks (I8, I9), whoever wrote the index.
    """

    def __init__(self, index: PrefixIndex | None, manager: BlockManager, checked: bool = False) -> None:
        self.index, self.manager, self.checked, self.hits = index, manager, checked, HitRate()
        self.tiers: Tiering | None = None
        """Where a match goes on, and what is published is stored; set by the engine that has them."""
        self._said: WeakKeyDictionary[Generation, History] = WeakKeyDictionary()
        self._filed: WeakKeyDictionary[Generation, int] = WeakKeyDictionary()  # how many of its blocks are published
        self._text: dict[int, object] = {}  # if checked: the key of what was written to each block, None for a part

    def found(self, generation: Generation) -> int:
        """How many of its tokens are there already."""
        return self.match(generation).num_tokens

    def loaded(self, generation: Generation, found: int) -> list[Load]:
        """Blocks out of the tiers that go on where the `found` blocks of its match end, all but the last token (I7).

        `StillLoading`, until those that are on their way are there.
        """
        if self.tiers is None:
            return []
        said = self._history(generation)
        last = (len(said) - 1) // self.manager.block_size
        return self.tiers.further(generation, self._keys(said)[found + 1 : last + 1])

    def entered(self, generation: Generation, found: int, loads: Iterable[Load] = ()) -> None:
        """It was admitted with `found` blocks of its beginning in the pool, and those of `loads` to be copied there.

        Neither need be computed. What was loaded is published with the first tokens that are computed, since it is
        written by then (I8). What a request that had to leave finds of its own is not counted as shared (F7).
        """
        if self.index is None:
            return
        loads, table = list(loads), self.manager.table(generation.id)
        if self.tiers is not None:
            self.tiers.entered(generation, table[found : found + len(loads)], loads)
        tokens = (found + len(loads)) * self.manager.block_size
        self.hits.record(len(generation.prompt), tokens, again=generation in self._filed or bool(generation.tokens))
        self._filed[generation] = found

    def left(self, job_id: Hashable) -> None:
        """Its blocks are given back: what was to be copied to them stays away."""
        if self.tiers is not None:
            self.tiers.left(job_id)

    def publish(self, generations: Iterable[Generation]) -> None:
        """Let others find the blocks that these have filled, now that they are written (I8). It can be repeated."""
        if self.index is None:
            return
        for generation in generations:
            full = generation.computed // self.manager.block_size
            if (self.checked or self._filed.get(generation, 0) < full) and generation.id in self.manager:
                self._publish(generation, full)

    def _publish(self, generation: Generation, full: int) -> None:
        said, table = self._history(generation), self.manager.table(generation.id)
        if len(said) < generation.computed:  # what it has generated since (F8)
            start, stop = (count - len(generation.prompt) for count in (len(said), generation.computed))
            said.extend(generation.tokens[start:stop])
        if self.checked:
            keys = self._keys(said)[1 : full + 1]
            self._text.update(zip(table, [*keys, *[None] * (len(table) - full)], strict=True))
        others = self.index.publish(said, table[:full], generation.tag)  # type: ignore[union-attr]
        if others:
            self.manager.remap(generation.id, others)
        if self.tiers is not None:
            new = range(self._filed.get(generation, 0), full)
            table, keys = self.manager.table(generation.id), self._keys(said)
            self.tiers.store({keys[position + 1]: table[position] for position in new})
        self._filed[generation] = full

    def check(self) -> None:
        """Walk the index and the tiers."""
        if self.index is not None:
            self.index.check()
        if self.tiers is not None:
            self.tiers.check()

    def _keys(self, said: History) -> list[Hashable]:
        """By content alone, whatever the index files its blocks under: tiers outlive it."""
        return said.keys(self.manager.block_size, chain_sha256)

    def _history(self, generation: Generation) -> History:
        if generation not in self._said:
            self._said[generation] = History(generation.prompt, generation.tag)
        return self._said[generation]

    def match(self, generation: Generation) -> Match:
        """The blocks that hold the beginning of all its tokens but one, of those it has generated too (F8)."""
        if self.index is None:
            return Match([], 0)
        said = self._history(generation)
        said.extend(generation.tokens[len(said) - len(generation.prompt) :])
        blocks, tokens = self.index.match(said, generation.tag)
        if tokens != len(blocks) * self.manager.block_size or tokens >= len(said):
            raise InvariantBroken(
                "I7", f"{len(blocks)} blocks and {tokens} tokens are found for a prompt of {len(said)}"
            )
        if self.checked:
            keys, null = self._keys(said)[1:], getattr(self.manager.pool, "null", None)  # nobody will read that one
            found = [(block, key) for block, key in zip(blocks, keys, strict=False) if block != null]
            wrong = [block for block, key in found if self._text.get(block) != key]
            if wrong:
                raise InvariantBroken(
                    "I9", f"blocks {wrong} are found for a prompt that was not, or not yet, written there"
                )
        return Match(blocks, tokens)
