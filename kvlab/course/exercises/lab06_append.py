"""Lab 06: a token is written, and the block it goes into may have other owners."""

from __future__ import annotations

from functools import partial

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab06_append_mistakes as wrong
from kvlab.course.exercises import lab06_copy_mistakes as copying
from kvlab.course.exercises.append_cow_bench import run
from kvlab.course.exercises.cow_model import Operation, random_operations, render
from kvlab.course.exercises.scenarios import corners, scenarios
from kvlab.memory import BLOCK_SIZE

FORK: Operation = ("fork", 0)
RANDOM = partial(random_operations, ("write", "write", "write", "fork", "fork", "free"))


COURSE_SIZE = f"Uses BLOCK_SIZE, which is {BLOCK_SIZE}. The blocks here may have another size."


def start(tokens: int) -> Operation:
    return "start", tokens


def write(sequence: int) -> Operation:
    return "write", sequence


APPEND_WITH_COW = Exercise(
    name="append_with_cow", lab="06", part="kvlab.memory.append_with_cow", stars=3, core=True, minutes=20,
    checks=(
        scenarios("nobody else", run, render, (4, 4, (start(6), write(0))), (4, 4, (start(1), write(0), write(0))),
                  next="write in place where the count is 1"),
        scenarios("full block", run, render, (4, 4, (start(4), write(0))), (4, 4, (start(7), write(0), write(0))),
                  (1, 4, (start(2), write(0), write(0))), (8, 4, (start(16), write(0))),
                  next="take a block where the last one is full"),
        scenarios("shared block", run, render, (4, 6, (start(6), FORK, write(1))), (4, 6, (start(6), FORK, write(0))),
                  (2, 6, (start(3), FORK, FORK, write(2))), (4, 6, (start(2), FORK, write(1), write(1))),
                  next="look at the reference count of the last block"),
        scenarios("last owner", run, render, (4, 6, (start(6), FORK, write(1), write(0))),
                  (4, 6, (start(6), FORK, ("free", 0), write(1))),
                  (2, 8, (start(3), FORK, FORK, write(0), write(1), write(2))),
                  next="write in place where the count is 1"),
        scenarios("shared and full", run, render, (4, 6, (start(4), FORK, write(1), write(0))),
                  (2, 8, (start(4), FORK, FORK, write(0), write(2), write(1))), (1, 6, (start(2), FORK, write(1))),
                  next="a full block is not written again, so nothing is copied"),
        scenarios("refusal", run, render, (4, 1, (start(4), write(0))), (4, 2, (start(6), FORK, write(1))),
                  (4, 2, (start(6), FORK, write(0), ("free", 1), write(0))), (4, 1, (start(4), FORK, write(1))),
                  (4, 1, (start(3), write(0))),
                  next="let the pool refuse before you change anything"),
        corners("first token", run, render, (4, 4, (start(0), write(0))), next="treat a table without blocks"),
        Traces("random forks and writes", RANDOM, run, render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(copying.copies_always, "Copies although nobody else owns the block. The last owner writes in place.",
                next="copy only where the count is above 1"),
        Mistake(copying.never_copies, "Writes into a block that others own. They read it as their own past.",
                invariant="I5", next="look at pool.ref_count(table[-1])"),
        Mistake(copying.only_from_three_owners,
                "Copies from three owners on. With two, one of them is somebody else already.", invariant="I5",
                next="copy where the count is above 1"),
        Mistake(copying.copies_full_blocks_too,
                "Copies a full block before it adds a new one. Nobody writes into a full block again, so it can stay "
                "shared for ever.", next="where the last block is full, only take a new one"),
        Mistake(copying.copies_a_full_block_instead,
                "Asks first whether the last block is shared. If it is full as well, the token needs a new block, and "
                "nothing is copied.", next="ask first whether the last block is full"),
        Mistake(copying.if_any_block_is_shared,
                "Copies because an earlier block is shared. The token goes into the last one; others are only read.",
                next="look at table[-1] alone"),
        Mistake(copying.looks_at_the_first_block,
                "Copies because an earlier block is shared. The token goes into the last one; others are only read.",
                next="look at table[-1] alone"),
        Mistake(copying.old_block_not_released,
                "The old block keeps an owner that has left it. When all others are gone, it never becomes free: a "
                "leak.", invariant="I2", next="release the old block once the new one is there"),
        Mistake(copying.releases_before_the_pool_agrees,
                "Lets go of the old block before the pool has given the new one. If it refuses, the table still names "
                "a block that it does not own.", invariant="I13", next="take first, then release"),
        Mistake(copying.shortens_before_the_pool_agrees,
                "Takes the old block out of the table before the pool has given the new one. If it refuses, the last "
                "tokens are lost.", invariant="I13", next="take first, then change the table"),
        Mistake(copying.releases_before_it_looks,
                "Releases first and looks then. Where nobody else owned the block, it is free now, and the table "
                "still names it.", invariant="I2", next="look at the count first"),
        Mistake(copying.takes_first_and_perhaps_for_nothing,
                "Takes a block for every token. Where it is not needed, it stays in nobody's table.", invariant="I2",
                next="find out whether a block is needed, then take it"),
        Mistake(copying.adds_beside_the_old_block,
                "Adds the copy behind the old block. It takes its place: both hold the same tokens.", invariant="I3",
                next="table[-1] = the new block"),
        Mistake(wrong.copies_the_other_way,
                "The copy goes the wrong way. Carried out, it would overwrite the others' tokens with nothing.",
                next="return (old block, new block)"),
        Mistake(wrong.no_copy_said,
                "The table names the new block, but nobody is told to fill it. The tokens before this one are missing "
                "there.", next="return (old block, new block) as the copy"),
        Mistake(wrong.slot_in_the_old_block,
                "Gives a slot of the old block, although the table names the new one. The token would land among the "
                "others'.", invariant="I4", next="compute the slot after the table has changed"),
        Mistake(wrong.slot_alone, "Returns the slot alone. Whoever carries the plan out must also know what to copy.",
                next="return slot, copy"),
        Mistake(wrong.offset_for_slot, "Gives the place inside the block. A slot is block * block_size + offset.",
                invariant="I4", next="add table[-1] * block_size"),
        Mistake(wrong.block_for_slot, "Gives the block. A slot is block * block_size + offset.", invariant="I4",
                next="make a slot of it"),
        Mistake(wrong.position_for_slot,
                "Gives the token's position. Its slot depends on where the table puts its block.", invariant="I4",
                next="use table[-1]"),
        Mistake(wrong.slot_of_the_token_before,
                "Gives the slot of the token before. Counted from 0, the new token is token num_tokens.",
                next="use num_tokens % block_size"),
        Mistake(wrong.never_takes,
                "Never takes a block where the last one is full. The token would land on the first one of that block.",
                invariant="I3", next="ask whether num_tokens % block_size is 0"),
        Mistake(wrong.one_token_too_late,
                "Looks like (num_tokens + 1) % block_size: a block is full when num_tokens itself is a multiple.",
                invariant="I3", next="ask whether num_tokens % block_size is 0"),
        Mistake(wrong.course_block_size, COURSE_SIZE, invariant="I4", next="use the argument block_size"),
        Mistake(wrong.course_block_size_for_slot, COURSE_SIZE, invariant="I4", next="use the argument block_size"),
        Mistake(wrong.course_block_size_for_full, COURSE_SIZE, invariant="I4", next="use the argument block_size"),
        Mistake(wrong.counts_from_one, "Counts from 1. The token after 6 tokens is number 6: they are numbers 0 to 5.",
                invariant="I4", next="use num_tokens itself"),
        Mistake(wrong.new_list, "Changes a copy of the table. The caller's own still names the old blocks.",
                next="change table in place"),
        Mistake(wrong.new_list_where_shared,
                "Makes a new list where the block is replaced. The caller's own still names the old block.",
                next="table[-1] = the new block"),
        Mistake(wrong.swallows, "Catches OutOfBlocks and returns None. The caller would believe that all went well.",
                next="let the exception pass"),
        Mistake(wrong.writes_in_place_when_refused,
                "Catches OutOfBlocks and writes all the same, over somebody's tokens.", invariant="I5",
                next="let the exception pass"),
        Mistake(copying.shares_the_new_block, "Counts a second owner of the new block. take has counted one already.",
                invariant="I2", next="take alone is enough"),
        Mistake(copying.releases_the_whole_table,
                "Lets go of the whole table. Only its last block is replaced; the others stay in use.", invariant="I2",
                next="release the old last block alone"),
    ),
    hints=(
        "A token is to be written. When does it need a new block although the last one has room? And when does it need "
        "no copy although the last block is shared?",
        "First the question of the full block, then that of the owners. And which of take, release and the write into "
        "table can fail? That one comes first, and the number of the old block must be kept from being lost.",
        "if num_tokens % block_size == 0: table += pool.take(1). elif pool.ref_count(table[-1]) > 1: fresh = "
        "pool.take(1)[0]; copy = (table[-1], fresh); release the old; table[-1] = fresh. Then return the slot and copy",
    ),
)
