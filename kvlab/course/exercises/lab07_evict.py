"""Lab 07: which cached blocks are given up when room is needed."""

from __future__ import annotations

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises.evict_bench import random_caches, render, run, run_kept
from kvlab.course.exercises.scenarios import corners, scenarios


def _evict(cached, count, key=lambda entry: entry.last_used, in_use=False, followed=False):
    left, gone = list(cached), []
    while len(gone) < count:
        parents = {entry.parent for entry in left}
        ends = [e for e in left if (in_use or not e.owners) and (followed or e.block not in parents)]
        if not ends:
            break
        entry = min(ends, key=key)
        left.remove(entry)
        gone.append(entry.block)
    return gone


def most_recent(cached, count):
    return _evict(cached, count, key=lambda entry: -entry.last_used)


def heads_first(cached, count):
    return _evict(cached, count, followed=True)


def heads_first_newest(cached, count):
    return _evict(cached, count, followed=True, key=lambda entry: -entry.last_used)


def in_use(cached, count):
    return _evict(cached, count, in_use=True)


def by_time_alone(cached, count):
    return _evict(cached, count, in_use=True, followed=True)


def parent_zero_is_none(cached, count):
    left, gone = list(cached), []
    while len(gone) < count:
        parents = {entry.parent for entry in left if entry.parent}
        ends = [entry for entry in left if not entry.owners and entry.block not in parents]
        if not ends:
            break
        entry = min(ends, key=lambda entry: entry.last_used)
        left.remove(entry)
        gone.append(entry.block)
    return gone


def leaves_at_first(cached, count):
    parents = {entry.parent for entry in cached}
    ends = [entry for entry in cached if not entry.owners and entry.block not in parents]
    return [entry.block for entry in sorted(ends, key=lambda entry: entry.last_used)][:count]


def reversed_table(cached, count):
    idle = [entry for entry in cached if not entry.owners]
    return [entry.block for entry in reversed(idle)][:count]


def by_number(cached, count):
    return _evict(cached, count, key=lambda entry: entry.block)


def all_of_them(cached, count):
    return _evict(cached, len(list(cached)))


def all_or_nothing(cached, count):
    found = _evict(cached, count)
    return found if len(found) == count else []


def one_only(cached, count):
    return _evict(cached, min(count, 1))


def one_too_many(cached, count):
    return _evict(cached, count + 1)


def entries(cached, count):
    by_block = {entry.block: entry for entry in cached}
    return [by_block[block] for block in _evict(cached, count)]


def how_many(cached, count):
    return len(_evict(cached, count))


_CHAIN = ((4, None, 0, 3), (1, 4, 0, 3), (6, 1, 0, 3))  # three blocks of one prompt, let go of at the same time
_TWO = ((2, None, 0, 5), (7, 2, 0, 5), (3, None, 0, 2), (5, 3, 0, 2))
_BRANCH = ((0, None, 0, 9), (8, 0, 0, 4), (3, 0, 0, 9), (5, 8, 0, 4))  # the greeting, and two conversations behind it
_ZERO = ((4, 0, 0, 6), (0, None, 0, 6), (2, 4, 0, 6))  # block 0 is the head, and last in line only by what follows it
_USED = ((0, None, 1, 9), (8, 0, 1, 9), (3, 0, 0, 4), (5, 3, 0, 4))

EVICT = Exercise(
    name="evict", lab="07", part="kvlab.memory.evict", stars=3, core=True, minutes=15,
    checks=(
        scenarios("least recently used", run, render, (((2, None, 0, 5), (7, None, 0, 1), (3, None, 0, 2)), 2),
                  (((2, None, 0, 5), (7, None, 0, 8)), 1), next="the smallest last_used goes first"),
        scenarios("in use", run, render, (((2, None, 1, 1), (7, None, 0, 5)), 1), (((2, None, 2, 1),), 1), (_USED, 1),
                  next="leave out what has owners"),
        scenarios("tail before head", run, render, (_CHAIN, 1), (_CHAIN, 2), (_CHAIN, 3), (_TWO, 2), (_TWO, 3),
                  (_ZERO, 1), (_ZERO, 3),
                  (((9, 2, 0, 6), (2, None, 0, 4)), 2), next="a block may go when nothing follows it"),
        scenarios("branches", run, render, (_BRANCH, 1), (_BRANCH, 3), (_BRANCH, 4), (_USED, 2), (_USED, 3),
                  next="after each block, look again which may go"),
        scenarios("how many", run, render, (_TWO, 0), (_CHAIN, 9), ((), 2), (_USED, 4),
                  next="as many as asked for, or as many as may go"),
        Traces("random caches", random_caches, run, render=render, next="run these lines by hand"),
        corners("a list left as it is", run_kept, render, (_TWO, 2), (_CHAIN, 2),
                (((2, None, 0, 5), (7, None, 0, 1)), 1),
                next="work on a copy: left = list(cached)"),
    ),
    mistakes=(
        Mistake(most_recent, "Evicts the most recently used. That one is the likeliest to be asked for again.",
                next="the smallest last_used goes first"),
        Mistake(heads_first,
                "Evicts a head before its tail. A chain is found from its head, so the tail is lost, and still takes "
                "room.", next="a block may go when nothing follows it"),
        Mistake(heads_first_newest, "Evicts a head before its tail, and the most recently used before the least.",
                next="of those that nothing follows, the smallest last_used"),
        Mistake(in_use, "Evicts a block that somebody owns. A running request would read another's tokens.",
                next="leave out what has owners"),
        Mistake(by_time_alone, "Looks at the time alone. A block may have owners, or blocks that follow it.",
                next="first leave out those that may not go, then take the oldest"),
        Mistake(parent_zero_is_none, "Takes parent 0 for none: 0 is false in Python, and block 0 is a block.",
                next="collect every parent; None does no harm among them"),
        Mistake(leaves_at_first,
                "Looks once which blocks have nothing behind them. With a tail gone, the block before it may go too.",
                next="look again after each block"),
        Mistake(reversed_table, "Looks like the list backwards. Its order says nothing about time.",
                next="compare last_used"),
        Mistake(by_number, "Looks like the smallest number goes first. A block's number says nothing about time.",
                next="compare last_used"),
        Mistake(all_of_them, "Evicts all that may go. What need not go may still be found.", next="stop at count"),
        Mistake(all_or_nothing, "Gives nothing if there are fewer than count. The caller can use those as well.",
                next="return as many as may go"),
        Mistake(one_only, "Gives one block, whatever count says.", next="go on until there are count"),
        Mistake(one_too_many, "Evicts one too many.", next="stop at count"),
        Mistake(entries, "Gives whole entries. The question is for the numbers of the blocks.",
                next="return entry.block of each"),
        Mistake(how_many, "Gives how many. The caller must know which.", next="return the list of blocks"),
    ),
    hints=(
        "A chain is looked up from its head. If the head of three blocks is forgotten, of what use are the other two?",
        "Of the blocks that have no owner and that are nobody's parent, take the one with the smallest last_used. Take "
        "it out, and look again: its parent may go now.",
        "while len(gone) < count: parents = {e.parent for e in left}; ends = [e for e in left if ...]; if not ends: "
        "break; oldest = min(ends, key=...)",
    ),
)
