"""The prefix cache as a radix tree (SGLang: Zheng et al. 2024, section 3): an edge is a run of tokens, a path a prompt.

The tree takes no part in reference counts. A lock is a hold on blocks in the pool, so it stays right however nodes are
split; a block that nobody holds lies in the pool's free list, and leaves the tree when the pool gives it up.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kvlab.errors import InvariantBroken, UsageError

from .history import TOKEN_BYTES, history_of
from .pool import BlockPool
from .prefix import claim
from .protocols import Match
from .radix_node import Node


class RadixCache:
    """Finds blocks of `pool` that hold the beginning of a prompt already, by a tree over runs of tokens.

    Edges are cut at multiples of `block_size`; with blocks of 1 it is a tree over tokens. Each tag has a root of its
    own. The pool serves this one index.
    """

    def __init__(self, pool: BlockPool, block_size: int) -> None:
        if block_size < 1:
            raise UsageError(f"a block has at least 1 slot, not {block_size}")
        self.pool, self.block_size, self._width = pool, block_size, block_size * TOKEN_BYTES
        self._roots: dict[bytes, Node] = {}  # by tag
        self._node_of: dict[int, Node] = {}
        claim(pool, self._forget)

    def __repr__(self) -> str:
        return f"RadixCache({self.pool!r}, {len(self._node_of)} blocks of {self.block_size} in the tree)"

    @property
    def evictable(self) -> int:
        """Blocks of the tree without a holder: free, as the pool counts them."""
        return self.pool.num_cached

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> Match:
        """The blocks that hold the longest known beginning of `tokens`, at least one of which is left over (I7).

        Nothing is held, split or counted yet: `lock`, or `BlockManager.admit(..., prefix=match.blocks)`, holds it.
        """
        history = history_of(tokens, tag)
        data, width, blocks = history.data, self._width, list[int]()
        node, at, limit = self._roots.get(history.tag), 0, (len(history) - 1) // self.block_size * width
        while node is not None and at < limit:
            node = node.children.get(data[at : at + width])
            if node is not None:
                equal = node.equal(data, at, limit, width)
                blocks += node.blocks[:equal]
                at += equal * width
                if equal < len(node.blocks):
                    break
        return Match(blocks, at // TOKEN_BYTES)

    def lock(self, match: Match) -> None:
        """Keep a match from being evicted until `unlock`: one more holder for each of its blocks."""
        self.pool.share(match.blocks)

    def unlock(self, match: Match) -> None:
        """Undo one `lock`. More of them than locks: `UsageError`."""
        self.pool.release(match.blocks)

    def publish(self, tokens: Sequence[int], blocks: Sequence[int], tag: tuple[Hashable, ...] = ()) -> dict[int, int]:
        """Insert the blocks of a table whose tokens are all written (I8), as far as `tokens` fill them.

        Returns `{position in the table: block}` where the tree has another block with the same tokens; a table that
        names that one from now on (`BlockManager.remap`) frees its own. A block that is not in use, or stands
        elsewhere in the tree: `UsageError`.
        """
        history = history_of(tokens, tag)
        data, width, others = history.data, self._width, dict[int, int]()
        blocks = list(blocks[: len(history) // self.block_size])
        at, limit = 0, len(blocks) * width
        node = self._roots.get(history.tag) or Node(history.tag, [], None)
        while at < limit:
            first, child = at // width, node.children.get(data[at : at + width])
            if child is None:
                self._add(node, data[at:limit], blocks[first:])
                break
            equal = child.equal(data, at, limit, width)
            theirs, mine = child.blocks[:equal], blocks[first : first + equal]
            if theirs != mine:
                others |= {first + i: block for i, block in enumerate(theirs) if block != mine[i]}
            at += equal * width
            node = child
            if at < limit and equal < len(child.blocks):
                node = child.split(equal, width)
                self._node_of.update(dict.fromkeys(node.blocks, node))
        return others

    def evict(self, count: int) -> int:
        """Forget up to `count` blocks without a holder, least recently used first; returns how many.

        A table is given back from its end, so these are the ends of leaves.
        """
        return self.pool.evict(count)

    def blocks(self) -> list[int]:
        """All blocks of the tree, each before those that come after it."""
        return [block for root in self._roots.values() for block in root.blocks_below()]

    def is_leaf(self, block: int) -> bool:
        """Whether nothing follows `block` in the tree; True also for one that does not stand there."""
        node = self._node_of.get(block)
        return node is None or (node.blocks[-1] == block and not node.children)

    def following(self, tokens: Sequence[int], blocks: Sequence[int]) -> list[tuple[int, bytes]]:
        """What comes next after `blocks`, which `match` found for `tokens`: each block, and its tokens as bytes."""
        node = self._node_of[blocks[-1]] if blocks else self._roots.get(history_of(tokens).tag)
        if node is None:
            return []
        place = node.blocks.index(blocks[-1]) + 1 if blocks else 0
        if place < len(node.blocks):
            return [(node.blocks[place], node.label[place * self._width : (place + 1) * self._width])]
        return [(child.blocks[0], first) for first, child in node.children.items()]

    def check(self) -> None:
        """Walk the whole tree and its pool. `InvariantBroken` for what does not hold.

        Labels as long as their blocks; children found under their first block; each block in one node, filed in the
        pool, and the other way round; no node without blocks, no root without children; evictable blocks counted.
        """
        self.pool.check()
        seen = self.blocks()
        if len(set(seen)) < len(seen) or set(seen) != self._node_of.keys():
            raise InvariantBroken("tree", "a block stands in two nodes, or the way from blocks to nodes disagrees")
        for root in self._roots.values():
            for node in root.below():
                self._check_node(node)
        filed = {block for block in range(self.pool.num_blocks) if self.pool.key_of(block) is not None}
        idle = sum(not self.pool.counts[block] for block in seen)
        if filed != set(seen) or idle != self.evictable:
            raise InvariantBroken("tree", f"{len(seen)} blocks, {len(filed)} filed; {idle} idle, not {self.evictable}")

    def _check_node(self, node: Node) -> None:
        sound = bool(node.children) if node.parent is None else bool(node.blocks)
        sound &= node.parent is None or len(node.label) == len(node.blocks) * self._width
        sound &= all(self._node_of[block] is node for block in node.blocks)
        for first, child in node.children.items():
            sound &= child.parent is node and child.label[: self._width] == first
        if not sound:
            raise InvariantBroken("tree", f"the node of blocks {node.blocks} does not fit its label or its neighbours")

    def _add(self, node: Node, label: bytes, blocks: list[int]) -> None:
        """Hang new blocks below `node`; a leaf grows, so that an answer does not become a chain of small nodes."""
        strangers = [block for block in blocks if block in self._node_of]
        if strangers:
            raise UsageError(f"blocks {strangers} are in the tree already, with other tokens before them")
        self.pool.publish_all(blocks, blocks)
        if node.parent is None:
            self._roots[node.label] = node
        if node.children or node.parent is None:
            child = Node(label, blocks, node)
            node.children[label[: self._width]] = node = child
        else:
            node.label += label
            node.blocks += blocks
        self._node_of.update(dict.fromkeys(blocks, node))

    def _forget(self, block: int) -> None:
        """The pool has given up `block`: it leaves the tree, and with it whatever could only be reached through it."""
        node = self._node_of[block]
        kept = node.blocks.index(block)
        for lost in [*node.blocks[kept:], *(lost for child in node.children.values() for lost in child.blocks_below())]:
            del self._node_of[lost]
            self.pool.withdraw(lost)
        first = node.label[: self._width]
        node.label, node.blocks, node.children = node.label[: kept * self._width], node.blocks[:kept], {}
        if node.blocks or node.parent is None:
            return
        del node.parent.children[first]
        if node.parent.parent is None and not node.parent.children:
            del self._roots[node.parent.label]
