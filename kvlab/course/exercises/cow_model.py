"""The bench for `fork` and `append_with_cow`: sequences with block tables in one pool, and what each of their tokens
must read as. A block that is written although others own it shows up as a wrong token, not only as a wrong count.

Sequences are named a, b, c, ... in the order in which they come to be.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from kvlab.course.declare import Wrong, shows
from kvlab.course.exercises.scenarios import is_count
from kvlab.errors import UsageError
from kvlab.memory import BlockPool, blocks_needed

Operation = tuple[str, int]  # ("start", tokens), ("fork", sequence), ("write", sequence), ("free", sequence)
Value = tuple[int, int, tuple[Operation, ...]]  # block size, blocks in the pool, operations


class World:
    """A pool, the tables of the sequences that share it, and the bytes of every slot."""

    def __init__(self, block_size: int, num_blocks: int) -> None:
        self.size, self.pool = block_size, BlockPool(num_blocks)
        blocks = self.pool.take(num_blocks)
        self.pool.release(blocks[1::2] + blocks[::2])  # so that neighbours in a table are none in the pool
        self.tables: dict[str, list[int]] = {}
        self.said: dict[str, list[str]] = {}
        self.bytes: dict[int, str] = {}
        self.begun = 0

    def name(self) -> str:
        self.begun += 1
        return chr(ord("a") + self.begun - 1)

    def start(self, tokens: int) -> None:
        name = self.name()
        self.tables[name], self.said[name] = self.pool.take(blocks_needed(tokens, self.size)), []
        for _ in range(tokens):
            self.write(name, self.slot(name, len(self.said[name])))

    def fork(self, parent: str) -> None:
        """A fork as it must be, for the bench of another exercise."""
        self.pool.share(self.tables[parent])
        self.born(parent, list(self.tables[parent]))

    def born(self, parent: str, table: list[int]) -> None:
        name = self.name()
        self.tables[name], self.said[name] = table, list(self.said[parent])

    def free(self, name: str) -> None:
        self.pool.release(self.tables.pop(name))
        del self.said[name]

    def slot(self, name: str, position: int) -> int:
        return self.tables[name][position // self.size] * self.size + position % self.size

    def write(self, name: str, slot: int) -> None:
        """The sequence's next token, in words that nobody else says."""
        self.bytes[slot] = f"{name}'s token {len(self.said[name])}"
        self.said[name].append(self.bytes[slot])

    def copy(self, source: int, target: int) -> None:
        for offset in range(self.size):
            self.bytes[target * self.size + offset] = self.bytes.get(source * self.size + offset, "nothing")

    def others(self, name: str, block: int) -> list[str]:
        """Who else has `block` in its table."""
        return [other for other, table in self.tables.items() if other != name and block in table]


def same_books(world: World, when: str, next: str | None = None) -> None:
    """Every block's count must be the number of tables that name it (I2)."""
    named = Counter(block for table in world.tables.values() for block in table)
    for block in range(world.pool.num_blocks):
        got, wanted = world.pool.ref_count(block), named[block]
        if got != wanted:
            tables = [name for name, table in world.tables.items() if block in table]
            why = f"it is in the table{'s' * (wanted != 1)} of {listed(tables)}" if tables else "it is in no table"
            raise Wrong(f"{when} block {block} has reference count {got}, expected {wanted}: {why} (I2).", next=next)


def same_words(world: World, when: str) -> None:
    """Every sequence must read back through its table what it has said."""
    for name, said in world.said.items():
        for position, wanted in enumerate(said):
            got = world.bytes.get(world.slot(name, position), "nothing")
            if got != wanted:
                raise Wrong(f"{when} {name} reads {got} at position {position}, expected {wanted}.")


@contextmanager
def asked_of(call: str) -> Iterator[None]:
    """What the pool refuses inside, although nothing had to be refused, is told as what the call did."""
    try:
        yield
    except UsageError as refusal:
        raise Wrong(f"{call} was refused by the pool: {refusal}.", next=list_wanted(refusal)) from refusal


def list_wanted(refusal: BaseException) -> str | None:
    """What to do if the pool was given something else than a list of blocks; None if that was not it."""
    called = {frame.f_code.co_name for frame, _ in traceback.walk_tb(refusal.__traceback__)}
    methods = [name for name in ("share", "release") if name in called and "named by a list" in str(refusal)]
    return f"give pool.{methods[0]} a list of blocks" if methods else None


def listed(names: list[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def flat(table: Any) -> bool:
    """Whether it is a list of block numbers."""
    return isinstance(table, list) and all(map(is_count, table))


def steps(value: Value) -> Iterator[tuple[World, Operation, Any]]:
    """The world, and for each operation in turn what shows the lines up to it. What the bench itself does is done;
    the exercise's own operation is left to the caller."""
    size, num_blocks, operations = value
    world = World(size, num_blocks)
    for done, operation in enumerate(operations, 1):
        yield world, operation, shows(partial(render, (size, num_blocks, operations[:done])))


def render(value: Value) -> list[str]:
    """`pool = BlockPool(4)`, `a = pool.take(2)`, `b = fork(a, pool)`, `append_with_cow(b, 5, pool, 4)`.

    A comment stands at the very end: the lines are shown as one where there is little room."""
    size, num_blocks, operations = value
    lines, tokens, comment = [f"pool = BlockPool({num_blocks})"], list[int](), ""
    for kind, what in operations:
        name = chr(ord("a") + what)
        born = chr(ord("a") + len(tokens))
        if kind == "start":
            blocks = blocks_needed(what, size)
            lines.append(f"{born} = pool.take({blocks})")
            comment = f"  # {born} begins with {what} token{'s' * (what != 1)} in blocks of {size}"
            tokens.append(what)
        elif kind == "fork":
            lines.append(f"{born} = fork({name}, pool)")
            tokens.append(tokens[what])
        elif kind == "write":
            lines.append(f"append_with_cow({name}, {tokens[what]}, pool, {size})")
            tokens[what] += 1
        else:
            lines.append(f"pool.release({name})")
    return [*lines[:-1], lines[-1] + comment]


def random_operations(kinds: tuple[str, ...]) -> Any:
    """A strategy for `Value`s of these kinds, which begin with a sequence and never name one that is gone."""
    from hypothesis import strategies as st

    choices = st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 5)), max_size=14)

    @st.composite
    def values(draw: Any) -> Value:
        size, spare, tokens = draw(st.integers(1, 4)), draw(st.integers(0, 6)), draw(st.integers(1, 7))
        operations: list[Operation] = [("start", tokens)]
        alive, born = [0], 1
        for kind, number in draw(choices):
            if not alive:
                break
            what = alive[number % len(alive)]
            operations.append((kind, what))
            if kind == "fork":
                alive.append(born)
                born += 1
            elif kind == "free":
                alive.remove(what)
        return size, blocks_needed(tokens, size) + spare, tuple(operations)

    return values()
