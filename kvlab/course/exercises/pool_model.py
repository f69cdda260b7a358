"""The brute-force model behind the block pool exercise, and the traces that run on it. It never looks at block numbers,
so any legal choice of blocks passes.

A trace names blocks by where they came from: the block at position 1 of the first `take` is `(0, 1)`, shown as `a[1]`.
"""

from __future__ import annotations

from typing import Any, cast

Name = tuple[int, int]
Operation = tuple[str, Any]  # ("take", count), ("share", names), ("release", names)
Value = tuple[int, tuple[Operation, ...]]  # blocks in the pool, operations


class PoolModel:
    """How many owners each named block has."""

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks, self.takes = num_blocks, 0
        self.owners: dict[Name, int] = {}

    @property
    def num_free(self) -> int:
        return self.num_blocks - sum(count > 0 for count in self.owners.values())

    def refuses(self, operation: Operation) -> str:
        """Why an operation must be refused; empty if it must not."""
        kind, what = operation
        if kind == "take":
            return f"{self.num_free} of {self.num_blocks} blocks are free" if what > self.num_free else ""
        for name in what:
            count, named = self.owners[name], what.count(name)
            if count == 0:
                return f"{label(name)} is free"
            if kind == "release" and named > count:
                return f"{label(name)} is in the list {named} times and has {count} owner{'s' * (count != 1)}"
        return ""

    def apply(self, operation: Operation) -> None:
        """Does what the operation does, if it is not refused."""
        kind, what = operation
        if not self.refuses(operation):
            if kind == "take":
                self.owners = {name: count for name, count in self.owners.items() if count or not what}
                self.owners |= {(self.takes, position): 1 for position in range(what)}
            else:
                for name in what:
                    self.owners[name] += 1 if kind == "share" else -1
        self.takes += kind == "take"


def label(name: Name) -> str:
    """`(1, 0)` as `b[0]`."""
    return f"{chr(ord('a') + name[0])}[{name[1]}]"


def written(operation: Operation) -> str:
    """As Python, without the pool: `release([a[0]])`."""
    kind, what = operation
    return f"take({what})" if kind == "take" else f"{kind}([{', '.join(map(label, what))}])"


def render(value: Value) -> list[str]:
    """`p = BlockPool(4)`, `a = p.take(2)`, `p.release([a[0]])`: a take gets a name if a later line needs one."""
    num_blocks, operations = value
    used = {name[0] for kind, what in operations if kind != "take" for name in what}
    lines, takes = [f"p = BlockPool({num_blocks})"], 0
    for operation in operations:
        keep = operation[0] == "take" and takes in used
        lines.append((f"{chr(ord('a') + takes)} = " if keep else "") + "p." + written(operation))
        takes += operation[0] == "take"
    return lines


def random_operations() -> Any:
    """A Hypothesis strategy for `Value`s: small pools, lists that repeat blocks, now and then a free one."""
    from hypothesis import strategies as st

    kinds = st.sampled_from(("take", "release", "share", "release"))

    @st.composite
    def values(draw: Any) -> Value:
        model, operations = PoolModel(draw(st.integers(1, 5))), []
        for kind, number in draw(st.lists(st.tuples(kinds, st.integers(0, 999)), max_size=20)):
            names, what = sorted(model.owners), cast(Any, number % 4)
            if not names:
                kind = "take"
            if kind != "take":
                digits = (number // 4, number // 20, number // 100)  # one number holds a whole list: cheap to make up
                what = tuple(names[digit % len(names)] for digit in digits[: number % 4])
            operations.append((kind, what))
            model.apply((kind, what))
        return model.num_blocks, tuple(operations)

    return values()
