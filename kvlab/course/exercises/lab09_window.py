"""Lab 09: blocks that no window shows any more go back to the pool."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvlab.course.declare import Exercise, Mistake, Traces, Wrong
from kvlab.course.exercises.scenarios import corners, is_count, scenarios
from kvlab.course.shorten import show, with_article
from kvlab.errors import KVLabError
from kvlab.memory import BlockPool

_SEEN = "the next query, at position num_tokens, sees num_tokens - window + 1 and later"
_WHOLE = "count only blocks of which every token is out of sight: round down"
_PLACES = "write null_block into the entry, and leave the others where they are"
_NULL = "an entry holds what it names: share null_block, release the old block"
_ONCE = "leave entries alone that are null_block already"


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
    pool = BlockPool(-(-max(value.lengths) // size) + value.spare, null_block=True)
    table: list[int] = []
    names: list[int] = []  # what the table would name without windows
    held: list[int] = []
    for length in value.lengths:
        names += (taken := pool.take(-(-length // size) - len(names)))
        table += taken
        if not held and len(names) > max(value.others, default=-1):
            held = [names[place] for place in value.others]
            pool.share(held)
        before = table.count(0)
        gone = max(0, length - value.window + 1) // size
        got = part(table, length, value.window, size, pool, 0)
        _compare(table, names, gone, f"after {length} tokens", pool.counts.copy())
        _counts(pool, table, held, length)
        if got != gone - before or not is_count(got):
            kind = "" if is_count(got) or got is None else f" ({with_article(type(got))})"
            raise Wrong(f"after {length} tokens it returned {show(got, 40)}{kind}, expected {gone - before}, the "
                        "blocks that it released now.", next="return how many went in this call")


def _compare(table: list[int], names: list[int], gone: int, when: str, counts: list[int]) -> None:
    """The table has null in place of the first `gone` entries."""
    wanted = [0] * gone + names[gone:]
    if len(table) != len(wanted):
        raise Wrong(f"{when} the table is {show(table, 40)}, expected {show(wanted, 40)}: entries keep their places.",
                    next=_PLACES, alike=(list(table), counts))
    if table != wanted:
        early = [place for place in range(gone, len(names)) if table[place] == 0]
        why = f": entry {early[0]} holds tokens that are still seen" if early else ""
        raise Wrong(f"{when} the table is {show(table, 40)}, expected {show(wanted, 40)}{why}.",
                    alike=(list(table), counts))


def _counts(pool: BlockPool, table: list[int], held: list[int], length: int) -> None:
    """Each block has as many holders as there are who name it, the pool's own hold on the null block included."""
    try:
        pool.check()
    except KVLabError as broken:
        raise Wrong(f"after {length} tokens the pool is broken: {broken}") from broken
    for block in range(pool.num_blocks):
        wanted = table.count(block) + held.count(block) + (block == 0)
        if pool.ref_count(block) != wanted:
            name = "the null block" if block == 0 else f"block {block}"
            raise Wrong(f"after {length} tokens {name} has {pool.ref_count(block)} holders, expected {wanted}: the "
                        f"table is {show(table, 40)}.", next=_NULL, alike=pool.counts.copy())


def render(value: Talk) -> list[str]:
    """The calls, one a line."""
    lines = [f"blocks of {value.block_size}, window {value.window}"
             + (f", somebody else holds entries {list(value.others)} too" if value.others else "")]
    return lines + [f"release_window(table, num_tokens={length}, window={value.window}, block_size={value.block_size}, "
                    "pool, null_block=0)" for length in value.lengths]


def random_talks() -> Any:
    """A Hypothesis strategy for `Talk`s."""
    from hypothesis import strategies as st

    lengths = st.lists(st.integers(1, 30), min_size=1, max_size=4).map(lambda found: tuple(sorted(set(found))))
    return st.builds(Talk, lengths, st.integers(1, 9), st.integers(1, 4), st.just(()), st.just(3), st.just(0))


def releases(name: str, *values: Talk, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


def _swap(table, gone, pool, null, share=True):
    leaving = [block for block in table[:gone] if block != null]
    if share:
        pool.share([null] * len(leaving))
    pool.release(leaving)
    for place in range(gone):
        table[place] = null
    return len(leaving)


def one_early(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window + 2) // block_size, pool, null_block)


def one_late(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window) // block_size, pool, null_block)


def two_late(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window - 1) // block_size, pool, null_block)


def rounds_up(table, num_tokens, window, block_size, pool, null_block):
    gone = min(-(-max(0, num_tokens - window + 1) // block_size), len(table))
    return _swap(table, gone, pool, null_block)


def blocks_of_the_window(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, len(table) - -(-window // block_size)), pool, null_block)


def blocks_of_the_window_down(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens // block_size - window // block_size), pool, null_block)


def pops(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = table[:gone]
    pool.release(leaving)
    del table[:gone]
    return len(leaving)


def null_is_nobodys(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window + 1) // block_size, pool, null_block, share=False)


def null_shared_once(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = [block for block in table[:gone] if block != null_block]
    if leaving:
        pool.share([null_block])
    pool.release(leaving)
    table[:gone] = [null_block] * gone
    return len(leaving)


def never_released(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = [block for block in table[:gone] if block != null_block]
    pool.share([null_block] * len(leaving))
    table[:gone] = [null_block] * gone
    return len(leaving)


def only_released(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    pool.release(table[:gone])
    return gone


def counts_all(table, num_tokens, window, block_size, pool, null_block):
    _swap(table, max(0, num_tokens - window + 1) // block_size, pool, null_block)
    return max(0, num_tokens - window + 1) // block_size


def one_a_call(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    for place in range(gone):
        if table[place] != null_block:
            pool.share([null_block])
            pool.release([table[place]])
            table[place] = null_block
            return 1
    return 0


def negative(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, (num_tokens - window + 1) // block_size, pool, null_block)


def only_own_blocks(table, num_tokens, window, block_size, pool, null_block):
    count = 0
    for place in range(max(0, num_tokens - window + 1) // block_size):
        if table[place] != null_block and pool.ref_count(table[place]) == 1:
            pool.share([null_block])
            pool.release([table[place]])
            table[place] = null_block
            count += 1
    return count


def a_new_table(table, num_tokens, window, block_size, pool, null_block):
    copy = list(table)
    return _swap(copy, max(0, num_tokens - window + 1) // block_size, pool, null_block)


_WINDOW = "Counts whole blocks of the window. It rarely begins where a block does, so it can reach one block further."

RELEASE_WINDOW = Exercise(
    name="release_window", lab="09", part="kvlab.memory.release_window", stars=2, core=True, minutes=15,
    checks=(
        releases("inside the window", Talk((6,), 8), Talk((1, 4), 4), Talk((7,), 8), next=_SEEN),
        releases("one block gone", Talk((9,), 6), Talk((12,), 8), Talk((8,), 5), Talk((7,), 4), next=_SEEN),
        releases("part of a block is seen", Talk((10,), 8), Talk((11,), 6), Talk((6,), 4), Talk((14,), 9),
                 invariant="I6", next=_WHOLE),
        releases("several blocks at once", Talk((20,), 5), Talk((17,), 1, 2), Talk((15,), 3, 1),
                 next="go through all blocks behind the window"),
        releases("token by token", Talk(tuple(range(5, 18)), 6), Talk((9, 10, 13, 16, 22), 4, 3), invariant="I2",
                 next=_ONCE),
        releases("shared blocks", Talk((14,), 4, others=(0, 2)), Talk((8, 13), 3, 4, (1,)), invariant="I2",
                 next="take one holder off, whoever else holds it"),
        corners("a window of one", run, render, Talk((4, 8), 1), Talk((1, 2, 3), 1, 1), next=_SEEN),
        Traces("random talks", random_talks, run, render=render, next="draw the last row by hand"),
    ),
    mistakes=(
        Mistake(one_early,
                "Releases one token too early: the next query still sees position num_tokens - window + 1.",
                invariant="I6", next=_SEEN),
        Mistake(one_late,
                "Releases one token too late. The next query counts itself: it sees only window - 1 before it.",
                next=_SEEN),
        Mistake(two_late, "Keeps two tokens more than the next query sees.", next=_SEEN),
        Mistake(rounds_up, "Rounds up. A block with a single token in sight has to stay.", invariant="I6", next=_WHOLE),
        Mistake(blocks_of_the_window, _WINDOW, next=_SEEN),
        Mistake(blocks_of_the_window_down, _WINDOW, next=_SEEN),
        Mistake(pops,
                "Takes the entries out of the table. Then position p is no longer in entry p // block_size.",
                invariant="I4", next=_PLACES),
        Mistake(null_is_nobodys,
                "The table names the null block and does not hold it. When the sequence ends, that is one release too "
                "many.",
                invariant="I2", next=_NULL),
        Mistake(null_shared_once, "Holds the null block once for several entries. Each entry is a holder.",
                invariant="I2", next=_NULL),
        Mistake(never_released, "The blocks leave the table and are never released: a leak.", invariant="I2",
                next="release them"),
        Mistake(only_released,
                "Releases blocks that the table still names. Somebody else will take them, and be read.",
                invariant="I2", next=_PLACES),
        Mistake(counts_all, "Returns all that have gone so far. Asked for is how many went now.",
                next="return how many went in this call"),
        Mistake(one_a_call, "Releases one block a call. After a long prompt, many are behind the window at once.",
                next="go through all blocks behind the window"),
        Mistake(negative,
                "A sequence shorter than its window gives a negative number, and a slice with that counts from the "
                "end.",
                next="use max(0, ...)"),
        Mistake(only_own_blocks, "Keeps blocks that others hold too. Each holder leaves on its own.", invariant="I2",
                next="take one holder off, whoever else holds it"),
        Mistake(a_new_table, "Changes a copy of the table. The sequence goes on with the old one.",
                next="change the list that was given"),
    ),
    hints=(
        "Blocks of 4, a window of 6, 9 tokens are written. Which positions does the next query see, and of which "
        "blocks is nothing left in that?",
        "The next query stands at position num_tokens and sees window tokens, itself among them: the first num_tokens "
        "- window + 1 are out of sight. Whole blocks of these go. For each one that is not null yet: share the null "
        "block, release the old one, and write null_block in its place.",
        "gone = max(0, num_tokens - window + 1) // block_size; for i in range(gone): if table[i] != null_block: "
        "pool.share([null_block]); pool.release([table[i]]); table[i] = null_block; count",
    ),
)
