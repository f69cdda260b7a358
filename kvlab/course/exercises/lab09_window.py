"""Lab 09: blocks that no window shows any more go back to the pool."""

from __future__ import annotations

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab09_window_mistakes as wrong
from kvlab.course.exercises.lab09_window_bench import NULL, PLACES, Talk, random_talks, releases, render, run
from kvlab.course.exercises.scenarios import corners

_SEEN = "the next query sees position num_tokens - window + 1 and later"
_WHOLE = "count only blocks of which every token is out of sight: round down"
_ONCE = "leave entries alone that are null_block already"


_ZERO = "Takes block 0 for the null block. Which one it is stands in null_block."
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
        releases("another null block", Talk((9, 14), 6, null_block=2), Talk((12,), 4, 2, null_block=3),
                 next="compare with null_block and write it, whatever its number"),
        corners("a window of one", run, render, Talk((4, 8), 1), Talk((1, 2, 3), 1, 1), next=_SEEN),
        Traces("random talks", random_talks, run, render=render, next="draw the last row by hand"),
    ),
    mistakes=(
        Mistake(wrong.one_early,
                "Releases one token too early: the next query still sees position num_tokens - window + 1.",
                invariant="I6", next=_SEEN),
        Mistake(wrong.one_late,
                "Releases one token too late. The next query counts itself: it sees only window - 1 before it.",
                next=_SEEN),
        Mistake(wrong.two_late, "Keeps two tokens more than the next query sees.", next=_SEEN),
        Mistake(wrong.rounds_up, "Rounds up. A block with a single token in sight has to stay.", invariant="I6",
                next=_WHOLE),
        Mistake(wrong.blocks_of_the_window, _WINDOW, next=_SEEN),
        Mistake(wrong.blocks_of_the_window_down, _WINDOW, next=_SEEN),
        Mistake(wrong.pops,
                "Takes the entries out of the table. Then position p is no longer in entry p // block_size.",
                invariant="I4", next=PLACES),
        Mistake(wrong.null_is_nobodys,
                "The table names the null block and does not hold it. When the sequence ends, that is one release too "
                "many.", invariant="I2", next=NULL),
        Mistake(wrong.null_shared_once, "Holds the null block once for several entries. Each entry is a holder.",
                invariant="I2", next=NULL),
        Mistake(wrong.never_released, "The blocks leave the table and are never released: a leak.", invariant="I2",
                next="release them"),
        Mistake(wrong.only_released,
                "Releases blocks that the table still names. Somebody else will take them, and be read.",
                invariant="I2", next=PLACES),
        Mistake(wrong.counts_all, "Returns all that have gone so far. Asked for is how many went now.",
                next="return how many went in this call"),
        Mistake(wrong.one_a_call, "Releases one block a call. After a long prompt, many are behind the window at once.",
                next="go through all blocks behind the window"),
        Mistake(wrong.negative,
                "A sequence shorter than its window gives a negative number, and a slice with that counts from the "
                "end.", next="use max(0, ...)"),
        Mistake(wrong.only_own_blocks, "Keeps blocks that others hold too. Each holder leaves on its own.",
                invariant="I2", next="take one holder off, whoever else holds it"),
        Mistake(wrong.null_is_zero, _ZERO, next="use null_block"),
        Mistake(wrong.zero_is_null, _ZERO, next="use null_block"),
        Mistake(wrong.a_new_table, "Changes a copy of the table. The sequence goes on with the old one.",
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
