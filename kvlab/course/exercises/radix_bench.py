"""What `radix_match` and `radix_insert` must do: after each call the tree holds what was put into it, and no more."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from kvlab.course.declare import Wrong, shows
from kvlab.course.exercises.radix_form import filed, form, lists_of, lost, none_grew, path, walk
from kvlab.course.shorten import show
from kvlab.memory import RadixNode
from kvlab.memory import radix_insert as finished_insert
from kvlab.memory import radix_match as finished_match


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
        self._look(said(op))

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
        lists = lists_of(self.root)
        got = self.match(self.root, list(op.tokens))
        none_grew(lists, call)
        if got is None:
            raise Wrong(f"{call} returned nothing (None), expected (node, slots); is a `return` missing?",
                        next="return (node, slots)")
        if type(got) not in (tuple, list) or len(got) != 2 or type(got[0]) is not RadixNode:
            raise Wrong(f"{call} returned {form(got)}, expected a node and its list of slots.",
                        next="return (node, slots), in this order")
        node, slots = got
        if type(slots) is not list or slots != wanted:
            raise Wrong(f"{call} returned the slots {show(slots, 60)}, expected {wanted}.",
                        next=_slots_next(slots, wanted), alike=(slots, self.seen()))
        end = path(node)
        if end != list(op.tokens[: len(wanted)]):
            raise Wrong(f"{call} returned a node that ends with {show(end, 40)}, expected one that ends with "
                        f"{list(op.tokens[: len(wanted)])}.", next="split the node where the match ends inside it",
                        alike=(end, self.seen()))
        return node

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
            raise Wrong(f"{call} returned {form(got)}, expected a list of slots, {wanted}.", next="return a list")
        if got != wanted and sorted(map(repr, got)) != sorted(map(repr, wanted)):
            raise Wrong(f"{call} says that {show(got, 60)} are free now, expected {wanted}{_free_why(got, wanted)}.",
                        next=_free_next(got, wanted), alike=(got, self.seen()))

    def seen(self) -> list[Any]:
        """What is in the tree, whatever its state: by this two mistakes of one sentence are told apart."""
        try:
            return sorted((text, node.slots) for node, text in walk(self.root, "it"))
        except Exception:
            return []

    def _look(self, call: str) -> None:
        """The whole tree: its nodes fit together, every beginning has its slot, every lock is where it was put."""
        nodes = list(walk(self.root, call))
        for node, _ in self.held:
            wanted = next(text for held, text in self.held if held is node)
            if path(node) != list(wanted):
                raise Wrong(f"after {call}, the node that a request has locked ends with {show(path(node), 40)}, and "
                            f"ended with {list(wanted)} before. Its unlock would miss the rest.",
                            next="let the old node be the rear, and a new one the front")
        there = filed(nodes)
        if there != self.slot_of:
            raise Wrong(f"after {call}, {lost(there, self.slot_of)}.", alike=self.seen())
        for node, text in nodes:
            wanted_locks = sum(held[: len(text)] == text for _, held in self.held)
            if node.locks != wanted_locks:
                raise Wrong(f"after {call}, the node of {node.tokens} has {show(node.locks)} "
                            f"lock{'s' * (node.locks != 1)}, expected {wanted_locks}: so many requests read it.",
                            next="a front has the locks of the whole node")


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


def said(op: Op) -> str:
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
