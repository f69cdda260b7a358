"""A prefix index made of the functions of lab 07: keys, the longest hit, and who is forgotten."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.pool import OwnPool
from kvlab.course.myparts.wording import said
from kvlab.course.shorten import show
from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import CachedBlock, Match, chain_sha256
from kvlab.memory.history import History, history_of


class OwnIndex:
    """Finds blocks of `pool` by `block_hashes` and `longest_hit`, and forgets them by `evict`.

    A block that it knows is held by it (`OwnPool.keep`), since a lab's pool remembers nothing of a block that is free.
    """

    def __init__(self, parts: Parts, pool: OwnPool, block_size: int) -> None:
        self.parts, self.pool, self.block_size = parts, pool, block_size
        self._block_of: dict[Hashable, int] = {}
        self._key_of: dict[int, Hashable] = {}
        self._parent: dict[int, int | None] = {}
        self._mine: dict[Hashable, Hashable] = {}  # the learner's key for each of the finished part's
        self._theirs: dict[Hashable, Hashable] = {}
        self._hashed = "block_hashes" in parts.mine  # whose keys these are
        pool.forget = self.evict

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> Match:
        """The blocks that hold the longest known beginning of `tokens`, at least one of which is left over (I7)."""
        history = history_of(tokens, tag)
        keys = self._keys(history, tag)
        found = self.parts.pure("longest_hit", keys, self._block_of, len(history), self.block_size)
        blocks = list(map(int, found))
        for block in reversed(blocks):
            self.pool.used(block)
        return Match(blocks, len(blocks) * self.block_size)

    def publish(self, tokens: Sequence[int], blocks: Sequence[int], tag: tuple[Hashable, ...] = ()) -> dict[int, int]:
        """File the blocks of a table whose tokens are all written (I8); see `kvlab.memory.PrefixIndex`."""
        keys = self._keys(history_of(tokens, tag), tag)
        others: dict[int, int] = {}
        before = None
        for position, (key, block) in enumerate(zip(keys, blocks, strict=False)):
            there = self._block_of.get(key)
            if there is None:
                self._file(key, block, before)
            elif there != block:
                others[position] = there
            before = block if there is None else there
        return others

    def evict(self, count: int) -> int:
        """Forget up to `count` blocks that no table names; returns how many."""
        pool = self.pool
        cached = [CachedBlock(block, self._parent[block], pool.holders[block], used)
                  for block, used in pool.kept.items()]
        gone = list(map(int, self.parts.pure("evict", cached, count)))
        for block in gone:
            del self._block_of[self._key_of.pop(block)], self._parent[block]
            pool.drop(block)
        return len(gone)

    def check(self) -> None:
        """What is filed is kept, found under its key, and behind a block that is filed too."""
        if self._key_of.keys() != self.pool.kept.keys() or self._key_of.keys() != self._parent.keys():
            raise InvariantBroken("I2", f"{len(self._key_of)} blocks are filed, {len(self.pool.kept)} kept")
        if {block: key for key, block in self._block_of.items()} != self._key_of:
            raise InvariantBroken("I9", "the table from key to block and the one back disagree")
        lost = [block for block, parent in self._parent.items() if parent is not None and parent not in self._key_of]
        if lost:
            raise InvariantBroken("I9", f"blocks {show(lost, 40)} are filed behind blocks that are not")

    def _file(self, key: Hashable, block: int, before: int | None) -> None:
        if block in self._key_of:
            raise UsageError(f"block {block} is published already, under another hash")
        self._block_of[key], self._key_of[block], self._parent[block] = block, key, before
        self.pool.keep(block)

    def _keys(self, history: History, tag: tuple[Hashable, ...]) -> list[Hashable]:
        """The learner's keys of all full blocks. One that has been made before is not made again."""
        wanted = history.keys(self.block_size, chain_sha256)[1:]
        if "block_hashes" in self.parts.mine and not all(key in self._mine for key in wanted):
            self._ask(history, tag, wanted)
        if "block_hashes" in self.parts.mine:
            return [self._mine[key] for key in wanted]
        if self._hashed:
            self._rekey()
        return list(wanted)

    def _ask(self, history: History, tag: tuple[Hashable, ...], wanted: list[Hashable]) -> None:
        part, tokens = self.parts.mine["block_hashes"], list(history)
        arguments = (tokens, self.block_size, *([tag] if tag else []))
        got, error = self.parts.attempt("block_hashes", lambda: part(*arguments))
        wrong = self._wrong(wanted, got, error)
        if wrong:
            call = f"block_hashes(tokens={show(tokens, 40)}, block_size={self.block_size})"
            self.parts.blame("block_hashes", f"{call} {wrong}", "I9")
            return
        self._mine.update(zip(wanted, got, strict=True))
        self._theirs.update(zip(got, wanted, strict=True))

    def _wrong(self, wanted: list[Hashable], got: Any, error: BaseException | None) -> str:
        """What is wrong with keys: there is one a block, and it is equal if and only if the whole text is."""
        if error is not None:
            return f"{said(error)}, expected {len(wanted)} keys."
        if not isinstance(got, list) or len(got) != len(wanted):
            return f"returned {show(got, 60)}, expected a list of {len(wanted)} keys."
        try:
            known = [(self._mine.get(key, mine), self._theirs.get(mine, key)) for key, mine in
                     zip(wanted, got, strict=True)]
        except TypeError:
            return f"returned {show(got, 60)}, expected keys that a dictionary can have."
        if len(set(got)) != len(set(wanted)):
            return "gave two blocks of one text the same key, expected another key after other tokens."
        for position, (key, mine) in enumerate(zip(wanted, got, strict=True)):
            if known[position][0] != mine:
                return f"gave block {position} another key than before, for the same tokens."
            if known[position][1] != key:
                return f"gave block {position} a key that other tokens have, or other tokens before them."
        return ""

    def _rekey(self) -> None:
        """The learner's keys are right no more: what is filed is found under the finished part's from now on."""
        self._hashed = False
        self._block_of = {self._theirs.get(key, key): block for key, block in self._block_of.items()}
        self._key_of = {block: key for key, block in self._block_of.items()}
