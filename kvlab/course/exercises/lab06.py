"""Lab 06: copy-on-write sampling. Here the fork; every other exercise has a file of its own."""

from __future__ import annotations

from functools import partial

from kvlab.course.declare import Exercise, Mistake, Property, Traces
from kvlab.course.exercises.cow_model import random_operations, render
from kvlab.course.exercises.fork_bench import forgets_nothing_when_refused, run
from kvlab.course.exercises.lab06_append import APPEND_WITH_COW
from kvlab.course.exercises.lab06_beams import BEAM_STEP
from kvlab.course.exercises.lab06_saved import SAVED_BLOCKS
from kvlab.course.exercises.lab06_seeds import SAMPLE_GENERATORS
from kvlab.course.exercises.scenarios import corners, scenarios


def copies_always(table, pool):
    return pool.take(len(table))


def shares_and_copies(table, pool):
    pool.share(table)
    return pool.take(len(table))


def counts_not_raised(table, pool):
    return list(table)


def same_list(table, pool):
    pool.share(table)
    return table


def same_list_uncounted(table, pool):
    return table


def last_block_only(table, pool):
    pool.share(table[-1:])
    return list(table)


def all_but_the_last(table, pool):
    pool.share(table[:-1])
    return list(table)


def last_block_copied(table, pool):
    pool.share(table[:-1])
    return table[:-1] + pool.take(min(1, len(table)))


def full_blocks_only(table, pool):
    pool.share(table[:-1])
    return table[:-1]


def parent_gives_up(table, pool):
    pool.share(table)
    pool.release(table)
    return list(table)


def shares_twice(table, pool):
    pool.share(table)
    pool.share(table)
    return list(table)


def nothing_returned(table, pool):
    pool.share(table)


def both_tables(table, pool):
    pool.share(table)
    return [table, list(table)]


def adds_to_the_parent(table, pool):
    pool.share(table)
    child = table
    child += table
    return child


def one_by_one(table, pool):
    child = []
    for block in table:
        pool.share([block])
        child.append(block)
    return child


START = ("start", 6)  # two blocks of 4, the second half full

FORK = Exercise(
    name="fork", lab="06", part="kvlab.memory.fork", stars=1, core=True, minutes=5,
    checks=(
        scenarios("same blocks", run, render, (4, 6, (START, ("fork", 0))), (4, 6, (("start", 3), ("fork", 0))),
                  next="name the same blocks, and count their new owner"),
        scenarios("several forks", run, render, (4, 6, (START, ("fork", 0), ("fork", 0), ("fork", 0))),
                  (4, 6, (START, ("fork", 0), ("fork", 1))), (2, 6, (("start", 5), ("fork", 0), ("fork", 1))),
                  next="one more owner for each block and each fork"),
        scenarios("no free block", run, render, (4, 2, (START, ("fork", 0))), next="take nothing from the pool"),
        scenarios("parents may leave", run, render, (4, 4, (START, ("fork", 0), ("free", 0), ("fork", 1))),
                  (4, 4, (START, ("fork", 0), ("free", 1), ("free", 0))),
                  next="one more owner for each block and each fork"),
        corners("empty table", run, render, (4, 2, (("start", 0), ("fork", 0))), next="treat a table without blocks"),
        Property("refused whole", forgets_nothing_when_refused, next="share the whole table in one call"),
        Traces("random forks", partial(random_operations, ("fork", "fork", "free")), run, render=render,
               next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(copies_always,
                "Takes new blocks for the child. That is the copy that sharing is there to avoid: nothing differs yet.",
                next="name the same blocks, and take none"),
        Mistake(shares_and_copies,
                "Shares the blocks and takes new ones as well. The child needs no block of its own yet.",
                next="return a list of the same blocks"),
        Mistake(counts_not_raised,
                "The child names the blocks, and the pool does not know. When the parent leaves, they are handed out "
                "to others.", invariant="I2", next="pool.share the blocks"),
        Mistake(same_list, "Returns the parent's own list. What is appended for one is then appended for both.",
                next="return a new list: list(table)"),
        Mistake(same_list_uncounted,
                "Gives the parent's list another name. There is still one table, and the pool counts one owner.",
                next="share the blocks, and return list(table)"),
        Mistake(last_block_only, "Shares the last block alone. The child owns every block that its table names.",
                invariant="I2", next="share the whole table"),
        Mistake(all_but_the_last,
                "Leaves the last block out. The child reads it as well, until somebody writes into it.",
                invariant="I2", next="share the whole table"),
        Mistake(last_block_copied,
                "Copies the last block at once. Who knows whether the child ever writes? Copy at the write.",
                next="share the last block too"),
        Mistake(full_blocks_only, "The child has lost the tokens of the last block. It begins with all its parent has.",
                invariant="I3", next="name the same blocks, the last one too"),
        Mistake(parent_gives_up, "Takes the parent's hold away again. Both own the blocks from now on.",
                invariant="I2", next="share, and release nothing"),
        Mistake(shares_twice, "Counts two new owners. The parent is counted already; only the child comes on top.",
                invariant="I2", next="share once"),
        Mistake(nothing_returned,
                "The owners are counted, but the child gets no table. pool.share itself returns nothing.",
                next="share first, then return list(table)"),
        Mistake(both_tables, "Returns both tables. The parent has its own already.", next="return the child's alone"),
        Mistake(adds_to_the_parent, "child = table is no copy: the parent's list grows with it.",
                next="begin with child = list(table)"),
        Mistake(one_by_one, "Shares block by block. When the pool refuses one, those before it have an owner too many.",
                invariant="I13", next="share the whole table in one call"),
    ),
    hints=(
        "The child is to read the very same tokens. Which blocks does its table name, and who has to know that?",
        "Two things: one more owner for each block of the table, by pool.share, and a list of the child's own.",
        "pool.share(...); return list(...)",
    ),
)


EXERCISES = [FORK, APPEND_WITH_COW, SAVED_BLOCKS, BEAM_STEP, SAMPLE_GENERATORS]
