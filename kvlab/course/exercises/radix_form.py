"""The form of a radix tree that a learner's code has changed: whether its nodes fit together, and what stands in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.shorten import show
from kvlab.memory import RadixNode

MOST = 200  # nodes; a walk that finds more goes in circles


def walk(root: RadixNode, call: str) -> Iterator[tuple[RadixNode, tuple[int, ...]]]:
    """All nodes below the root with all tokens up to their ends; `Wrong` where one does not fit its neighbours."""
    if root.tokens or root.slots:
        raise Wrong(f"after {call}, the root itself has the tokens {show(root.tokens, 40)}, expected none: every "
                    "prompt begins below it.", next="hang a new node below the one that matched")
    waiting: list[tuple[RadixNode, tuple[int, ...]]] = [(root, ())]
    seen = 0
    while waiting:
        node, before = waiting.pop()
        text = (*before, *node.tokens)
        seen += 1
        if seen > MOST:
            raise Wrong(f"after {call}, a walk down the tree goes in circles.", next="draw the nodes and their parents")
        if node is not root:
            yield node, text
        for first, child in node.children.items():
            _fits(node, first, child, call)
            waiting.append((child, text))


def _fits(node: RadixNode, first: int, child: Any, call: str) -> None:
    if type(child) is not RadixNode:
        raise Wrong(f"after {call}, a child is {form(child)}, expected a RadixNode.", next="use RadixNode(...)")
    if not child.tokens:
        raise Wrong(f"after {call}, there is a node without tokens.", next="add a node only for tokens that are left")
    if child.tokens[0] != first:
        raise Wrong(f"after {call}, the node of {child.tokens} is filed under {show(first)}, expected "
                    f"{child.tokens[0]}, its first token.", next="file a child under the first token of its run")
    if len(child.tokens) != len(child.slots):
        raise Wrong(f"after {call}, the node of {child.tokens} has the slots {child.slots}, expected one for each "
                    "token.", next="cut the slots where you cut the tokens")
    if child.parent is not node:
        raise Wrong(f"after {call}, the node of {child.tokens} names another parent than the node it hangs from.",
                    next="set parent wherever you set a child")


def filed(nodes: list[tuple[RadixNode, tuple[int, ...]]]) -> dict[tuple[int, ...], int]:
    """The slot of each beginning that stands in these nodes, which come with all tokens up to their ends."""
    return {text[: len(text) - len(node.tokens) + i + 1]: slot for node, text in nodes
            for i, slot in enumerate(node.slots)}


def lists_of(root: RadixNode) -> list[tuple[list[int], list[int], list[int]]]:
    """Of each node: its tokens, its own list of slots, and what is in it now."""
    return [(list(node.tokens), node.slots, list(node.slots)) for node in root.walk()]


def none_grew(lists: list[tuple[list[int], list[int], list[int]]], call: str) -> None:
    """A match gives slots and adds none: `slots = node.slots; slots += ...` adds to the list in the tree."""
    for tokens, now, before in lists:
        if len(now) > len(before):
            raise Wrong(f"{call} made the slots of the node of {tokens} {show(now, 40)}, expected {before} as before: "
                        "`+=` changes the node's own list.", next="begin with `slots = []`, a list of your own")


def lost(there: dict[tuple[int, ...], int], wanted: dict[tuple[int, ...], int]) -> str:
    """How two tables from beginning to slot differ, which they do."""
    for text, slot in wanted.items():
        if text not in there:
            return f"{list(text)} is not in the tree any more, expected its last token in slot {slot}"
        if there[text] != slot:
            return f"the last token of {list(text)} is in slot {there[text]}, expected {slot}"
    extra = next(text for text in there if text not in wanted)
    return f"{list(extra)} is in the tree, which nobody has put there"


def path(node: RadixNode) -> list[int]:
    """All tokens from the root to the end of a node."""
    tokens: list[int] = []
    for _ in range(MOST):
        tokens = [*node.tokens, *tokens]
        if node.parent is None:
            break
        node = node.parent
    return tokens


def form(thing: Any) -> str:
    """What somebody returned who was to return something else."""
    if type(thing) is RadixNode:
        return "a node alone"
    return show(thing, 40) if isinstance(thing, (int, float, str, list, tuple)) else f"a {type(thing).__name__}"
