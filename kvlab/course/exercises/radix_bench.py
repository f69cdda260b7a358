"""What `radix_match` and `radix_insert` must do: after each call the tree holds what was put into it, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from kvlab.course.declare import Wrong, shows
from kvlab.course.shorten import show
from kvlab.memory import RadixNode
from kvlab.memory import radix_insert as finished_insert
from kvlab.memory import radix_match as finished_match

MOST = 200  # nodes; a walk that finds more goes in circles


class Op(NamedTuple):
    """kind: insert, match, lock or unlock. own: how many tokens of an insert were computed though the tree had them."""

    kind: str
    tokens: tuple[int, ...] = ()
    own: int = 0


class Tree:
    """A tree, and what must be in it: the slot of each known beginning, and who holds which."""

    def __init__(self, match: Any = finished_match, insert: Any = finished_insert) -> None:
        self.match, self.insert = match, insert
        self.root, self.slot_of, self.next = RadixNode(), dict[tuple[int, ...], int](), 10
        self.held: list[tuple[Any, tuple[int, ...]]] = []

    def do(self, op: Op) -> None:
        """One operation, and a look at the whole tree."""
        if op.kind == "insert":
            self._insert(op)
        elif op.kind == "unlock":
            if self.held:
                node, _ = self.held.pop(0)
                node.unlock()
        else:
            node = self._match(op)
            if op.kind == "lock":
                node.lock()
                self.held.append((node, op.tokens[: self.known(op.tokens)]))
        self._look(said(op, self.next))

    def known(self, tokens: tuple[int, ...]) -> int:
        """How many of `tokens` are known."""
        return max((n for n in range(1, len(tokens) + 1) if tokens[:n] in self.slot_of), default=0)

    def slots(self, op: Op) -> list[int]:
        """The slots of an insert: those that a hit gave, then new ones."""
        given = max(0, self.known(op.tokens) - op.own)
        start = self.next
        return [self.slot_of[op.tokens[: i + 1]] if i < given else start + i for i in range(len(op.tokens))]

    def _match(self, op: Op) -> Any:
        wanted = [self.slot_of[op.tokens[: i + 1]] for i in range(self.known(op.tokens))]
        call = f"radix_match(root, {list(op.tokens)})"
        lists = self._lists()
        got = self.match(self.root, list(op.tokens))
        _none_grew(lists, call)
        if got is None:
            raise Wrong(f"{call} returned nothing (None), expected (node, slots); is a `return` missing?",
                        next="return (node, slots)")
        if type(got) not in (tuple, list) or len(got) != 2 or type(got[0]) is not RadixNode:
            raise Wrong(f"{call} returned {_form(got)}, expected a node and its list of slots.",
                        next="return (node, slots), in this order")
        node, slots = got
        if type(slots) is not list or slots != wanted:
            raise Wrong(f"{call} returned the slots {show(slots, 60)}, expected {wanted}.",
                        next=_slots_next(slots, wanted), alike=(slots, self.seen()))
        end = _text(node)
        if end != list(op.tokens[: len(wanted)]):
            raise Wrong(f"{call} returned a node that ends with {show(end, 40)}, expected one that ends with "
                        f"{list(op.tokens[: len(wanted)])}.", next="split the node where the match ends inside it",
                        alike=(end, self.seen()))
        return node

    def _lists(self) -> list[tuple[list[int], list[int], list[int]]]:
        """Of each node: its tokens, its own list of slots, and what is in it now."""
        return [(list(node.tokens), node.slots, list(node.slots)) for node in self.root.walk()]

    def _insert(self, op: Op) -> None:
        slots, known = self.slots(op), self.known(op.tokens)
        wanted = [slot for i, slot in enumerate(slots[:known]) if slot != self.slot_of[op.tokens[: i + 1]]]
        for i in range(known, len(slots)):
            self.slot_of[op.tokens[: i + 1]] = slots[i]
        self.next += len(slots)
        got = self.insert(self.root, list(op.tokens), list(slots))
        call = f"radix_insert(root, {list(op.tokens)}, {slots})"
        if got is None:
            raise Wrong(f"{call} returned nothing (None), expected the slots that are free now, {wanted}.",
                        next="return a list, [] where none is free")
        if type(got) is not list:
            raise Wrong(f"{call} returned {_form(got)}, expected a list of slots, {wanted}.", next="return a list")
        if got != wanted and sorted(map(repr, got)) != sorted(map(repr, wanted)):
            raise Wrong(f"{call} says that {show(got, 60)} are free now, expected {wanted}{_free_why(got, wanted)}.",
                        next=_free_next(got, wanted), alike=(got, self.seen()))

    def seen(self) -> list[Any]:
        """What is in the tree, whatever its state: by this two mistakes of one sentence are told apart."""
        try:
            return sorted((text, node.slots) for node, text in _walk(self.root, "it"))
        except Exception:
            return []

    def _look(self, call: str) -> None:
        """The whole tree: its nodes fit together, every beginning has its slot, every lock is where it was put."""
        nodes = list(_walk(self.root, call))
        for node, _ in self.held:
            wanted = next(text for held, text in self.held if held is node)
            if _text(node) != list(wanted):
                raise Wrong(f"after {call}, the node that a request has locked ends with {show(_text(node), 40)}, and "
                            f"ended with {list(wanted)} before. Its unlock would miss the rest.",
                            next="let the old node be the rear, and a new one the front")
        there = {text[: len(text) - len(node.tokens) + i + 1]: slot for node, text in nodes
                 for i, slot in enumerate(node.slots)}
        if there != self.slot_of:
            raise Wrong(f"after {call}, {_lost(there, self.slot_of)}.", alike=self.seen())
        for node, text in nodes:
            wanted_locks = sum(held[: len(text)] == text for _, held in self.held)
            if node.locks != wanted_locks:
                raise Wrong(f"after {call}, the node of {node.tokens} has {show(node.locks)} "
                            f"lock{'s' * (node.locks != 1)}, expected {wanted_locks}: so many requests read it.",
                            next="a front has the locks of the whole node")


def _walk(root: RadixNode, call: str) -> Iterator[tuple[RadixNode, tuple[int, ...]]]:
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


def _none_grew(lists: list[tuple[list[int], list[int], list[int]]], call: str) -> None:
    """A match gives slots and adds none: `slots = node.slots; slots += ...` adds to the list in the tree."""
    for tokens, now, before in lists:
        if len(now) > len(before):
            raise Wrong(f"{call} made the slots of the node of {tokens} {show(now, 40)}, expected {before} as before: "
                        "`+=` changes the node's own list.", next="begin with `slots = []`, a list of your own")


def _fits(node: RadixNode, first: int, child: Any, call: str) -> None:
    if type(child) is not RadixNode:
        raise Wrong(f"after {call}, a child is {_form(child)}, expected a RadixNode.", next="use RadixNode(...)")
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


def _lost(there: dict[tuple[int, ...], int], wanted: dict[tuple[int, ...], int]) -> str:
    for text, slot in wanted.items():
        if text not in there:
            return f"{list(text)} is not in the tree any more, expected its last token in slot {slot}"
        if there[text] != slot:
            return f"the last token of {list(text)} is in slot {there[text]}, expected {slot}"
    extra = next(text for text in there if text not in wanted)
    return f"{list(extra)} is in the tree, which nobody has put there"


def _text(node: RadixNode) -> list[int]:
    tokens: list[int] = []
    for _ in range(MOST):
        tokens = [*node.tokens, *tokens]
        if node.parent is None:
            break
        node = node.parent
    return tokens


def _slots_next(slots: Any, wanted: list[int]) -> str:
    if type(slots) is not list:
        return "return the slots as a list"
    if len(slots) == len(wanted):
        return "take the slots that lie beside the tokens that match"
    return "compare token by token, and go on in the child" if len(slots) < len(wanted) else (
        "stop where the tokens differ, or end")


def _free_why(got: list[Any], wanted: list[int]) -> str:
    if len(got) > len(wanted):
        return ": the tree still has the others"
    return ": nobody else knows of them" if len(got) < len(wanted) else ""


def _free_next(got: list[Any], wanted: list[int]) -> str:
    return "return those of `slots` where the tree keeps other slots" if len(got) > len(wanted) else (
        "return the slots that the tree does not keep")


def _form(thing: Any) -> str:
    if type(thing) is RadixNode:
        return "a node alone"
    return show(thing, 40) if isinstance(thing, (int, float, str, list, tuple)) else f"a {type(thing).__name__}"


def run_match(part: Any, ops: tuple[Op, ...]) -> None:
    """`ops` on a tree whose matches are the learner's."""
    _run(Tree(match=part), ops)


def run_insert(part: Any, ops: tuple[Op, ...]) -> None:
    """`ops` on a tree whose inserts are the learner's."""
    _run(Tree(insert=part), ops)


def _run(tree: Tree, ops: tuple[Op, ...]) -> None:
    for done, op in enumerate(ops, 1):
        with shows(partial(render, ops[:done])):
            tree.do(op)


def said(op: Op, next_slot: int) -> str:
    """The operation in a sentence."""
    if op.kind == "unlock":
        return "unlock"
    return f"radix_{'insert' if op.kind == 'insert' else 'match'} of {list(op.tokens)}"


def render(ops: tuple[Op, ...]) -> list[str]:
    """The operations as Python."""
    tree, lines, locked, first = Tree(), ["root = RadixNode()"], 0, 0
    for op in ops:
        if op.kind == "insert":
            lines.append(f"radix_insert(root, {list(op.tokens)}, {tree.slots(op)})")
        elif op.kind == "match":
            lines.append(f"radix_match(root, {list(op.tokens)})")
        elif op.kind == "lock":
            lines.append(f"n{locked} = radix_match(root, {list(op.tokens)})[0]; n{locked}.lock()")
            locked += 1
        elif first < locked:
            lines.append(f"n{first}.unlock()")
            first += 1
        tree.do(op)
    return lines


def random_ops(kinds: tuple[str, ...]) -> Any:
    """A strategy for operations over few tokens, so that texts begin alike."""
    from hypothesis import strategies as st

    tokens = st.lists(st.integers(1, 2), max_size=5).map(tuple)
    op = st.builds(Op, st.sampled_from(kinds), tokens, st.integers(0, 2))
    return st.lists(op, min_size=1, max_size=7).map(tuple)
