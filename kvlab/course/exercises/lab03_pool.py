"""Lab 03: the block pool."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Property, Traces, Wrong
from kvlab.course.exercises import lab03_pool_counts as counts
from kvlab.course.exercises import lab03_pool_late as late
from kvlab.course.exercises import lab03_pool_mistakes as wrong
from kvlab.course.exercises.pool_bench import run
from kvlab.course.exercises.pool_model import Name, Operation, random_operations, render
from kvlab.course.exercises.scenarios import scenarios


def take(count: int) -> Operation:
    return "take", count


def share(*names: Name) -> Operation:
    return "share", names


def release(*names: Name) -> Operation:
    return "release", names


A0, A1, A2, B0, C0 = (0, 0), (0, 1), (0, 2), (1, 0), (2, 0)


def each_pool_its_own(part: Any) -> None:
    first = part(4)
    first.take(3)
    left = first.num_free
    second = part(4)
    if (first.num_free, second.num_free) != (left, 4):
        raise Wrong(f"with 3 of 4 blocks taken from one pool and none from a second, num_free is {first.num_free} and "
                    f"{second.num_free}, expected 1 and 4.")


def lists_stay_apart(part: Any) -> None:
    pool = part(4)
    first = pool.take(2)
    kept = list(first)
    second = pool.take(2)
    if first != kept:
        raise Wrong(f"a = p.take(2) was {kept}, and after b = p.take(2) the list a is {first}.",
                    next="make a new list in each take")
    pool.release(first + second)
    taken = pool.take(4)
    blocks, given = list(taken), list(taken)
    taken.clear()
    pool.release(given)
    if given != blocks:
        raise Wrong(f"release changed the list it was given: {len(given)} of its {len(blocks)} blocks are left.")
    given.clear()
    if pool.num_free != 4 or sorted(pool.take(4)) != sorted(blocks):
        raise Wrong("after the caller cleared the list it had released, the pool's own blocks are gone.")


BLOCK_POOL = Exercise(
    name="BlockPool", lab="03", part="kvlab.memory.BlockPool", stars=3, core=True, minutes=30,
    checks=(
        scenarios("take", run, render, (4, (take(1),)),
                  next="take the blocks out of the free ones"),
        Property("each pool its own", each_pool_its_own, next="create the lists in __init__, with self."),
        scenarios("take more", run, render, (4, (take(2), take(2))), (4, (take(0), take(4), take(0))),
                  next="take the blocks out of the free ones"),
        scenarios("release", run, render, (4, (take(2), release(A0, A1))), (4, (take(3), release(A1))), invariant="I1",
                  next="make a block free again when its count reaches 0"),
        scenarios("use again", run, render, (2, (take(2), release(A0), take(1))),
                  (3, (take(3), release(A1, A0), take(2), release(B0))),
                  invariant="I1", next="hand out blocks that were given back"),
        scenarios("share, then release", run, render, (4, (take(2), share(A0))), (4, (take(1), share(A0), release(A0))),
                  (4, (take(1), share(A0), release(A0), release(A0))),
                  (4, (take(1), share(A0), share(A0), release(A0))),
                  (4, (take(2), share(A0, A1, A0), release(A0, A1, A0))), (4, (take(1), share(A0), release(A0, A0))),
                  invariant="I2", next="count the owners of each block"),
        scenarios("too few blocks", run, render, (4, (take(5),)), (4, (take(2), take(3))), (2, (take(2), take(1))),
                  next="look whether there are enough before you take the first"),
        scenarios("free blocks refused", run, render, (4, (take(1), release(A0), release(A0))),
                  (4, (take(1), release(A0), share(A0))),
                  (4, (take(1), share(A0), release(A0), release(A0), release(A0))),
                  next="refuse a block that nobody owns, before anything changes"),
        scenarios("lists refused whole", run, render, (4, (take(1), release(A0, A0))),
                  (4, (take(3), release(A1), release(A0, A1))), (4, (take(3), release(A1), share(A0, A1))),
                  (4, (take(1), share(A0), release(A0, A0, A0))),
                  next="check the whole list first, also blocks that it names twice"),
        Property("lists stay apart", lists_stay_apart, next="copy what you keep, and leave the caller's list alone"),
        Traces("random operations", random_operations, run, render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(wrong.TakesOneByOne,
                "Takes blocks until none is left, and then refuses. The ones it took are lost to everybody.",
                next="look whether there are enough before you take the first"),
        Mistake(wrong.PopsFromEmpty,
                "Nothing looks whether there are enough blocks, so Python's IndexError comes out halfway.",
                next="compare count with what is free, first"),
        Mistake(wrong.GivesWhatThereIs,
                "Gives fewer blocks than asked. The caller would write tokens into blocks it does not have.",
                next="all of them, or OutOfBlocks"),
        Mistake(wrong.ReturnsNone, "Refuses with None. A caller that does not look would go on as if it had blocks.",
                next="raise OutOfBlocks(needed, free)"),
        Mistake(wrong.ReturnsEmpty,
                "Refuses with an empty list. A caller that does not look would go on as if it had blocks.",
                next="raise OutOfBlocks(needed, free)"),
        Mistake(wrong.OtherException,
                "Refuses, but by another name. The scheduler of lab 08 catches OutOfBlocks to make room.",
                next="raise OutOfBlocks(needed, free)"),
        Mistake(wrong.NumbersSwapped,
                "Looks like the two numbers have changed places: first what was needed, then what is free.",
                next="raise OutOfBlocks(needed, free)"),
        Mistake(wrong.KeepsOneBack, "Looks like >= where > is meant: the last free block can be handed out too.",
                invariant="I1",
                next="treat a take of all that is free"),
        Mistake(wrong.NumbersFromOne,
                "Numbers the blocks from 1. Block 0 is a block like any other, and the last is num_blocks - 1.",
                next="start at 0"),
        Mistake(wrong.NeverReuses,
                "Hands out new numbers only, and counts what is given back. Soon the numbers run past the end.",
                next="hand out blocks that were given back"),
        Mistake(wrong.NeverReusesList,
                "Counts what is given back, but hands out new numbers only. Soon they run past the end.",
                next="hand out blocks that were given back"),
        Mistake(counts.FreesAtFirstRelease,
                "Frees a block at the first release, though others own it. Two would write into it.", invariant="I2",
                next="free a block only when its count reaches 0"),
        Mistake(counts.ReleaseForgetsTheFreeList,
                "The count goes down, but the block never becomes free again: a leak.", invariant="I1",
                next="make a block free again when its count reaches 0"),
        Mistake(counts.ResetsToZero, "Sets the count to 0. One owner leaves; the others are still there.",
                invariant="I2", next="take one from the count"),
        Mistake(counts.CountStaysOne, "Sets the count to 2. A third owner makes it 3.", invariant="I2",
                next="add one to the count"),
        Mistake(counts.TakeForgetsTheCount,
                "A block that was taken has no owner in the books. Its count is 1 from then on.", invariant="I2",
                next="set the count in take"),
        Mistake(counts.DoubleFree,
                "A block that is free already goes into the free list again. Two would get it: the double free.",
                invariant="I1", next="refuse a block whose count is 0"),
        Mistake(counts.CountsBelowZero,
                "The count goes below 0: somebody gave back what nobody owned, and nothing says so.", invariant="I2",
                next="refuse a block whose count is 0"),
        Mistake(counts.IgnoresFreeBlocks,
                "Passes over blocks that are free already. That hides a bug of the caller, who frees twice.",
                next="raise UsageError"),
        Mistake(counts.RefusesHalfway, "Refuses in the middle of the list. The blocks before it are gone already.",
                next="check the whole list first, then release"),
        Mistake(counts.ShareHalfway, "Refuses in the middle of the list. The blocks before it have an owner too many.",
                next="check the whole list first, then share"),
        Mistake(late.BothHalfway,
                "Both share and release refuse in the middle of the list. The blocks before it are changed already.",
                next="check the whole list first, in both"),
        Mistake(late.LowersThenLooks,
                "Takes one from a count, and then looks whether it was there. A refusal must leave it as it was.",
                next="check the whole list first, then release"),
        Mistake(late.LowersThenLooksBothHalfway,
                "Takes one from a count, and then looks whether it was there. A refusal must leave it as it was.",
                next="check the whole list first, then release; the same in share"),
        Mistake(late.LowersAllThenLooks,
                "Lowers all counts, and then looks whether it may. A refusal must leave every count as it was.",
                next="check the whole list first, then release"),
        Mistake(late.LowersAllFreesTwice,
                "Lowers all counts before it frees: a block that is named twice is at 0 both times, so freed twice.",
                invariant="I1", next="check the whole list first; then lower and free, block by block"),
        Mistake(counts.RepeatsNotSeen,
                "Looks at each block by itself. A list may name a block more often than it has owners.",
                invariant="I2", next="count how often the list names each block"),
        Mistake(counts.EachOnlyOnce, "Looks like set(blocks). A block that is named twice loses two owners.",
                invariant="I2",
                next="go through the list as it is"),
        Mistake(counts.SharesFreeBlocks,
                "Shares a block that is free. It has an owner now, and take hands it out to another.", invariant="I1",
                next="refuse a block whose count is 0"),
        Mistake(counts.ValueErrors, "Refuses, but by another name. The course's callers know UsageError.",
                next="raise UsageError"),
        Mistake(counts.EmptiesTheCallersList,
                "Takes the blocks out of the list it was given. That list is the caller's block table.",
                next="walk over the list instead of popping from it"),
        Mistake(wrong.ReusesOneList,
                "Returns the same list each time, and fills it anew. The caller keeps the list as its block table.",
                next="make a new list in each take"),
        Mistake(wrong.SaysWhatIsMissing,
                "Says how many are missing. Needed is what was asked for, so that the caller can compare it with free.",
                next="raise OutOfBlocks(count, what is free)"),
        Mistake(wrong.SharedBetweenPools, "Looks like the lists belong to the class. Then all pools share them.",
                next="create them in __init__, with self."),
    ),
    hints=(
        "When a block is given back, how do you know whether somebody else still owns it? And when must you know that?",
        "Two lists are enough: the free blocks, and a count for each block. Every method first looks, refuses if it "
        "must, and only then changes something.",
        "take: if count > len(self.free): raise OutOfBlocks(count, len(self.free)); then pop `count` of them and set "
        "each count to 1. "
        "share: refuse if any count is 0, then add 1 to each. "
        "release: refuse if blocks.count(block) > self.counts[block] for any; then take 1 from each, and append to "
        "free at 0.",
    ),
)
