"""A radix tree over tokens in two plain functions, as SGLang builds it: match, which splits, and insert.

`RadixCache` is the same tree over blocks, with the pool's books in place of locks; a test compares what they find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlab.errors import InvariantBroken, UsageError


class RadixNode:
    """A run of tokens and the slots that hold them. The path from the root to its end is the beginning of a prompt.

    children: by the first token of their run. locks: how many running requests read this node, and so all before it.
    """

    def __init__(
        self, tokens: Sequence[int] = (), slots: Sequence[int] = (), parent: RadixNode | None = None, locks: int = 0
    ) -> None:
        self.tokens, self.slots, self.parent, self.locks = list(tokens), list(slots), parent, locks
        self.children: dict[int, RadixNode] = {}

    def __repr__(self) -> str:
        return f"RadixNode({self.tokens}, slots {self.slots}, {len(self.children)} children, {self.locks} locks)"

    def path(self) -> list[RadixNode]:
        """The nodes from below the root to this one."""
        path, node = list[RadixNode](), self
        while node.parent is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    def lock(self) -> None:
        """One more running request reads this node and those before it."""
        for node in self.path():
            node.locks += 1

    def unlock(self) -> None:
        """One running request less. More of them than locks: `UsageError`."""
        if any(node.locks < 1 for node in self.path()):
            raise UsageError(f"a node is unlocked that nobody has locked: {self.path()}")
        for node in self.path():
            node.locks -= 1

    def walk(self) -> Iterator[RadixNode]:
        """This node and all below it, each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children.values())

    def check(self) -> None:
        """Called on the root: `InvariantBroken("tree", ...)` if a node does not fit its neighbours."""
        for node in self.walk():
            if len(node.tokens) != len(node.slots) or (node is not self and not node.tokens):
                raise InvariantBroken("tree", f"{node} has {len(node.tokens)} tokens and {len(node.slots)} slots")
            for first, child in node.children.items():
                if child.parent is not node or child.tokens[:1] != [first]:
                    raise InvariantBroken("tree", f"{child} does not fit the node above it, where it is child {first}")


def radix_match(root: RadixNode, tokens: Sequence[int]) -> tuple[RadixNode, list[int]]:
    """`(node, slots)`: the slots of the longest known beginning of `tokens`, and the node that ends exactly there.

    Where that is inside a node's run, the node is split: a new node takes the front, its locks with it, and the old
    one stays as its child, since whoever locked it will unlock it from its end. Nothing known: the root and [].
    """
    node, slots = root, list[int]()
    while len(slots) < len(tokens) and tokens[len(slots)] in node.children:
        node = node.children[tokens[len(slots)]]
        rest, equal = tokens[len(slots) :], 0
        while equal < min(len(rest), len(node.tokens)) and rest[equal] == node.tokens[equal]:
            equal += 1
        if equal < len(node.tokens):
            node = _split(node, equal)
        slots += node.slots
    return node, slots


def _split(node: RadixNode, count: int) -> RadixNode:
    """A new node with the first `count` tokens of `node`, between it and its parent."""
    front = RadixNode(node.tokens[:count], node.slots[:count], node.parent, node.locks)
    node.parent.children[front.tokens[0]] = front  # type: ignore[union-attr]  # the root has no run to split
    node.tokens, node.slots, node.parent = node.tokens[count:], node.slots[count:], front
    front.children[node.tokens[0]] = node
    return front


def radix_insert(root: RadixNode, tokens: Sequence[int], slots: Sequence[int]) -> list[int]:
    """Make `tokens`, whose keys and values lie in `slots`, known to the tree. Returns those of the slots that are free
    now, because the tree keeps other slots with the same tokens.

    A slot that the tree has already, since the request took it from there, is not free: it is not returned.
    """
    if len(tokens) != len(slots):
        raise UsageError(f"{len(tokens)} tokens need as many slots, not {len(slots)}")
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        child = RadixNode(tokens[len(known) :], slots[len(known) :], node)
        node.children[child.tokens[0]] = child
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]
