"""The bench for `release_window`: sequences that grow in a pool of which the null block may be any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kvlab.course.declare import Traces, Wrong
from kvlab.course.exercises.scenarios import is_count, scenarios
from kvlab.course.shorten import show, with_article
from kvlab.errors import KVLabError
from kvlab.memory import BlockPool

PLACES = "write null_block into the entry, and leave the others where they are"
NULL = "an entry holds what it names: share null_block, release the old block"


class Elsewhere:
    """A pool whose blocks have other numbers outside: its null block is `null`, and the others follow in a ring."""

    def __init__(self, pool: BlockPool, null: int) -> None:
        self._pool, self._null = pool, null

    def inside(self, blocks: Iterable[int]) -> list[int]:
        """The pool's own numbers."""
        return [(block - self._null) % self._pool.num_blocks if 0 <= block < self._pool.num_blocks else block
                for block in blocks]

    def take(self, count: int) -> list[int]:
        return [(block + self._null) % self._pool.num_blocks for block in self._pool.take(count)]

    def share(self, blocks: Iterable[int]) -> None:
        self._pool.share(self.inside(blocks))

    def release(self, blocks: Iterable[int]) -> None:
        self._pool.release(self.inside(blocks))

    def ref_count(self, block: int) -> int:
        """How many hold it."""
        return self._pool.ref_count(*self.inside([block]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


class Talk(NamedTuple):
    """A sequence that grows: after each of `lengths` the function is called. `others`: entries, counted from the first,
    that somebody else holds too."""

    lengths: tuple[int, ...]
    window: int
    block_size: int = 4
    others: tuple[int, ...] = ()
    spare: int = 3
    null_block: int = 0


def run(part: Any, value: Talk) -> None:
    """Lets the sequence grow and releases behind its window; `Wrong` at the first call after which something is off."""
    size = value.block_size
    own = BlockPool(-(-max(value.lengths) // size) + value.spare, null_block=True)
    null = value.null_block
    pool = Elsewhere(own, null)
    table: list[int] = []
    names: list[int] = []  # what the table would name without windows
    held: list[int] = []
    for length in value.lengths:
        names += (taken := pool.take(-(-length // size) - len(names)))
        table += taken
        if not held and len(names) > max(value.others, default=-1):
            held = [names[place] for place in value.others]
            pool.share(held)
        before = table.count(null)
        gone = max(0, length - value.window + 1) // size
        got = part(table, length, value.window, size, pool, null)
        _compare(table, names, gone, length, own.counts.copy(), null)
        _counts(pool, table, held, length, null)
        if got != gone - before or not is_count(got):
            kind = "" if is_count(got) or got is None else f" ({with_article(type(got))})"
            early = is_count(got) and got < 0
            raise Wrong(f"after {length} tokens it returned {show(got, 40)}{kind}, expected {gone - before}, the "
                        "blocks that it released now.",
                        next="nothing is behind the window yet: max(0, ...)" if early else
                        "return how many went in this call")


def _compare(table: list[int], names: list[int], gone: int, length: int, counts: list[int], null: int) -> None:
    """The table has null in place of the first `gone` entries."""
    wanted, when = [null] * gone + names[gone:], f"after {length} tokens"
    if len(table) != len(wanted):
        raise Wrong(f"{when} the table is {show(table, 40)}, expected {show(wanted, 40)}: entries keep their places.",
                    next=PLACES, alike=(list(table), counts))
    if table != wanted:
        early = [place for place in range(gone, len(names)) if table[place] == null]
        why = f": entry {early[0]} holds tokens that are still seen" if early else ""
        raise Wrong(f"{when} the table is {show(table, 40)}, expected {show(wanted, 40)}{why}.",
                    alike=(list(table), counts))


def _counts(pool: Elsewhere, table: list[int], held: list[int], length: int, null: int) -> None:
    """Each block has as many holders as there are who name it, the pool's own hold on the null block included."""
    try:
        pool.check()
    except KVLabError as broken:
        raise Wrong(f"after {length} tokens the pool is broken: {broken}") from broken
    for block in range(pool.num_blocks):
        wanted = table.count(block) + held.count(block) + (block == null)
        if pool.ref_count(block) != wanted:
            name, count = "the null block" if block == null else f"block {block}", pool.ref_count(block)
            raise Wrong(f"after {length} tokens {name} has {count} holder{'s' * (count != 1)}, expected {wanted}: the "
                        f"table is {show(table, 40)}.", next=NULL, alike=pool.counts.copy())


def render(value: Talk) -> list[str]:
    """The calls, one a line."""
    lines = [f"blocks of {value.block_size}, window {value.window}"
             + (f", somebody else holds entries {list(value.others)} too" if value.others else "")]
    return lines + [f"release_window(table, num_tokens={length}, window={value.window}, block_size={value.block_size}, "
                    f"pool, null_block={value.null_block})" for length in value.lengths]


def random_talks() -> Any:
    """A Hypothesis strategy for `Talk`s."""
    from hypothesis import strategies as st

    lengths = st.lists(st.integers(1, 30), min_size=1, max_size=4).map(lambda found: tuple(sorted(set(found))))
    return st.builds(Talk, lengths, st.integers(1, 9), st.integers(1, 4), st.just(()), st.just(3), st.integers(0, 2))


def releases(name: str, *values: Talk, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)
