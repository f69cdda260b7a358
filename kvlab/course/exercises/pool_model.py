"""The brute-force model behind the block pool exercise. It never looks at block numbers, so any legal choice of
blocks passes.

A trace names blocks by where they came from: the block at position 1 of the first `take` is `(0, 1)`, shown as `a[1]`.
"""

from __future__ import annotations

from typing import Any, cast

from kvlab.course.declare import Wrong
from kvlab.course.exercises.scenarios import is_count, refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks, UsageError

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


def run(part: Any, value: Value) -> None:
    """Every operation on the learner's pool and on the model; `Wrong` at the first difference."""
    num_blocks, operations = value
    pool, model = part(num_blocks), PoolModel(num_blocks)
    blocks: dict[Name, int] = {}
    same_books(pool, model, blocks, "at the start")
    for operation in operations:
        reason, call = model.refuses(operation), _call(operation)
        given: Any = operation[1] if operation[0] == "take" else [blocks[name] for name in operation[1]]
        if reason:
            _refuse(pool, model, blocks, operation[0], given, call, reason)
            model.apply(operation)
            same_books(pool, model, blocks, f"after the refused {call}")
            continue
        if operation[0] == "take":
            blocks |= _take(pool, model, blocks, given, call)
        else:
            _accepted(getattr(pool, operation[0]), given, call)
        model.apply(operation)
        same_books(pool, model, blocks, f"after {call}")
    _drain(pool, model, blocks)


def _refuse(pool: Any, model: PoolModel, blocks: dict[Name, Any], kind: str, given: Any, call: str,
            reason: str) -> None:
    def damage() -> str:
        try:
            same_books(pool, model, blocks, "afterwards")
        except Wrong as now:
            return f"; {str(now).split(', expected')[0]}"
        return ", and nothing happened"

    if kind != "take":
        refused(lambda: getattr(pool, kind)(given), call, UsageError, reason, damage)
        return
    refusal = refused(lambda: pool.take(given), call, OutOfBlocks, reason, accepted="returned None")
    same_books(pool, model, blocks, f"after the refused {call}")
    if (refusal.needed, refusal.free) != (given, model.num_free):
        raise Wrong(f"the refusal says needed={show(refusal.needed)}, free={show(refusal.free)}, "
                    f"expected needed={given}, free={model.num_free}.")


def _accepted(method: Any, given: list[Any], call: str) -> None:
    try:
        method(list(given))
    except UsageError:
        raise Wrong(f"{call} was refused, but every block in it has owners enough.") from None


def _take(pool: Any, model: PoolModel, blocks: dict[Name, Any], count: int, call: str) -> dict[Name, Any]:
    try:
        got = pool.take(count)
    except OutOfBlocks:
        raise Wrong(f"{call} was refused, but {model.num_free} of {model.num_blocks} blocks are free.") from None
    owned = {blocks[name] for name, owners in model.owners.items() if owners}
    trouble = _trouble(got, count, model.num_blocks, owned)
    if trouble:
        raise Wrong(f"{call} {trouble}.")
    return {(model.takes, position): int(block) for position, block in enumerate(got)}


def _trouble(got: Any, count: int, num_blocks: int, owned: set[int]) -> str:
    """What is wrong with the blocks that a take returned; empty if nothing."""
    if not isinstance(got, list):
        return f"returned {show(got, 40)}, expected a list of {count} block{'s' * (count != 1)}"
    if len(got) != count:
        return f"returned {len(got)} block{'s' * (len(got) != 1)}, expected {count}"
    if not all(map(is_count, got)):
        return "returned something that is no block number, expected whole numbers"
    strange = [block for block in got if not 0 <= block < num_blocks]
    if strange:
        return f"returned block {strange[0]}, expected blocks 0 to {num_blocks - 1}"
    if len(set(got)) < count:
        return "returned the same block twice"
    return "returned a block that still has an owner" if owned & set(got) else ""


def same_books(pool: Any, model: PoolModel, blocks: dict[Name, Any], when: str) -> None:
    """`num_free` and every `ref_count` must be the model's."""
    number = " (I13)" if "refused" in when else ""
    if callable(getattr(pool, "num_free", None)):
        raise Wrong("num_free is a method; it is read like a number, so keep @property above it.")
    if not is_count(pool.num_free) or pool.num_free != model.num_free:
        raise Wrong(f"{when} num_free is {show(pool.num_free, 30)}, expected {model.num_free}{number}.")
    owners = {block: 0 for block in range(model.num_blocks)}
    owners |= {blocks[name]: count for name, count in model.owners.items() if count}
    names = {blocks[name]: label(name) for name, count in model.owners.items() if count}
    for block in sorted(owners, key=owners.__getitem__, reverse=True):
        text = names.get(block, "a free block")
        try:
            got = pool.ref_count(block)
        except (LookupError, UsageError) as error:
            seen = f"{when} ref_count of {text} raised {type(error).__name__}"
            raise Wrong(f"{seen}, expected {owners[block]}.") from error
        if not is_count(got) or got != owners[block]:
            raise Wrong(f"{when} ref_count of {text} is {show(got, 30)}, expected {owners[block]}{number}.")


def _drain(pool: Any, model: PoolModel, blocks: dict[Name, Any]) -> None:
    """At the end the pool must be able to hand out every free block, each once, and no more."""
    if model.num_free:
        _take(pool, model, blocks, model.num_free, f"then take({model.num_free}), all that is free,")


def label(name: Name) -> str:
    """`(1, 0)` as `b[0]`."""
    return f"{chr(ord('a') + name[0])}[{name[1]}]"


def _call(operation: Operation) -> str:
    kind, what = operation
    return f"take({what})" if kind == "take" else f"{kind}([{', '.join(map(label, what))}])"


def render(value: Value) -> list[str]:
    """`p = BlockPool(4)`, `a = p.take(2)`, `p.release([a[0]])`: a take gets a name if a later line needs one."""
    num_blocks, operations = value
    used = {name[0] for kind, what in operations if kind != "take" for name in what}
    lines, takes = [f"p = BlockPool({num_blocks})"], 0
    for operation in operations:
        keep = operation[0] == "take" and takes in used
        lines.append((f"{chr(ord('a') + takes)} = " if keep else "") + "p." + _call(operation))
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
