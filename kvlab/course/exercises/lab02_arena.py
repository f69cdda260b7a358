"""Lab 02: the contiguous arena."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Property, Traces, Wrong
from kvlab.course.exercises import lab02_arena_joins as joins
from kvlab.course.exercises import lab02_arena_mistakes as wrong
from kvlab.course.exercises.arena_model import ArenaModel, random_operations, render, run, same_holes
from kvlab.course.exercises.scenarios import scenarios


def take(size: int) -> tuple[str, int]:
    return "allocate", size


def give(start: int) -> tuple[str, int]:
    return "free", start


def each_arena_its_own(part: Any) -> None:
    first, model = part(10), ArenaModel(10)
    first.allocate(4)
    model.allocate(4)
    second = part(10)
    try:
        same_holes(second, ArenaModel(10), "a new arena")
    except Wrong:
        raise Wrong("after allocate(4) in one arena, a second, new arena is not empty.") from None
    try:
        same_holes(first, model, "a second arena")
    except Wrong:
        raise Wrong("after allocate(4) in one arena, making a second arena changes the first.") from None


FIRST_FIT_ARENA = Exercise(
    name="FirstFitArena", lab="02", part="kvlab.memory.FirstFitArena", stars=3, core=True, minutes=20,
    checks=(
        scenarios("first piece", run, render, (10, (take(4),)), next="cut the piece from the start of the hole"),
        Property("each arena its own", each_arena_its_own, next="create the lists in __init__, with self."),
        scenarios("next pieces", run, render, (10, (take(4), take(3))),
                  next="cut the piece from the start of the hole"),
        scenarios("exact fit", run, render, (8, (take(8),)), (8, (take(3), take(5))),
                  next="treat a piece as long as the hole"),
        scenarios("free", run, render, (8, (take(3), take(5), give(0))), (9, (take(3), take(3), give(0), take(2))),
                  next="turn the piece back into a hole"),
        scenarios("joins its right neighbour", run, render,
                  (12, (take(4), take(4), take(4), give(4), give(0))), (9, (take(4), give(0))),
                  next="look at the hole that starts where the freed piece ends"),
        scenarios("joins its left neighbour", run, render, (12, (take(4), take(4), take(4), give(0), give(4))),
                  next="look at the hole that ends where the freed piece starts"),
        scenarios("joins both", run, render, (12, (take(4), take(4), take(4), give(0), give(8), give(4))),
                  (12, (take(4), take(4), take(4), give(0), give(8), give(4), take(12))),
                  next="a freed piece can touch a hole on each side"),
        scenarios("lowest hole first", run, render,
                  (20, (take(6), take(2), take(3), take(9), give(0), give(8), take(3))),
                  (20, (take(3), take(2), take(6), take(9), give(0), give(5), take(2))),
                  (12, (take(3), take(3), take(3), give(6), give(0), take(2))),
                  (12, (take(2), take(2), take(2), give(0), take(3), take(2))),
                  next="look through the holes from slot 0 on, and take the first that is long enough"),
        scenarios("refuses", run, render, (8, (take(9),)), (8, (take(5), take(4), take(3))), (4, (take(4), take(1))),
                  (12, (take(4), take(4), take(4), give(0), give(8), take(5))),
                  (12, (take(5), take(3), take(4), give(0), give(8), take(6))),
                  next="look before you change anything"),
        scenarios("unknown piece", run, render, (8, (take(4), take(4), give(0), give(0))),
                  (8, (take(4), give(2))), (8, (take(4), give(6))),
                  next="check that a piece starts there before you change anything"),
        Traces("random operations", random_operations, run, render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(wrong.SharedBetweenArenas, "Looks like the lists belong to the class. Then all arenas share them.",
                next="create them in __init__, with self."),
        Mistake(wrong.BestFit,
                "Looks like best fit, which takes the smallest hole that is long enough. First fit takes the lowest.",
                next="stop at the first hole that is long enough"),
        Mistake(wrong.WorstFit, "Looks like the largest hole is taken. First fit takes the lowest that is long enough.",
                next="stop at the first hole that is long enough"),
        Mistake(wrong.FromTheEnd,
                "Cuts the piece from the end of the hole. It goes at the start, and the rest stays a hole.",
                next="start the piece where the hole starts"),
        Mistake(joins.NeverJoins,
                "Nothing is coalesced: holes that touch stay apart, and a long newcomer fits in neither.",
                next="join holes that touch"),
        Mistake(joins.JoinsRightOnly, "Joins the hole on the right of the freed piece, but not the one on its left.",
                next="look at the hole that ends where the freed piece starts"),
        Mistake(joins.JoinsLeftOnly, "Joins the hole on the left of the freed piece, but not the one on its right.",
                next="look at the hole that starts where the freed piece ends"),
        Mistake(joins.JoinsOneSide,
                "Joins one neighbour and stops. A piece between two holes makes all three one hole.",
                next="join the second neighbour too"),
        Mistake(joins.JoinsRightOrLeft,
                "Joins one neighbour and stops. A piece between two holes makes all three one hole.",
                next="join the second neighbour too"),
        Mistake(wrong.EmptyHoles, "Keeps a hole of 0 slots when a piece fills its hole exactly.",
                next="drop a hole that is used up"),
        Mistake(wrong.ExactFitRefused,
                "Looks like > where >= is meant: a hole of exactly the right size is long enough.",
                next="treat a piece as long as the hole"),
        Mistake(joins.HolesInOrderOfFreeing,
                "Puts freed pieces at the end of the list. Then the first in the list need not be the lowest.",
                next="keep the holes sorted by start"),
        Mistake(wrong.RestAtTheEnd,
                "Puts the rest of a hole at the end of the list. Then the first in the list need not be the lowest.",
                next="keep the holes sorted after allocate too"),
        Mistake(wrong.FreeAndLargestSwapped,
                "Looks like free and largest have changed places in OutOfMemory(needed, free, largest).",
                next="give the free slots in all first, then the largest hole"),
        Mistake(wrong.HighestForLargest,
                "Takes the hole that lies highest for the largest: max(holes), for one, compares starts first.",
                next="take the maximum of the sizes"),
        Mistake(joins.DeletesWhileWalking,
                "The list gets shorter while the loop counts to its old length, so an index runs past the end.",
                next="build a new list, or walk with while and look at the length each time"),
        Mistake(wrong.MaxOfNothing,
                "When nothing is free, max() gets an empty list and raises ValueError in place of your OutOfMemory.",
                next="use max(lengths, default=0)"),
        Mistake(wrong.NeverReuses, "Looks like a pointer that only moves up. Freed pieces are never handed out again.",
                next="look through the holes for every piece"),
        Mistake(wrong.CountsFreeSlots, "Looks at the free slots in all. A piece needs them side by side, in one hole.",
                next="compare with each hole, not with their sum"),
        Mistake(wrong.ReturnsNone,
                "A piece that fits nowhere is answered with None. The caller would take it for a place.",
                next="raise OutOfMemory(needed, free, largest)"),
        Mistake(wrong.OtherException,
                "Refuses, but by another name. Callers catch OutOfMemory to wait, and let the rest pass as bugs.",
                next="raise OutOfMemory(needed, free, largest)"),
        Mistake(wrong.FreesTwice, "A piece that was freed before is freed again, so its slots are in `holes` twice.",
                invariant="I1", next="forget the piece when it is freed, and refuse what is not there"),
        Mistake(wrong.IgnoresUnknown,
                "Does nothing for a piece that is not there. That hides a bug of the caller, who frees twice.",
                next="raise UsageError if no piece starts there"),
        Mistake(wrong.KeyErrorForUnknown, "Refuses an unknown piece, but with KeyError. Callers know UsageError.",
                next="look before you pop, and raise UsageError"),
    ),
    hints=(
        "Draw 12 slots with pieces at 0, 4 and 8. Free the first, the last, then the middle one: what does `holes` "
        "say after each?",
        "Keep two things: the sorted list of holes, and the size of each piece by its start. allocate cuts the first "
        "hole that is long "
        "enough; free puts the piece back as a hole, sorts, and joins neighbours where one ends and the next starts.",
        "free: size = self.sizes.pop(start), add (start, size) to the holes and sort them. Then walk through them: if "
        "the last one of the "
        "new list ends (start + size) where this one starts, make the two one hole; else append it.",
    ),
)
