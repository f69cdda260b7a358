"""Lab 07's `radix_match` and `radix_insert` on the engine's trees, which are compared leaf by leaf after each call.

A tree's tokens are whole blocks here (tuples of token ids), and its slots block ids, so that no block is ever split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.wording import said
from kvlab.course.shorten import show
from kvlab.errors import KVLabError
from kvlab.memory import RadixNode, radix_insert, radix_match

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
