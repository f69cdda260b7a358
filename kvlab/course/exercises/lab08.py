"""Lab 08: scheduling and preemption. Here who is admitted; the other exercises have files of their own."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises.lab08_costs import RECOMPUTE_SECONDS, SWAP_SECONDS
from kvlab.course.exercises.lab08_steps import SCHEDULE_STEP
from kvlab.course.exercises.lab08_swap import SWAP_PLAN
from kvlab.course.exercises.lab08_victim import CHOOSE_VICTIM


def _up(tokens, block_size):
    return -(-tokens // block_size)


def _admit(waiting, free, spare, block_size, running, need=lambda p, a, b: _up(p + a, b), lower=True):
    """The right loop, with another need, or without counting what the others took."""
    left = free
    for count, (prompt, answered) in enumerate(waiting):
        rest = left - need(prompt, answered, block_size)
        if rest < (spare if running + count else 0):
            return count
        left = rest if lower else left
    return len(waiting)


def watermark_forgotten(waiting, free, spare, block_size, running):
    return _admit(waiting, free, 0, block_size, running)


def prompt_alone(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running, need=lambda p, a, b: _up(p, b))


def first_block_alone(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running, need=lambda p, a, b: 1)


def rounded_down(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running, need=lambda p, a, b: (p + a) // b)


def one_block_more(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running, need=lambda p, a, b: (p + a) // b + 1)


def tokens_for_blocks(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running, need=lambda p, a, b: p + a)


def each_rounded(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running, need=lambda p, a, b: _up(p, b) + _up(a, b))


def same_room_for_all(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running, lower=False)


def past_the_head(waiting, free, spare, block_size, running):
    count = 0
    for prompt, answered in waiting:
        need = _up(prompt + answered, block_size)
        if free - need >= (spare if running + count else 0):
            free -= need
            count += 1
    return count


def watermark_for_a_lone_one(waiting, free, spare, block_size, running):
    for count, (prompt, answered) in enumerate(waiting):
        free -= _up(prompt + answered, block_size)
        if free < spare:
            return count
    return len(waiting)


def watermark_each_time(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare, block_size, running,
                  need=lambda p, a, b: _up(p + a, b) + (spare if running else 0))


def watermark_only_if_some_ran(waiting, free, spare, block_size, running):
    return _admit(waiting, free, spare if running else 0, block_size, running)


def never_the_last_block(waiting, free, spare, block_size, running):
    for count, (prompt, answered) in enumerate(waiting):
        free -= _up(prompt + answered, block_size)
        if free <= (spare if running + count else 0):
            return count
    return len(waiting)


def room_unasked_when_idle(waiting, free, spare, block_size, running):
    for count, (prompt, answered) in enumerate(waiting):
        free -= _up(prompt + answered, block_size)
        if running + count and free < spare:
            return count
    return len(waiting)


def one_only(waiting, free, spare, block_size, running):
    return min(1, _admit(waiting, free, spare, block_size, running))


def all_or_nothing(waiting, free, spare, block_size, running):
    count = _admit(waiting, free, spare, block_size, running)
    return count if count == len(waiting) else 0


_FULL = "blocks for prompt + answered"

ADMIT = Exercise(
    name="admit", lab="08", part="kvlab.serve.admit", stars=2, core=True, minutes=12,
    checks=(
        Cases("as many as fit", ([(30, 0), (17, 0), (40, 0)], 5, 0, 16, 1), ([(5, 0), (5, 0), (5, 0)], 2, 0, 16, 1),
              ([(16, 0), (32, 0)], 3, 0, 16, 1), ([(33, 0)], 2, 0, 16, 1),
              next="count off the blocks of each, and stop when they run out"),
        Cases("the whole sequence", ([(16, 40), (10, 0)], 3, 0, 16, 1), ([(8, 7), (8, 0)], 2, 0, 16, 1),
              ([(10, 30)], 2, 0, 16, 3), next=_FULL),
        Cases("first come", ([(64, 0), (5, 0)], 3, 0, 16, 2), ([(5, 0), (64, 0), (5, 0)], 4, 0, 16, 2), invariant="I11",
              next="stop at the first that does not fit"),
        Cases("the watermark", ([(30, 0), (30, 0)], 4, 1, 16, 1), ([(30, 0), (10, 0), (10, 0)], 5, 2, 16, 1),
              ([(30, 0)], 4, 2, 16, 1), ([(16, 0), (16, 0), (16, 0)], 5, 2, 16, 3),
              next="after each, at least spare blocks are free"),
        Cases("nobody runs", ([(60, 0)], 4, 2, 16, 0), ([(60, 0), (5, 0)], 5, 2, 16, 0),
              ([(30, 0), (30, 0)], 4, 1, 16, 0),
              invariant="I10", next="one alone may use the spare blocks too"),
        Cases("nobody runs, and still no room", ([(100, 0)], 2, 0, 16, 0), ([(70, 0), (5, 0)], 4, 1, 16, 0),
              next="nothing has to be spared for a lone one, and its own blocks must be free all the same"),
        Cases("nobody waits", ([], 4, 1, 16, 1), next="return 0"),
    ),
    mistakes=(
        Mistake(watermark_forgotten,
                "Leaves no block spare. Those who run need their next block soon, and somebody would have to leave.",
                next="after each, at least spare blocks are free"),
        Mistake(prompt_alone,
                "Counts the prompt's blocks alone. Who was preempted has answered some, and all of it must fit.",
                next=_FULL),
        Mistake(first_block_alone,
                "Asks for one block each. The whole sequence must fit, or it would be stuck halfway.", next=_FULL),
        Mistake(rounded_down, "Rounds down. The last block is needed even if it is not full.", invariant="I3",
                next="round up"),
        Mistake(one_block_more, "Adds a block even when the last one is exactly full.", invariant="I3",
                next="treat the exact multiple"),
        Mistake(tokens_for_blocks, "Counts tokens where blocks are meant.", next="divide by block_size, and round up"),
        Mistake(each_rounded, "Rounds prompt and answer up separately. They lie behind each other in the same blocks.",
                invariant="I3", next="add first, then round up"),
        Mistake(same_room_for_all,
                "Gives everybody the same blocks. What the first takes is gone when the second is looked at.",
                next="lower free after each"),
        Mistake(past_the_head, "Goes past one that does not fit. Short requests would overtake a long one for ever.",
                next="stop at the first that does not fit"),
        Mistake(watermark_for_a_lone_one,
                "Keeps the spare blocks free although nobody runs. A large request would wait for ever.",
                invariant="I10", next="the first may use them all if running is 0"),
        Mistake(room_unasked_when_idle,
                "Asks for no room at all if nobody runs. The spare blocks may be used then, but there must be enough "
                "of them.", next="compare with 0 in place of spare"),
        Mistake(watermark_each_time, "Takes the spare blocks off for each request. They are the same blocks.",
                next="compare what is left with spare"),
        Mistake(watermark_only_if_some_ran,
                "Looks at who ran before. Once the first is admitted somebody runs, and the second must leave spare "
                "blocks.", next="count those that were just admitted as running"),
        Mistake(never_the_last_block, "Never uses the last block that is left. Exactly enough is enough.",
                next="< in place of <="),
        Mistake(one_only, "Admits one at a time. Each step could take several.", next="go on until one does not fit"),
        Mistake(all_or_nothing, "Admits all or nobody. Those at the head that fit can begin.",
                next="return how many fitted"),
    ),
    hints=(
        "Somebody was preempted after 40 tokens of answer. How many blocks must be free before it comes back? And who "
        "needs blocks right after?",
        "Walk from the head. Take off the blocks of prompt and answer together. If what is left is below spare, stop; "
        "if nobody runs yet, nothing has to be spared.",
        "for count, (prompt, answered) in enumerate(waiting): free -= ...; if free < (spare if running + count else 0)"
        ": return count",
    ),
)

EXERCISES = [ADMIT, SCHEDULE_STEP, CHOOSE_VICTIM, RECOMPUTE_SECONDS, SWAP_SECONDS, SWAP_PLAN]
