"""Lab 03: what small blocks cost."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


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
    return _rows(lengths, block_sizes, lambda n, size: n // size)


def parts_of_blocks(lengths, block_sizes):
    return _rows(lengths, block_sizes, lambda n, size: n / size)


def size_written_in(lengths, block_sizes):
    return [(size, *_rows(lengths, [16])[0][1:]) for size in block_sizes]


def blocks_of_sixteen(lengths, block_sizes):
    entries = sum(-(-n // 16) for n in lengths)
    return [(size, sum(lengths) / (entries * size), entries) for size in block_sizes]


def first_size_for_all(lengths, block_sizes):
    return [(size, *_rows(lengths, block_sizes[:1])[0][1:]) for size in block_sizes]


def blocks_of_the_first_size(lengths, block_sizes):
    entries = sum(-(-n // block_sizes[0]) for n in lengths)
    return [(size, sum(lengths) / (entries * size), entries) for size in block_sizes]


def tokens_over_blocks(lengths, block_sizes):
    return [(size, share * size, entries) for size, share, entries in _rows(lengths, block_sizes)]


def brackets_missing(lengths, block_sizes):
    return [(size, sum(lengths) / entries * size, entries) for size, _, entries in _rows(lengths, block_sizes)]


def floored(lengths, block_sizes):
    return [(size, sum(lengths) // (entries * size), entries) for size, _, entries in _rows(lengths, block_sizes)]


def counts_on(lengths, block_sizes):
    rows, entries = [], 0
    for size in block_sizes:
        entries += sum(-(-n // size) for n in lengths)
        rows.append((size, sum(lengths) / (entries * size), entries))
    return rows


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
        Mistake(parts_of_blocks, "Looks like /, which counts parts of blocks. Blocks come whole.", invariant="I3",
                next="use blocks_needed"),
        Mistake(size_written_in, "Every row is that of blocks of 16. Each row has a block size of its own.",
                next="use the size of the row"),
        Mistake(blocks_of_sixteen, "Counts blocks of 16 in every row. Each row has a block size of its own.",
                next="use the size of the row"),
        Mistake(first_size_for_all, "Every row is that of the first size. Each row has a block size of its own.",
                next="count inside the loop, with the size of the row"),
        Mistake(blocks_of_the_first_size,
                "Counts blocks of the first size in every row. Each row has a block size of its own.",
                next="count inside the loop, with the size of the row"),
        Mistake(tokens_over_blocks, "Looks like tokens over blocks. A block has as many slots as its size says.",
                next="multiply the blocks by the size first"),
        Mistake(brackets_missing, "Python goes from left to right: here the size multiplies what was divided.",
                next="put brackets around blocks times size"),
        Mistake(floored, "Looks like //, which makes a share below 1 into 0.", next="use /"),
        Mistake(counts_on, "Counts on from one size to the next, so each row holds those before it too.",
                next="begin at 0 for each size"),
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
