"""What `evict` must do: each block it names is, at its turn, the least recently used of those that may go."""

from __future__ import annotations

import re
from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.exercises.scenarios import is_count
from kvlab.course.shorten import show
from kvlab.memory import CachedBlock
from kvlab.memory import evict as finished

Entry = tuple[int, int | None, int, int]
Value = tuple[tuple[Entry, ...], int]


def run(part: Any, value: Value) -> None:
    """`Wrong` at the first block that may not go at its turn, then if they are too few or too many."""
    entries, count = value
    cached = [CachedBlock(*entry) for entry in entries]
    possible = len(finished(cached, count))
    got = _asked(part, cached, count, possible)
    if got is None:
        raise Wrong("returned nothing (None), expected a list of blocks; is a `return` missing?",
                    next="return the list of blocks")
    if type(got) is not list or not all(is_count(block) for block in got):
        odd = "; entries were in it" if type(got) is list and any(type(one) is CachedBlock for one in got) else ""
        raise Wrong(f"returned {show(got, 60)}, expected a list of block numbers{odd}.",
                    next="return entry.block of each" if odd else "return a list of block numbers")
    left = {entry.block: entry for entry in cached}
    for block in got:
        _may_go(left, block, [entry.block for entry in cached])
        del left[block]
    if len(got) != possible:
        raise Wrong(f"returned {len(got)} block{'s' * (len(got) != 1)}, {got}, expected {possible}: {count} "
                    f"{'was' if count == 1 else 'were'} asked for{_why(possible, count)}.",
                    next="stop at count" if len(got) > possible else "go on until there are count, or none may go")


def _asked(part: Any, cached: list[CachedBlock], count: int, possible: int) -> Any:
    """What the part returns for a cache of its own; an error over an empty list is told in the words of the task."""
    try:
        return part(list(cached), count)
    except (ValueError, IndexError) as error:
        if possible == count or not re.search("empty|out of range", str(error)):
            raise
        words = f"{count} asked for, and only {possible} may go" if possible else f"{count} asked for, and none may go"
        raise Wrong(f"with {words}, raised {type(error).__name__}: {error}. There was no block left that may go.",
                    next="stop when no block may go (`if not ends: break`)") from error


def run_kept(part: Any, value: Value) -> None:
    """`Wrong` if the list that was given is another afterwards; all else is known to hold."""
    entries, count = value
    cached = [CachedBlock(*entry) for entry in entries]
    given = list(cached)
    part(given, count)
    if given != cached:
        raise Wrong("changes `cached`, which is the caller's list. To name blocks is to take none out of it yet.",
                    next="work on a copy: left = list(cached)")


def _why(possible: int, count: int) -> str:
    return "" if possible == count else ", and no more may go"


def _may_go(left: dict[int, CachedBlock], block: int, cached: list[int]) -> None:
    if block not in left:
        kind = "twice" if block in cached else "which is not in the cache"
        raise Wrong(f"named block {block}{' ' if kind == 'twice' else ', '}{kind}.", next="name each cached block once")
    entry = left[block]
    if entry.owners:
        owners = "an owner" if entry.owners == 1 else f"{entry.owners} owners"
        raise Wrong(f"named block {block}, which has {owners}. Somebody reads it now.",
                    next="leave out what has owners")
    followers = [other for other in left.values() if other.parent == block]
    if followers:
        raise Wrong(f"named block {block} while block {followers[0].block}, which follows it, is still there. Nobody "
                    "could find that one any more.", next="a block may go when nothing follows it")
    free = [other for other in left.values()
            if not other.owners and all(one.parent != other.block for one in left.values())]
    oldest = min(free, key=lambda other: other.last_used)
    if entry.last_used > oldest.last_used:
        raise Wrong(f"named block {block}, used at {entry.last_used}, before block {oldest.block}, used at "
                    f"{oldest.last_used}.", next="the least recently used goes first")


def render(value: Value) -> list[str]:
    """The cache and the call."""
    entries, count = value
    listed = ", ".join(f"B({block}, {parent}, {owners}, {used})" for block, parent, owners, used in entries)
    return ["B = CachedBlock", f"cached = [{listed}]", f"evict(cached, {count})  # B(block, parent, owners, last_used)"]


def random_caches() -> Any:
    """A strategy for `Value`s: up to six blocks in chains that branch; whoever owns a block owns those before it."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Value:
        rows: list[list[Any]] = []
        for number in range(draw(st.integers(1, 6))):
            parent = draw(st.sampled_from([None, *range(number)]))
            rows.append([number, parent, draw(st.sampled_from([0, 0, 1])), draw(st.integers(1, 5))])
        for row in reversed(rows):
            if row[1] is not None:
                rows[row[1]][2] += row[2]
                rows[row[1]][3] = max(rows[row[1]][3], row[3])
        order = draw(st.permutations(range(len(rows))))
        entries = tuple((*rows[place],) for place in order)
        return entries, draw(st.integers(0, len(rows)))  # type: ignore[return-value]

    return values()
