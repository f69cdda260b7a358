"""What an engine's requests find of their prompts computed already, and what they leave for others to find."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import (
    BlockManager,
    BlockPool,
    History,
    HitRate,
    Match,
    PrefixIndex,
    blocks_needed,
    chain_sha256,
    make_index,
)

from .group import Group
from .request import Generation

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
        self._all = manager.pool.num_free
        self._said: WeakKeyDictionary[Generation, History] = WeakKeyDictionary()
        self._filed: WeakKeyDictionary[Generation, int] = WeakKeyDictionary()  # how many of its blocks are published
        self._text: dict[int, object] = {}  # if checked: the key of what was written to each block, None for a part

    def found(self, generation: Generation) -> int:
        """How many tokens of its prompt are there already."""
        return self._match(generation).num_tokens

    def enter(self, generation: Generation) -> None:
        """Admit it with what is found of its prompt; that need not be computed. It can be repeated."""
        if generation.id not in self.manager:
            match = self._match(generation)
            if match.blocks:
                self.manager.admit(generation.id, match.num_tokens, match.blocks)
            else:
                self.manager.admit(generation.id, 0)
            if self.index is not None:
                self.hits.record(len(generation.prompt), match.num_tokens)
        generation.computed = self.manager.num_tokens(generation.id)

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
            keys = said.keys(self.manager.block_size, chain_sha256)[1 : full + 1]
            self._text.update(zip(table, [*keys, *[None] * (len(table) - full)], strict=True))
        others = self.index.publish(said, table[:full], generation.tag)  # type: ignore[union-attr]
        if others:
            self.manager.remap(generation.id, others)
        self._filed[generation] = full

    def spared(self, running: Iterable[Generation], newcomer: Generation | None = None) -> int:
        """Blocks that were promised more often than they are there: each time after the first that somebody holds them.

        newcomer: what it would share is counted too, but not what lies free: that it must take like a new block (F2).
        """
        if self.index is None:
            return 0
        held, groups = 0, dict[Group, set[int]]()
        for generation in running:
            if generation.group is None:
                held += blocks_needed(self.manager.num_tokens(generation.id), self.manager.block_size)
            else:  # a group is promised common blocks once
                groups.setdefault(generation.group, set()).update(self.manager.table(generation.id))
        held += sum(map(len, groups.values())) - (self._all - self.manager.pool.num_free)
        if newcomer is not None:
            held += sum(self.manager.pool.ref_count(block) > 0 for block in self._match(newcomer).blocks)
        return held

    def check(self) -> None:
        """Walk the index."""
        if self.index is not None:
            self.index.check()

    def _history(self, generation: Generation) -> History:
        if generation not in self._said:
            self._said[generation] = History(generation.prompt, generation.tag)
        return self._said[generation]

    def _match(self, generation: Generation) -> Match:
        if self.index is None:
            return Match([], 0)
        said = self._history(generation)
        blocks, tokens = self.index.match(said, generation.tag)
        if tokens != len(blocks) * self.manager.block_size or tokens >= len(said):
            raise InvariantBroken(
                "I7", f"{len(blocks)} blocks and {tokens} tokens are found for a prompt of {len(said)}"
            )
        if self.checked:
            keys = said.keys(self.manager.block_size, chain_sha256)[1:]
            wrong = [block for block, key in zip(blocks, keys, strict=False) if self._text.get(block) != key]
            if wrong:
                raise InvariantBroken(
                    "I9", f"blocks {wrong} are found for a prompt that was not, or not yet, written there"
                )
        return Match(blocks, tokens)
