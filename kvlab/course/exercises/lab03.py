"""Lab 03: blocks and tables. Here the number of blocks; every other exercise has a file of its own."""

from __future__ import annotations

import math

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises.lab03_append import APPEND_TOKENS
from kvlab.course.exercises.lab03_pool import BLOCK_POOL
from kvlab.course.exercises.lab03_slots import SLOT_MAPPING
from kvlab.course.exercises.lab03_sweep import BLOCK_SIZE_SWEEP
from kvlab.course.exercises.lab03_waste import PAGED_WASTE


def one_too_many(num_tokens, block_size):
    return num_tokens // block_size + 1


def rounds_down(num_tokens, block_size):
    return num_tokens // block_size


def to_nearest(num_tokens, block_size):
    return round(num_tokens / block_size)


def a_float(num_tokens, block_size):
    return num_tokens / block_size


def whole_float(num_tokens, block_size):
    return float(math.ceil(num_tokens / block_size))


def slots_not_blocks(num_tokens, block_size):
    return -(-num_tokens // block_size) * block_size


def at_least_one(num_tokens, block_size):
    return max(1, -(-num_tokens // block_size))


def only_sixteen(num_tokens, block_size):
    return -(-num_tokens // 16)


def swapped(num_tokens, block_size):
    return -(-block_size // num_tokens)


def brackets_missing(num_tokens, block_size):
    return num_tokens + block_size - 1 // block_size


BLOCKS_NEEDED = Exercise(
    name="blocks_needed", lab="03", part="kvlab.memory.blocks_needed", stars=1, core=True, minutes=5,
    checks=(
        Cases("values", (20, 16), (1, 16), (17, 16), (100, 16), invariant="I3",
              next="say in words how many blocks 17 tokens need"),
        Cases("exact multiple", (32, 16), (64, 16), invariant="I3", next="treat the exact multiple"),
        Cases("zero tokens", (0, 16), invariant="I3", next="treat zero tokens"),
        Cases("other block sizes", (5, 1), (7, 4), (1000, 256), next="try a block size other than 16"),
        Cases("large counts", (524_288, 16), (524_289, 16), (10**9 + 1, 16), next="stay with whole numbers: use //"),
    ),
    mistakes=(
        Mistake(one_too_many,
                "Looks like num_tokens // block_size + 1, which adds a block even when the last one is exactly full.",
                next="treat the exact multiple"),
        Mistake(rounds_down,
                "Looks like num_tokens // block_size, which rounds down: the tokens after the last full block have no "
                "block.",
                next="round up where there is a rest"),
        Mistake(to_nearest, "Looks like round(), which also rounds down: 20 / 16 becomes 1 block for 20 tokens.",
                next="always round up"),
        Mistake(a_float, "Looks like /, which gives a part of a block. Blocks come whole.",
                next="round up to a whole number"),
        Mistake(whole_float,
                "The value is right, but it is a float. Blocks are counted, and a float is no index later on.",
                next="use // or math.ceil, which give an int"),
        Mistake(slots_not_blocks, "Looks like slots. The question is for blocks, the number of entries in the table.",
                next="count blocks, as in lab 00 before the last step"),
        Mistake(at_least_one, "Takes one block for zero tokens. A block is taken for the first token, and not before.",
                next="treat zero tokens"),
        Mistake(only_sixteen, "Works for blocks of 16 only, although block_size says how large a block is.",
                next="use block_size"),
        Mistake(swapped, "Looks like num_tokens and block_size have changed places.",
                next="divide the tokens by the block size"),
        Mistake(brackets_missing, "Python divides before it adds: here only the 1 is divided. The idea is right.",
                next="put brackets around the sum"),
    ),
    hints=(
        "How many blocks of 16 do 16 tokens need, how many do 17, and how many do 0?",
        "Divide and round up. When the tokens fill their blocks exactly, nothing is added.",
        "-(-num_tokens // block_size) rounds up; so does (num_tokens + block_size - 1) // ...",
    ),
)


EXERCISES = [BLOCKS_NEEDED, BLOCK_POOL, SLOT_MAPPING, APPEND_TOKENS, PAGED_WASTE, BLOCK_SIZE_SWEEP]
