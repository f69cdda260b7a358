"""A node of the radix tree of a prefix cache: a run of blocks, and how it is compared, cut in two and walked."""

from __future__ import annotations

from collections.abc import Iterator

from .history import equal_units


class Node:
    """A run of whole blocks of `width` bytes of tokens each: `label` is these bytes, one block after the other.

    Children are found by the bytes of their first block, in which they differ. A root has no parent and no blocks; its
    label is the tag of what lies below.
    """

    __slots__ = ("blocks", "children", "label", "parent")

    def __init__(self, label: bytes, blocks: list[int], parent: Node | None) -> None:
        self.label, self.blocks, self.parent = label, blocks, parent
        self.children: dict[bytes, Node] = {}

    def equal(self, data: bytes, at: int, limit: int, width: int) -> int:
        """How many blocks, from the first on, hold what `data` says from byte `at` on, before byte `limit`."""
        most = min(len(self.label), limit - at)
        return equal_units(data[at : at + most], self.label[:most], width)

    def split(self, count: int, width: int) -> Node:
        """A new node with the first `count` blocks of this one, between it and its parent. Roots are never split."""
        cut, parent = count * width, self.parent
        upper = Node(self.label[:cut], self.blocks[:count], parent)
        parent.children[upper.label[:width]] = upper  # type: ignore[union-attr]  # no root
        self.label, self.blocks, self.parent = self.label[cut:], self.blocks[count:], upper
        upper.children[self.label[:width]] = self
        return upper

    def below(self) -> Iterator[Node]:
        """This node and all nodes below it, each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children.values()

    def blocks_below(self) -> Iterator[int]:
        """The blocks of this node and of all nodes below it, each before those that come after it."""
        return (block for node in self.below() for block in node.blocks)
