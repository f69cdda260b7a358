"""A prefix index made of lab 07's radix tree: `radix_match`, `radix_insert`, and `evict` for who is forgotten.

The tree's tokens are whole blocks here (tuples of token ids), and its slots block ids, so that no block is ever split.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from kvlab.course.myparts.parts import Parts, said
from kvlab.course.myparts.pool import OwnPool
from kvlab.course.shorten import show
from kvlab.errors import InvariantBroken, KVLabError
from kvlab.memory import CachedBlock, Match, RadixNode, radix_insert, radix_match
from kvlab.memory.history import History, history_of

Leaf = tuple[tuple[Any, ...], tuple[Any, ...]]
"""What stands on the way from the root to a leaf: tokens, and slots."""


def leaves(root: RadixNode) -> set[Leaf]:
    """The tree as the set of its leaves, which no split changes."""
    found = set[Leaf]()
    waiting: list[tuple[RadixNode, Leaf]] = [(root, ((), ()))]
    while waiting:
        node, (tokens, slots) = waiting.pop()
        here = tokens + tuple(node.tokens), slots + tuple(node.slots)
        if not node.children and here[0]:
            found.add(here)
        waiting += [(child, here) for child in node.children.values()]
    return found


def planted(those: set[Leaf]) -> RadixNode:
    """A tree with these leaves."""
    root = RadixNode()
    for tokens, slots in sorted(those, key=repr):
        radix_insert(root, tokens, slots)
    return root


def known(root: RadixNode, tokens: Sequence[Any]) -> list[Any]:
    """The slots of the longest known beginning of `tokens`; the tree stays as it is."""
    node, slots = root, list[Any]()
    while len(slots) < len(tokens) and tokens[len(slots)] in node.children:
        node = node.children[tokens[len(slots)]]
        start = len(slots)
        for mine, theirs, slot in zip(tokens[start:], node.tokens, node.slots, strict=False):
            if mine != theirs:
                return slots
            slots.append(slot)
    return slots


def matched(parts: Parts, root: RadixNode, tokens: Sequence[Any]) -> tuple[RadixNode, list[Any]]:
    """`radix_match` by the learner's. If it is wrong, the tree is as it was before, and the finished part answers."""
    part = parts.mine.get("radix_match")
    if part is not None:
        before, wanted = leaves(root), known(root, tokens)
        got, error = parts.attempt("radix_match", lambda: part(root, list(tokens)))
        wrong = _wrong_match(root, tokens, before, wanted, got, error)
        if not wrong:
            return got[0], list(got[1])
        parts.blame("radix_match", f"radix_match for {len(tokens)} blocks of tokens {wrong}", "I9")
        _replant(root, before)
    return radix_match(root, tokens)


def _wrong_match(root: RadixNode, tokens: Sequence[Any], before: set[Leaf], wanted: list[Any], got: Any,
                 error: BaseException | None) -> str:
    if error is not None:
        return f"{said(error)}, expected a node and the slots {show(wanted, 40)}."
    wrong = _wrong_tree(root, before)
    if wrong:
        return wrong
    try:
        node, slots = got
        path, end = [token for one in node.path() for token in one.tokens], any(node is one for one in root.walk())
    except (TypeError, ValueError, AttributeError):
        return f"returned {show(got, 50)}, expected a node and its slots."
    if not isinstance(slots, list) or slots != wanted:
        return f"returned the slots {show(slots, 50)}, expected {show(wanted, 50)}."
    if not end or path != list(tokens[: len(wanted)]):
        return f"returned a node that does not end after {len(wanted)} of the blocks."
    return ""


def _wrong_tree(root: RadixNode, wanted: set[Leaf]) -> str:
    try:
        root.check()
        found = leaves(root)
    except (KVLabError, TypeError, AttributeError) as trouble:
        return f"left a tree in which {said(trouble)}."
    return "" if found == wanted else f"left a tree with {len(found)} leaves, expected {len(wanted)} and their slots."


def inserted(parts: Parts, root: RadixNode, tokens: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
    """`radix_insert` by the learner's. If it is wrong, the finished part does it in the tree as it was."""
    part = parts.mine.get("radix_insert")
    if part is not None:
        before = leaves(root)
        twin = planted(before)
        wanted = radix_insert(twin, tokens, slots)
        got, error = parts.attempt("radix_insert", lambda: part(root, list(tokens), list(slots)))
        wrong = f"{said(error)}, expected {show(wanted, 40)}." if error is not None else ""
        wrong = wrong or _wrong_tree(root, leaves(twin))
        if not wrong and (not isinstance(got, list) or got != wanted):
            wrong = f"returned {show(got, 50)}, expected {show(wanted, 50)}."
        if not wrong:
            return list(got)
        parts.blame("radix_insert", f"radix_insert of {len(tokens)} blocks of tokens {wrong}", "I9")
        _replant(root, before)
    return radix_insert(root, tokens, slots)


def _replant(root: RadixNode, those: set[Leaf]) -> None:
    """Make `root` the root of a tree with these leaves."""
    root.children = planted(those).children
    root.tokens, root.slots, root.parent = [], [], None
    for child in root.children.values():
        child.parent = root


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
