"""What a `BlockPool` must do: after each operation its books are the model's, whichever free blocks it hands out."""

from __future__ import annotations

from functools import partial
from typing import Any

from kvlab.course.declare import NotWritten, Wrong, shows
from kvlab.course.exercises.pool_model import Name, Operation, PoolModel, Value, label, render, written
from kvlab.course.exercises.scenarios import is_count, refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks, UsageError


def run(part: Any, value: Value) -> None:
    """Every operation on the learner's pool and on the model; `Wrong` at the first difference."""
    num_blocks, operations = value
    pool, model = part(num_blocks), PoolModel(num_blocks)
    blocks: dict[Name, int] = {}
    with shows(lambda: render((num_blocks, ()))):
        same_books(pool, model, blocks, "at the start")
    for done, operation in enumerate(operations, 1):
        with shows(partial(render, (num_blocks, operations[:done]))):
            _step(pool, model, blocks, operation)
    if model.num_free:
        with shows(lambda: [*render(value), f"p.take({model.num_free})"]):
            _drain(pool, model, blocks)


def _step(pool: Any, model: PoolModel, blocks: dict[Name, int], operation: Operation) -> None:
    reason, call = model.refuses(operation), written(operation)
    given: Any = operation[1] if operation[0] == "take" else [blocks[name] for name in operation[1]]
    if reason:
        _refuse(pool, model, blocks, operation[0], given, call, reason)
    elif operation[0] == "take":
        blocks |= _take(pool, model, blocks, given, call)
    else:
        _accepted(getattr(pool, operation[0]), given, call)
    model.apply(operation)
    same_books(pool, model, blocks, f"after the refused {call}" if reason else f"after {call}")


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
                    f"expected needed={given}, free={model.num_free}.",
                    next=_numbers_next(refusal, given, model.num_free))


def _numbers_next(refusal: OutOfBlocks, needed: int, free: int) -> str:
    if (refusal.needed, refusal.free) == (free, needed):
        return "swap the two numbers: OutOfBlocks(needed, free)"
    if refusal.needed != needed:
        return "needed is what was asked for, the whole of it"
    return "free is what is free at that moment"


def _accepted(method: Any, given: list[Any], call: str) -> None:
    try:
        method(list(given))
    except UsageError:
        raise Wrong(f"{call} was refused, but every block in it has owners enough.",
                    next="refuse only what has too few owners") from None


def _take(pool: Any, model: PoolModel, blocks: dict[Name, Any], count: int, call: str) -> dict[Name, Any]:
    try:
        got = pool.take(count)
    except OutOfBlocks:
        if not count:
            raise Wrong(f"{call} was refused, expected []: asking for none always works.",
                        next="treat a take of no blocks") from None
        raise Wrong(f"{call} was refused, but {model.num_free} of {model.num_blocks} blocks are free.",
                    next="compare count with what is free") from None
    owned = {blocks[name] for name, owners in model.owners.items() if owners}
    trouble, next = _trouble(got, count, model.num_blocks, owned)
    if trouble:
        raise Wrong(f"{call} {trouble}.", next=next)
    return {(model.takes, position): int(block) for position, block in enumerate(got)}


def _trouble(got: Any, count: int, num_blocks: int, owned: set[int]) -> tuple[str, str]:
    """What is wrong with the blocks that a take returned, and what to do about it; empty if nothing."""
    if not isinstance(got, list):
        wanted = f"a list of {count} block{'s' * (count != 1)}"
        next = "return the blocks it took" if got is None else "return a list" + ", also for one block" * is_count(got)
        return f"returned {show(got, 40)}, expected {wanted}", next
    if len(got) != count:
        next = "return the new blocks only" if len(got) > count else "return all blocks it took"
        return f"returned {len(got)} block{'s' * (len(got) != 1)}, {show(got, 40)}, expected {count}", next
    if not all(map(is_count, got)):
        return f"returned {show(got, 40)}, expected whole numbers", "return block numbers"
    strange = [block for block in got if not 0 <= block < num_blocks]
    if strange:
        return (f"returned block {strange[0]}, expected blocks 0 to {num_blocks - 1}",
                "number the blocks from 0 to num_blocks - 1")
    if len(set(got)) < count:
        return "returned the same block twice", "take a block out of the free ones when you hand it out"
    if owned & set(got):
        return "returned a block that still has an owner", "hand out free blocks only"
    return "", ""


def same_books(pool: Any, model: PoolModel, blocks: dict[Name, Any], when: str) -> None:
    """`num_free` and every `ref_count` must be the model's."""
    number = " (I13)" if "refused" in when else ""
    if callable(getattr(pool, "num_free", None)):
        raise Wrong("num_free is a method; it is read like a number, so keep @property above it.",
                    next="put @property above num_free")
    if not is_count(pool.num_free) or pool.num_free != model.num_free:
        next = "end num_free with return" if pool.num_free is None else None
        if when == "at the start":
            next = next or "make all blocks free in __init__"
        raise Wrong(f"{when} num_free is {show(pool.num_free, 30)}, expected {model.num_free}{number}.", next=next)
    _same_counts(pool, model, blocks, when, number)


def _same_counts(pool: Any, model: PoolModel, blocks: dict[Name, Any], when: str, number: str) -> None:
    """Every `ref_count` must be the model's. Before a block is shared, a pool without the method goes on."""
    owners = {block: 0 for block in range(model.num_blocks)}
    owners |= {blocks[name]: count for name, count in model.owners.items() if count}
    names = {blocks[name]: label(name) for name, count in model.owners.items() if count}
    for block in sorted(owners, key=owners.__getitem__, reverse=True):
        text = names.get(block, "a free block")
        try:
            got = pool.ref_count(block)
        except (NotWritten, AttributeError) as missing:
            absent = isinstance(missing, NotWritten) or missing.obj is pool and missing.name == "ref_count"
            if not absent or max(owners.values()) > 1:
                raise
            return
        except (LookupError, UsageError) as error:
            seen = f"{when} ref_count of {text} raised {type(error).__name__}"
            raise Wrong(f"{seen}, expected {owners[block]}.", next=_count_next(owners[block], 0, when)) from error
        if not is_count(got) or got != owners[block]:
            raise Wrong(f"{when} ref_count of {text} is {show(got, 30)}, expected {owners[block]}{number}.",
                        next=_count_next(owners[block], got, when))


def _count_next(owners: int, got: Any, when: str) -> str | None:
    if got is None:
        return "end ref_count with return"
    if not is_count(got):
        return "return the count of that one block"
    if "refused" in when:
        return None
    if owners == 1 and when.startswith("after take"):
        return "set the count of each block that is taken to 1"
    return None if owners else "let ref_count of a free block be 0"


def _drain(pool: Any, model: PoolModel, blocks: dict[Name, Any]) -> None:
    """At the end the pool must be able to hand out every free block, each once, and no more."""
    _take(pool, model, blocks, model.num_free, f"then take({model.num_free}), all that is free,")
