"""Lab 03: from a token to its slot, through the block table."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises.scenarios import is_count


def same_slots(expected: list[int], got: Any) -> bool:
    """The same slots in the same order, as a list, a tuple or an array of whole numbers."""
    if isinstance(got, (str, bytes, dict, set)) or getattr(got, "ndim", 1) != 1:
        return False
    return len(got) == len(expected) and all(
        is_count(one) and one == other for one, other in zip(got, expected, strict=True))


def previous_plus_one(table, start, stop, block_size):
    if start >= stop:
        return []
    first = table[start // block_size] * block_size + start % block_size
    return [first + i for i in range(stop - start)]


def previous_plus_one_without_a_look_at_none(table, start, stop, block_size):
    first = table[start // block_size] * block_size + start % block_size
    return [first + i for i in range(stop - start)]


def positions(table, start, stop, block_size):
    return list(range(start, stop))


def block_not_scaled(table, start, stop, block_size):
    return [table[i // block_size] + i % block_size for i in range(start, stop)]


def offset_not_wrapped(table, start, stop, block_size):
    return [table[i // block_size] * block_size + i for i in range(start, stop)]


def stop_included(table, start, stop, block_size):
    stop = min(stop + 1, len(table) * block_size)
    return [table[i // block_size] * block_size + i % block_size for i in range(start, stop)]


def stop_included_plain(table, start, stop, block_size):
    return [table[i // block_size] * block_size + i % block_size for i in range(start, stop + 1)]


def from_the_beginning(table, start, stop, block_size):
    return [table[i // block_size] * block_size + i % block_size for i in range(stop)]


def count_instead_of_stop(table, start, stop, block_size):
    return [table[i // block_size] * block_size + i % block_size for i in range(stop - start)]


def swapped_parts(table, start, stop, block_size):
    return [table[i % block_size] * block_size + i // block_size for i in range(start, stop)]


def blocks_only(table, start, stop, block_size):
    return [table[i // block_size] for i in range(start, stop)]


def offset_from_start(table, start, stop, block_size):
    return [table[i // block_size] * block_size + (i - start) % block_size for i in range(start, stop)]


def first_token_only(table, start, stop, block_size):
    for i in range(start, stop):
        return [table[i // block_size] * block_size + i % block_size]
    return []


def first_token_or_none(table, start, stop, block_size):
    for i in range(start, stop):
        return [table[i // block_size] * block_size + i % block_size]


def whole_blocks(table, start, stop, block_size):
    return [block * block_size + offset for block in table for offset in range(block_size)]


def pairs(table, start, stop, block_size):
    return [(table[i // block_size], i % block_size) for i in range(start, stop)]


def only_sixteen_here(table, start, stop, block_size):
    return [table[i // 16] * 16 + i % 16 for i in range(start, stop)]


def stop_as_count(table, start, stop, block_size):
    return [table[i // block_size] * block_size + i % block_size for i in range(start, start + stop)]


def always_the_first_block(table, start, stop, block_size):
    return [table[0] * block_size + i % block_size for i in range(start, stop)]


def first_block_only(table, start, stop, block_size):
    return [table[0] * block_size + i for i in range(start, stop)]


SLOT_MAPPING = Exercise(
    name="slot_mapping", lab="03", part="kvlab.memory.slot_mapping", stars=2, core=True, minutes=8,
    checks=(
        Cases("one token", ([7, 2], 20, 21, 16), ([5, 3], 1, 2, 4), compare=same_slots,
              next="find the token's block first, then its place in the block"),
        Cases("within a block", ([7, 2], 0, 3, 4), ([7, 2], 5, 7, 4), compare=same_slots,
              next="find the token's block first, then its place in the block"),
        Cases("across blocks", ([7, 2], 2, 6, 4), ([9, 4, 0, 6], 0, 16, 4), ([3, 8, 1], 1, 8, 3), compare=same_slots,
              invariant="I4",
              next="look up the table for every token"),
        Cases("up to the end of a block", ([7, 2], 0, 4, 4), ([7, 2], 4, 8, 4), ([6], 3, 4, 4), compare=same_slots,
              next="treat the last slot of a block"),
        Cases("no tokens", ([7, 2], 5, 5, 4), ([], 0, 0, 4), ([7, 2], 8, 8, 4), compare=same_slots,
              next="treat start == stop"),
        Cases("other block sizes", ([4, 0, 2], 0, 3, 1), ([1, 0], 250, 260, 256), compare=same_slots,
              next="use block_size everywhere"),
    ),
    mistakes=(
        Mistake(previous_plus_one,
                "Looks like previous slot + 1. At the end of a block the next token is in another block, anywhere.",
                invariant="I4", next="look up the table for every token"),
        Mistake(previous_plus_one_without_a_look_at_none,
                "Looks like previous slot + 1. At the end of a block the next token is in another block, anywhere.",
                invariant="I4", next="look up the table for every token"),
        Mistake(positions, "Looks like the token's position. Its slot depends on where the table puts its block.",
                invariant="I4",
                next="look the block up in the table"),
        Mistake(block_not_scaled, "Adds the block's number itself. Block 7 begins at slot 7 * block_size.",
                next="multiply the block by block_size"),
        Mistake(offset_not_wrapped,
                "The offset grows past the end of the block. It counts inside the block, from 0 to block_size - 1.",
                next="use i % block_size"),
        Mistake(stop_included, "Goes one token too far: the last one is stop - 1.", next="end before stop"),
        Mistake(stop_included_plain, "Goes one token too far: the last one is stop - 1.", next="end before stop"),
        Mistake(from_the_beginning, "Starts at token 0. The question is for tokens from start on.",
                next="begin at start"),
        Mistake(count_instead_of_stop, "Gives the right number of slots, but of the first tokens. They begin at start.",
                next="begin at start"),
        Mistake(swapped_parts, "Looks like // and % have changed places: // finds the block, % the place in it.",
                next="swap // and %"),
        Mistake(blocks_only, "Gives blocks. A slot is one token's place in the block: block * block_size + offset.",
                next="add the offset"),
        Mistake(offset_from_start,
                "Counts the offset from start. A block's slots are counted from the block's own beginning.",
                next="use i % block_size"),
        Mistake(first_token_only, "Stops after the first token: return stands inside the loop.",
                next="return after the loop"),
        Mistake(first_token_or_none, "Stops after the first token: return stands inside the loop.",
                next="return after the loop"),
        Mistake(whole_blocks, "Gives all slots of all blocks. The question is for tokens start to stop - 1.",
                next="walk over the tokens"),
        Mistake(pairs, "Gives (block, offset). The two make one number: block * block_size + offset.",
                next="make it one number"),
        Mistake(only_sixteen_here, "Works for blocks of 16 only, although block_size says how large a block is.",
                next="use block_size in place of 16"),
        Mistake(stop_as_count, "Takes stop for a number of tokens. It is the first token that is not asked for.",
                next="go from start to stop: range(start, stop)"),
        Mistake(always_the_first_block, "Takes the first block for every token, and the offset inside it.",
                next="find the block of each token: i // block_size"),
        Mistake(first_block_only, "Takes the first block for every token.",
                next="find the block of each token: i // block_size"),
    ),
    hints=(
        "With blocks of 16 and the table [7, 2]: which entry of the table does token 20 belong to, and which place in "
        "that block?",
        "Token i is in the block table[i // block_size], at offset i % block_size. Do that for each token.",
        "[table[i // block_size] * ... + ... for i in range(start, stop)]",
    ),
)
