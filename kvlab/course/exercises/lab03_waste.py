"""Lab 03: what paging still wastes, and what small blocks cost."""

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
        Mistake(as_share, "Looks like a share. The question is for slots.", next="leave the division out"),
    ),
    hints=(
        "A sequence of 20 tokens in blocks of 16: how many slots does it take, and how many are empty? And one of 32?",
        "For each sequence: slots taken less tokens. Then add up.",
        "sum(blocks_needed(n, block_size) * block_size - ... for n in lengths)",
    ),
)


def _rows(lengths, block_sizes, blocks=lambda n, size: -(-n // size)):
    entries = {size: sum(blocks(n, size) for n in lengths) for size in block_sizes}
    return [(size, sum(lengths) / (entries[size] * size), entries[size]) for size in block_sizes]


def share_wasted(lengths, block_sizes):
    return [(size, 1 - share, entries) for size, share, entries in _rows(lengths, block_sizes)]


def share_upside_down(lengths, block_sizes):
    return [(size, 1 / share, entries) for size, share, entries in _rows(lengths, block_sizes)]


def mean_of_shares(lengths, block_sizes):
    def mean(size):
        return sum(n / (-(-n // size) * size) for n in lengths) / len(lengths)

    return [(size, mean(size), entries) for size, _, entries in _rows(lengths, block_sizes)]


def lookup_per_token(lengths, block_sizes):
    return [(size, share, sum(lengths)) for size, share, _ in _rows(lengths, block_sizes)]


def lookups_as_slots(lengths, block_sizes):
    return [(size, share, entries * size) for size, share, entries in _rows(lengths, block_sizes)]


def blocks_of_the_sum(lengths, block_sizes):
    total = sum(lengths)
    return [(size, total / (-(-total // size) * size), -(-total // size)) for size in block_sizes]


def one_too_many(lengths, block_sizes):
    return _rows(lengths, block_sizes, lambda n, size: n // size + 1)


def rounded_down(lengths, block_sizes):
    return _rows(lengths, block_sizes, lambda n, size: max(1, n // size))


def percent(lengths, block_sizes):
    return [(size, 100 * share, entries) for size, share, entries in _rows(lengths, block_sizes)]


def order_swapped(lengths, block_sizes):
    return [(size, entries, share) for size, share, entries in _rows(lengths, block_sizes)]


def first_size_only(lengths, block_sizes):
    return _rows(lengths, block_sizes)[:1]


def without_the_size(lengths, block_sizes):
    return [(share, entries) for _, share, entries in _rows(lengths, block_sizes)]


def mean_lookups(lengths, block_sizes):
    return [(size, share, entries / len(lengths)) for size, share, entries in _rows(lengths, block_sizes)]


def rounded_share(lengths, block_sizes):
    return [(size, round(share, 2), entries) for size, share, entries in _rows(lengths, block_sizes)]


def a_dictionary(lengths, block_sizes):
    return {size: (share, entries) for size, share, entries in _rows(lengths, block_sizes)}


def sorted_sizes(lengths, block_sizes):
    return _rows(lengths, sorted(block_sizes))


BLOCK_SIZE_SWEEP = Exercise(
    name="block_size_sweep", lab="03", part="kvlab.memory.block_size_sweep", stars=2, core=False, minutes=10,
    checks=(
        Cases("one sequence", ([6], [4]), ([5], [1]), next="write the row for one block size by hand"),
        Cases("several sequences", ([6, 3], [4]), ([20, 100, 33], [16]),
              next="add up blocks over the sequences, then divide once"),
        Cases("several sizes", ([6, 3], [1, 2, 4]), ([20, 100, 33], [1, 16, 256]), next="one row for each size"),
        Cases("sizes in any order", ([6, 3], [4, 1, 2]), next="keep the order of block_sizes"),
        Cases("exact multiple", ([8, 4], [4]), next="treat the exact multiple"),
    ),
    mistakes=(
        Mistake(share_wasted, "Looks like the share that is empty. The second number is the share that holds tokens.",
                next="tokens over allocated slots"),
        Mistake(share_upside_down, "Looks like slots over tokens. The share is tokens over slots, at most 1.",
                next="turn the fraction over"),
        Mistake(mean_of_shares,
                "Averages the sequences' shares, so a short one counts as much as a long one. Slots are what counts.",
                next="add up tokens and slots first, then divide once"),
        Mistake(lookup_per_token, "Counts a lookup for each token. One table entry serves a whole block.",
                next="count blocks"),
        Mistake(lookups_as_slots, "Counts slots. A lookup reads one entry of the table, and an entry names a block.",
                next="count blocks"),
        Mistake(blocks_of_the_sum, "Puts all sequences into one. They do not share their last blocks.",
                next="count the blocks of each sequence"),
        Mistake(one_too_many,
                "Looks like length // size + 1, which adds a block even when the last one is exactly full.",
                invariant="I3",
                next="treat the exact multiple"),
        Mistake(rounded_down, "Rounds the number of blocks down: the rest of each sequence has no block.",
                invariant="I3",
                next="use blocks_needed"),
        Mistake(percent, "Looks like percent. The second number is a share between 0 and 1.", next="leave out the 100"),
        Mistake(order_swapped, "Looks like share and lookups have changed places.",
                next="return (block_size, share_held, lookups)"),
        Mistake(first_size_only, "Stops after the first size: return stands inside the loop.",
                next="return after the loop"),
        Mistake(without_the_size, "The block size is missing at the front of each row.",
                next="return (block_size, share_held, lookups)"),
        Mistake(mean_lookups, "Averages over the sequences. Lookups are those of all sequences together.",
                next="leave the division out"),
        Mistake(rounded_share,
                "The share is rounded. Whoever prints it can round it; whoever computes with it needs every digit.",
                next="do not round"),
        Mistake(a_dictionary, "Gives a dictionary. The question is for a list of rows.",
                next="append (block_size, share_held, lookups)"),
        Mistake(sorted_sizes, "Sorts the sizes. The rows come in the order of block_sizes.",
                next="keep the order of block_sizes"),
    ),
    hints=(
        "Sequences of 6 and 3 tokens, blocks of 4: how many blocks in all, how many slots, and how many of those hold "
        "a token?",
        "Blocks of all sequences are the lookups; times the size they are the slots; all tokens over the slots is the "
        "share.",
        "for size in block_sizes: entries = sum(blocks_needed(n, size) for n in lengths); append (size, sum(lengths) "
        "/ (...), entries)",
    ),
)
