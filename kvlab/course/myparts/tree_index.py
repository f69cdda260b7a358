"""A prefix index made of lab 07's radix tree: `radix_match`, `radix_insert`, and `evict` for who is forgotten."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.pool import OwnPool
from kvlab.course.myparts.trees import inserted, known, matched
from kvlab.errors import InvariantBroken
from kvlab.memory import CachedBlock, Match, RadixNode
from kvlab.memory.history import History, history_of


class OwnTree:
    """Finds blocks of `pool` by `radix_match`, files them by `radix_insert`, and forgets them by `evict`.

    Each tag has a tree of its own. A block that stands in one is held by it (`OwnPool.keep`).
    """

    def __init__(self, parts: Parts, pool: OwnPool, block_size: int) -> None:
        self.parts, self.pool, self.block_size = parts, pool, block_size
        self._roots: dict[bytes, RadixNode] = {}
        pool.forget = self.evict

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> Match:
        """The blocks that hold the longest known beginning of `tokens`, at least one of which is left over (I7)."""
        history = history_of(tokens, tag)
        units = self._units(history)[: (len(history) - 1) // self.block_size]
        root = self._roots.get(history.tag)
        blocks = list(matched(self.parts, root, units)[1]) if root is not None else []
        for block in reversed(blocks):
            self.pool.used(block)
        return Match(blocks, len(blocks) * self.block_size)

    def publish(self, tokens: Sequence[int], blocks: Sequence[int], tag: tuple[Hashable, ...] = ()) -> dict[int, int]:
        """File the blocks of a table whose tokens are all written (I8); see `kvlab.memory.PrefixIndex`."""
        history = history_of(tokens, tag)
        units = self._units(history)[: len(blocks)]
        if not units:
            return {}
        root = self._roots.setdefault(history.tag, RadixNode())
        there = known(root, units)
        if len(there) < len(units):
            inserted(self.parts, root, units, blocks[: len(units)])
            for block in blocks[len(there) : len(units)]:
                self.pool.keep(block)
        return {place: block for place, block in enumerate(there) if block != blocks[place]}

    def evict(self, count: int) -> int:
        """Forget up to `count` blocks that no table names; returns how many."""
        ends = {entry.block: node for entry, node in self._entries()}
        gone = list(map(int, self.parts.pure("evict", [entry for entry, _ in self._entries()], count)))
        for block in gone:
            self._cut(ends[block])
            self.pool.drop(block)
        return len(gone)

    def check(self) -> None:
        """The trees hold together, and name each block that is kept once."""
        named = list[int]()
        for root in self._roots.values():
            root.check()
            named += [block for node in root.walk() for block in node.slots]
        if sorted(named) != sorted(self.pool.kept):
            raise InvariantBroken("I2", f"{len(named)} blocks stand in the trees, {len(self.pool.kept)} are kept")

    def _units(self, history: History) -> list[tuple[int, ...]]:
        tokens, size = list(history), self.block_size
        return [tuple(tokens[start : start + size]) for start in range(0, len(tokens) - size + 1, size)]

    def _entries(self) -> list[tuple[CachedBlock, RadixNode]]:
        """Every block of the trees, with the one before it, and the node that it stands in."""
        found = []
        for node in (node for root in self._roots.values() for node in root.walk()):
            before = node.parent.slots[-1] if node.parent is not None and node.parent.slots else None
            for block in node.slots:
                entry = CachedBlock(block, before, self.pool.holders[block], self.pool.kept[block])
                found.append((entry, node))
                before = block
        return found

    @staticmethod
    def _cut(node: RadixNode) -> None:
        """Take the last block from a leaf, and the leaf away if that was all."""
        first = node.tokens[0]
        node.tokens.pop()
        node.slots.pop()
        if not node.tokens and node.parent is not None:
            del node.parent.children[first]
