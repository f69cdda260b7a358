"""Lab 03: what paging still wastes."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def tokens_in_last_block(lengths, block_size):
    return sum(n % block_size for n in lengths)


def full_block_when_exact(lengths, block_size):
    return sum(block_size - n % block_size for n in lengths)


def rounds_the_sum(lengths, block_size):
    return -sum(lengths) % block_size


def the_mean(lengths, block_size):
    return sum(-n % block_size for n in lengths) / len(lengths)


def always_the_most(lengths, block_size):
    return len(lengths) * (block_size - 1)


def expected_on_average(lengths, block_size):
    return len(lengths) * (block_size - 1) / 2


def first_only(lengths, block_size):
    for n in lengths:
        return -n % block_size
    return 0


def allocated_slots(lengths, block_size):
    return sum(-(-n // block_size) * block_size for n in lengths)


def blocks_only(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def per_request(lengths, block_size):
    return [-n % block_size for n in lengths]


def block_for_nothing(lengths, block_size):
    return sum(max(1, -(-n // block_size)) * block_size - n for n in lengths)


def the_largest(lengths, block_size):
    return max((-n % block_size for n in lengths), default=0)


def blocks_less_tokens(lengths, block_size):
    return sum(-(-n // block_size) - n for n in lengths)


def full_blocks_less_tokens(lengths, block_size):
    return sum(n // block_size * block_size - n for n in lengths)


def only_sixteen(lengths, block_size):
    return sum(-n % 16 for n in lengths)


def one_block_each(lengths, block_size):
    return sum(block_size - n for n in lengths)


def as_share(lengths, block_size):
    slots = sum(-(-n // block_size) * block_size for n in lengths)
    return (slots - sum(lengths)) / slots if slots else 0


PAGED_WASTE = Exercise(
    name="paged_waste", lab="03", part="kvlab.memory.paged_waste", stars=1, core=True, minutes=5,
    checks=(
        Cases("one sequence", ([20], 16), ([5], 4), ([1], 256), next="draw the last block and count its empty slots"),
        Cases("several sequences", ([5, 6, 7], 4), ([100, 3, 50, 17], 16), next="add up over all sequences"),
        Cases("exact multiple", ([16], 16), ([4, 8, 9], 4), next="treat the exact multiple"),
        Cases("nothing stored", ([], 16), ([0], 16), next="treat no sequences and empty ones"),
        Cases("other block sizes", ([5, 6, 7], 1), ([1000, 30], 256), next="try a block size other than 16"),
    ),
    mistakes=(
        Mistake(tokens_in_last_block,
                "Looks like length % block_size, the tokens in the last block. The question is for its empty slots.",
                next="count what is missing to a full block"),
        Mistake(full_block_when_exact,
                "Looks like block_size - length % block_size, a whole empty block where the last one is exactly full.",
                next="treat the exact multiple"),
        Mistake(rounds_the_sum,
                "Looks like one block for all: sequences do not share their last blocks, so each has its own rest.",
                next="take each length by itself, then add up"),
        Mistake(the_mean, "Looks like the average of a sequence. The question is for all of them together.",
                next="leave the division out"),
        Mistake(always_the_most,
                "Counts block_size - 1 for each sequence. That is the worst case; these lengths are known.",
                next="use the lengths"),
        Mistake(expected_on_average,
                "Looks like (block_size - 1) / 2 each, the estimate. These lengths are known, so count.",
                next="use the lengths"),
        Mistake(first_only, "Stops after the first sequence: return stands inside the loop.",
                next="return after the loop"),
        Mistake(allocated_slots, "Looks like all slots taken. The question is for those without a token.",
                next="subtract the tokens"),
        Mistake(blocks_only, "Looks like the number of blocks. The question is for their empty slots.",
                next="count slots"),
        Mistake(per_request, "Gives a list, one number a sequence. The question is for all of them together.",
                next="add them up"),
        Mistake(block_for_nothing, "Counts a block for a sequence of 0 tokens. It has none.",
                next="treat empty sequences"),
        Mistake(the_largest, "Looks like the largest rest. The question is for all of them together.",
                next="add them up"),
        Mistake(blocks_less_tokens,
                "Subtracts tokens from blocks, so the waste is negative. Slots are blocks times block_size.",
                next="multiply the blocks by block_size"),
        Mistake(full_blocks_less_tokens,
                "Counts full blocks only, so the waste is negative: the tokens after them need a block as well.",
                next="round the blocks up"),
        Mistake(only_sixteen, "Works for blocks of 16 only, although block_size says how large a block is.",
                next="use block_size in place of 16"),
        Mistake(one_block_each,
                "Takes one block for each sequence. A long one has several, and its last is partly empty.",
                next="count the slots of all its blocks"),
        Mistake(as_share, "Looks like a share. The question is for slots.", next="leave the division out"),
    ),
    hints=(
        "A sequence of 20 tokens in blocks of 16: how many slots does it take, and how many are empty? And one of 32?",
        "For each sequence: slots taken less tokens. Then add up.",
        "sum(blocks_needed(n, block_size) * block_size - ... for n in lengths)",
    ),
)
