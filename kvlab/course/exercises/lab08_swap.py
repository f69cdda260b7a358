"""Lab 08: where the blocks of a request that leaves are copied to."""

from __future__ import annotations

from itertools import chain

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises.scenarios import scenarios
from kvlab.course.exercises.swap_bench import random_tables, render, run
from kvlab.errors import OutOfBlocks
from kvlab.memory import swap_plan as finished


def shared_twice(tables, free):
    free = list(free)
    if sum(map(len, tables)) > len(free):
        raise OutOfBlocks(sum(map(len, tables)), len(free))
    moved, copies = [], []
    for table in tables:
        moved.append([free.pop(0) for _ in table])
        copies += zip(table, moved[-1], strict=True)
    return moved, copies


def table_not_shared(tables, free):
    free, seen, moved, copies = list(free), set(), [], []
    if len(set(chain.from_iterable(tables))) > len(free):
        raise OutOfBlocks(len(set(chain.from_iterable(tables))), len(free))
    for table in tables:
        moved.append([])
        for block in table:
            if block not in seen:
                seen.add(block)
                moved[-1].append(free.pop(0))
                copies.append((block, moved[-1][-1]))
    return moved, copies


def copied_again(tables, free):
    moved, copies = finished(tables, free)
    place = dict(copies)
    return moved, [(block, place[block]) for table in tables for block in table]


def wrong_way(tables, free):
    moved, copies = finished(tables, free)
    return moved, [(target, source) for source, target in copies]


def old_tables(tables, free):
    return [list(table) for table in tables], finished(tables, free)[1]


def any_number(tables, free):
    different = list(dict.fromkeys(chain.from_iterable(tables)))
    place = dict(zip(different, free, strict=False))
    return [[place[block] for block in table if block in place] for table in tables], list(place.items())


def same_numbers(tables, free):
    different = list(dict.fromkeys(chain.from_iterable(tables)))
    if len(different) > len(free):
        raise OutOfBlocks(len(different), len(free))
    return [list(table) for table in tables], [(block, block) for block in different]


def counts_entries(tables, free):
    entries = sum(map(len, tables))
    if entries > len(free):
        raise OutOfBlocks(entries, len(free))
    return finished(tables, free)


def first_table_alone(tables, free):
    moved, copies = finished(tables[:1], free)
    return moved, copies


def copies_alone(tables, free):
    return finished(tables, free)[1]


def turned_around(tables, free):
    moved, copies = finished(tables, free)
    return copies, moved


def pops_free(tables, free):
    different = list(dict.fromkeys(chain.from_iterable(tables)))
    if len(different) > len(free):
        raise OutOfBlocks(len(different), len(free))
    place = {block: free.pop(0) for block in different}
    return [[place[block] for block in table] for table in tables], list(place.items())


def never_the_last(tables, free):
    different = list(dict.fromkeys(chain.from_iterable(tables)))
    if len(different) >= len(free):
        raise OutOfBlocks(len(different), len(free))
    return finished(tables, free)


def one_place(tables, free):
    different = list(dict.fromkeys(chain.from_iterable(tables)))
    if len(different) > len(free):
        raise OutOfBlocks(len(different), len(free))
    return [[free[0] for _ in table] for table in tables], [(block, free[0]) for block in different]


_TWO = (((3, 1), (3, 6)), (0, 4, 2, 5))

SWAP_PLAN = Exercise(
    name="swap_plan", lab="08", part="kvlab.memory.swap_plan", stars=3, core=True, minutes=15,
    checks=(
        scenarios("one table", run, render, (((5, 2, 7),), (9, 4, 8)), (((0,),), (3, 1)), (((6, 1),), (2, 8, 0)),
                  next="a free block for each block, and a copy"),
        scenarios("tables that share nothing", run, render, (((5, 2), (7, 1)), (9, 4, 8, 3, 0)),
                  next="go through all tables"),
        scenarios("a shared block", run, render, _TWO, (((3, 1), (3, 1)), (7, 8, 9, 6)),
                  (((4, 2, 0), (4, 2, 1), (4, 5)), (9, 8, 7, 6, 3, 2, 1, 0)), invariant="I2",
                  next="remember where a block went, and name that place again"),
        scenarios("just enough room", run, render, (((3, 1), (3, 6)), (0, 4, 2)), (((3,), (3,), (3,)), (8,)),
                  next="count different blocks"),
        scenarios("too little room", run, render, (((3, 1, 2),), (0, 4)), (((3, 1), (3, 6)), (0, 4)), (((1,),), ()),
                  invariant="I13", next="raise OutOfBlocks(needed, free)"),
        scenarios("nothing to move", run, render, ((), (1, 2)), (((),), (1,)), next="return ([], []) or empty tables"),
        Traces("random tables", random_tables, run, render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(shared_twice,
                "Copies a shared block once for each table. On the host there would be two of it, and later here too.",
                invariant="I2", next="remember where a block went, and name that place again"),
        Mistake(table_not_shared,
                "Copies a shared block once, but leaves it out of the second table. That one would have a gap.",
                invariant="I3", next="name its place in every table that named the block"),
        Mistake(copied_again,
                "Makes the tables share, but lists the copy once for each table. The link would carry it twice.",
                next="one copy for each block"),
        Mistake(wrong_way, "The copies go the wrong way: (source, target), from the tables to the free blocks.",
                next="(block, its new place)"),
        Mistake(old_tables, "Gives the tables as they were. They name blocks of the other pool.",
                next="name the new places"),
        Mistake(any_number, "Moves as many as there is room for. Half a request on the host is of no use.",
                invariant="I13", next="raise OutOfBlocks before anything moves"),
        Mistake(same_numbers, "Keeps the numbers. In the other pool, those blocks may belong to somebody else.",
                next="take targets from free"),
        Mistake(pops_free,
                "Takes the places out of the caller's list. This is a plan: whoever carries it out takes the blocks.",
                invariant="I13", next="work on a copy: free = list(free)"),
        Mistake(never_the_last, "Refuses when the places are just enough. Exactly enough is enough.",
                next="> in place of >="),
        Mistake(counts_entries, "Counts a shared block once for each table. It needs one place.",
                next="count different blocks"),
        Mistake(first_table_alone, "Moves the first table alone.", next="go through all tables"),
        Mistake(copies_alone, "Gives the copies alone. The new tables are needed as well.",
                next="return tables, copies"),
        Mistake(turned_around, "Gives copies, tables. The tables come first.", next="return tables, copies"),
        Mistake(one_place, "Copies everything to the same place. Each block needs one of its own.",
                next="another free block for each"),
    ),
    hints=(
        "Two drafts share their prompt's blocks. How many copies of those should lie on the host? And what do both "
        "tables name there?",
        "List the different blocks, pair each with a free one, and look the new place up for every entry of every "
        "table. Before that, compare the numbers.",
        "different = list(dict.fromkeys(...)); if len(different) > len(free): raise OutOfBlocks(...); place = "
        "dict(zip(different, free))",
    ),
)
