"""Lab 00: the warm-up."""

from __future__ import annotations

import numpy as np

from kvlab.course.declare import Cases, Exercise, Mistake


def as_it_is(num_tokens, block_size):
    return num_tokens


def down(num_tokens, block_size):
    return num_tokens // block_size * block_size


def always_one_more(num_tokens, block_size):
    return (num_tokens // block_size + 1) * block_size


def blocks_not_slots(num_tokens, block_size):
    return -(-num_tokens // block_size)


def nearest(num_tokens, block_size):
    return round(num_tokens / block_size) * block_size


def adds_the_rest(num_tokens, block_size):
    return num_tokens + num_tokens % block_size


def not_whole(num_tokens, block_size):
    return np.ceil(num_tokens / block_size) * block_size


def there_and_back(num_tokens, block_size):
    return num_tokens / block_size * block_size


def only_sixteen(num_tokens, block_size):
    return -(-num_tokens // 16) * 16


def at_least_one_block(num_tokens, block_size):
    return max(1, -(-num_tokens // block_size)) * block_size


def one_block_or_as_it_is(num_tokens, block_size):
    return max(num_tokens, block_size)


def swapped(num_tokens, block_size):
    return -(-block_size // num_tokens) * num_tokens


ROUND_UP_TO_BLOCK = Exercise(
    name="round_up_to_block", lab="00", part="kvlab.memory.round_up_to_block", stars=1, core=True, minutes=3,
    checks=(
        Cases("values", (20, 16), (17, 16), (1, 16), (30, 16),
              next="say in words how many blocks 20 tokens need, then count their slots"),
        Cases("exact multiple", (16, 16), (48, 16), next="treat the exact multiple"),
        Cases("zero tokens", (0, 16), next="treat zero tokens"),
        Cases("other block sizes", (7, 1), (100, 64), (1000, 7), (1_000_001, 256),
              next="try a block size other than 16"),
    ),
    mistakes=(
        Mistake(as_it_is,
                "Looks like num_tokens comes back as it was. Blocks come whole, so 20 tokens take 32 slots of 16.",
                next="round up to the next multiple of block_size"),
        Mistake(down, "Looks like it rounds down: the tokens after the last full block have no slot.",
                next="round up where there is a rest"),
        Mistake(always_one_more,
                "Adds a block even when the last one is exactly full: 16 tokens take 16 slots, not 32.",
                next="treat the exact multiple"),
        Mistake(blocks_not_slots,
                "Looks like the number of blocks. The question is for slots, and a block has block_size of them.",
                next="turn blocks into slots"),
        Mistake(nearest,
                "Looks like round(), which goes to the nearest multiple, also downwards: 20 / 16 becomes 1 block.",
                next="always round up"),
        Mistake(adds_the_rest,
                "Adds num_tokens % block_size. That is what lies in the last block; its empty slots are what is "
                "missing.",
                next="find how far it is to the next multiple"),
        Mistake(not_whole,
                "The value is right, but it is a float: / and np.ceil give floats. Slots are counted in whole numbers.",
                next="use // or math.ceil, which give an int"),
        Mistake(there_and_back,
                "Divides and multiplies, which gives num_tokens again. Between the two it must be rounded up.",
                next="round up before you multiply"),
        Mistake(only_sixteen, "Works for blocks of 16 only, although block_size says how large a block is.",
                next="use block_size in place of 16"),
        Mistake(at_least_one_block, "Takes one block for zero tokens. Without a token there is nothing to store.",
                next="treat zero tokens"),
        Mistake(one_block_or_as_it_is,
                "Rounds up to one block, and leaves longer conversations as they are. But 17 tokens take 32 slots.",
                next="round up to the next multiple of block_size"),
        Mistake(swapped, "Looks like num_tokens and block_size have changed places.",
                next="divide the tokens by the block size"),
    ),
    hints=(
        "With blocks of 16: how many blocks do 16 tokens take, how many do 17, and how many slots is that?",
        "Count the blocks first: divide and round up. Then turn blocks into slots.",
        "Python rounds down with //. Turned around twice it rounds up: -(-num_tokens // block_size). That counts "
        "blocks; "
        "each has block_size slots.",
    ),
)

EXERCISES = [ROUND_UP_TO_BLOCK]
