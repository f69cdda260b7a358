"""Lab 07: sharing prefixes. Here the longest hit; every other exercise has a file of its own."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises.lab07_evict import EVICT
from kvlab.course.exercises.lab07_hashes import BLOCK_HASHES
from kvlab.course.exercises.lab07_order import PICK_NEXT
from kvlab.course.exercises.lab07_radix import RADIX_INSERT, RADIX_MATCH


def _run(hashes, block_of):
    """The blocks up to the first miss."""
    blocks = []
    for key in hashes:
        if key not in block_of:
            break
        blocks.append(block_of[key])
    return blocks


def _limit(num_tokens, block_size):
    return max(0, num_tokens - 1) // block_size


def leaves_nothing(hashes, block_of, num_tokens, block_size):
    return _run(hashes, block_of)


def past_the_miss(hashes, block_of, num_tokens, block_size):
    return [block_of[key] for key in hashes[: _limit(num_tokens, block_size)] if key in block_of]


def past_the_miss_leaves_nothing(hashes, block_of, num_tokens, block_size):
    return [block_of[key] for key in hashes if key in block_of]


def always_one_less(hashes, block_of, num_tokens, block_size):
    return _run(hashes, block_of)[:-1]


def all_but_the_last_block(hashes, block_of, num_tokens, block_size):
    return _run(hashes[:-1], block_of)


def block_zero_is_none(hashes, block_of, num_tokens, block_size):
    blocks = []
    for key in hashes[: _limit(num_tokens, block_size)]:
        if not block_of.get(key):
            break
        blocks.append(block_of[key])
    return blocks


def block_zero_leaves_nothing(hashes, block_of, num_tokens, block_size):
    blocks = []
    for key in hashes:
        if not block_of.get(key):
            break
        blocks.append(block_of[key])
    return blocks


def the_number(hashes, block_of, num_tokens, block_size):
    return len(_run(hashes[: _limit(num_tokens, block_size)], block_of))


def tokens_found(hashes, block_of, num_tokens, block_size):
    return block_size * len(_run(hashes[: _limit(num_tokens, block_size)], block_of))


def the_hashes(hashes, block_of, num_tokens, block_size):
    return hashes[: len(_run(hashes[: _limit(num_tokens, block_size)], block_of))]


def nothing_if_full(hashes, block_of, num_tokens, block_size):
    found = _run(hashes, block_of)
    return [] if len(found) * block_size == num_tokens else found


def last_block_alone(hashes, block_of, num_tokens, block_size):
    return _run(hashes[: _limit(num_tokens, block_size)], block_of)[-1:]


def with_none(hashes, block_of, num_tokens, block_size):
    return [block_of.get(key) for key in hashes[: _limit(num_tokens, block_size)]]


def all_or_nothing(hashes, block_of, num_tokens, block_size):
    wanted = hashes[: _limit(num_tokens, block_size)]
    found = _run(wanted, block_of)
    return found if len(found) == len(wanted) else []


def takes_them_out(hashes, block_of, num_tokens, block_size):
    return [block_of.pop(key) for key in hashes[: len(_run(hashes[: _limit(num_tokens, block_size)], block_of))]]


_BOOK = {"a": 7, "b": 0, "c": 5}

LONGEST_HIT = Exercise(
    name="longest_hit", lab="07", part="kvlab.memory.longest_hit", stars=2, core=True, minutes=8,
    checks=(
        Cases("a beginning is known", (["a", "c", "x"], _BOOK, 14, 4), (["a", "x"], _BOOK, 9, 4),
              next="collect blocks until one is missing"),
        Cases("nothing is known", (["x"], _BOOK, 6, 4), ([], _BOOK, 3, 4), (["a"], {}, 6, 4), next="return []"),
        Cases("a miss in between", (["a", "x", "c"], _BOOK, 14, 4), (["x", "a"], _BOOK, 9, 4),
              invariant="I9", next="stop at the first block that is missing"),
        Cases("everything is known, and more comes", (["a", "c"], _BOOK, 9, 4), (["a", "c"], _BOOK, 11, 4),
              (["a"], _BOOK, 5, 4), next="a block is left out only if no token came after it"),
        Cases("a full hit", (["a", "c"], _BOOK, 8, 4), (["a"], _BOOK, 4, 4), (["a", "x"], _BOOK, 8, 4),
              (["c", "a"], _BOOK, 2, 1), invariant="I7",
              next="look at the first (num_tokens - 1) // block_size hashes"),
        Cases("block 0", (["b", "a"], _BOOK, 9, 4), (["a", "b", "c"], _BOOK, 12, 4),
              next="ask `key not in block_of`: block 0 is a block like any other"),
    ),
    mistakes=(
        Mistake(leaves_nothing, "A prompt whose blocks are all known leaves no token to compute, and so no next token.",
                invariant="I7", next="look at the first (num_tokens - 1) // block_size hashes"),
        Mistake(past_the_miss,
                "Goes on after a miss. The table would have a gap, and what is behind it would be in the wrong place.",
                next="stop at the first block that is missing"),
        Mistake(past_the_miss_leaves_nothing,
                "Goes on after a miss, and leaves no token to compute if all blocks are known.",
                next="stop at the first block that is missing"),
        Mistake(always_one_less, "Always gives up the last block. That is needed only when no token comes after it.",
                next="give it up only if the hit is the whole prompt"),
        Mistake(all_but_the_last_block,
                "Never looks at the last full block. It may be used whenever a token comes after it.",
                next="leave it out only if the prompt ends with it"),
        Mistake(block_zero_is_none, "Takes block 0 for a miss: 0 is false in Python, and block 0 is a block.",
                next="ask `key not in block_of`"),
        Mistake(block_zero_leaves_nothing,
                "Takes block 0 for a miss (0 is false in Python), and leaves no token if all blocks are known.",
                next="ask `key not in block_of`"),
        Mistake(the_number, "Gives how many. The table needs to know which blocks.", next="return the blocks"),
        Mistake(tokens_found, "Gives the number of tokens. The table needs to know which blocks.",
                next="return the blocks"),
        Mistake(the_hashes, "Gives hashes. A block table holds blocks.", next="look each of them up in block_of"),
        Mistake(nothing_if_full, "Throws a full hit away. One block less is enough to leave a token.", invariant="I7",
                next="give up the last block alone"),
        Mistake(last_block_alone, "Gives the last block of the hit. The table needs those before it as well.",
                next="return the whole list"),
        Mistake(with_none, "Puts None where a block is missing. From there on everything has to be computed.",
                next="stop at the first block that is missing"),
        Mistake(all_or_nothing, "Asks for all blocks or none. Half a prompt found is half of it not computed.",
                next="return what came before the miss"),
        Mistake(takes_them_out, "Takes the hashes out of block_of. The next customer would not find them.",
                next="look them up without pop"),
    ),
    hints=(
        "The blocks of tokens 0-15 and 32-47 are cached, that of 16-31 is not. Which can be used? And what does the "
        "model compute if nothing is left to compute?",
        "Walk over the hashes and stop at the first that is missing. Before that, shorten the list: at least one token "
        "must come after the last block used.",
        "for key in hashes[: (num_tokens - 1) // ...]: if key not in block_of: break; blocks.append(block_of[key])",
    ),
)

EXERCISES = [BLOCK_HASHES, LONGEST_HIT, EVICT, RADIX_MATCH, RADIX_INSERT, PICK_NEXT]
