"""Lab 06: what sharing saves, as the paper counts it."""

from __future__ import annotations

from collections import Counter

from kvlab.course.declare import Cases, Exercise, Mistake


def _count(tables):
    return sum(map(len, tables)), len({block for table in tables for block in table})


def over_shared(tables):
    unshared, blocks = _count(tables)
    return (unshared - blocks) / blocks if blocks else 0.0


def factor(tables):
    unshared, blocks = _count(tables)
    return unshared / blocks if blocks else 0.0


def share_kept(tables):
    unshared, blocks = _count(tables)
    return blocks / unshared if unshared else 0.0


def number_saved(tables):
    unshared, blocks = _count(tables)
    return unshared - blocks


def in_percent(tables):
    unshared, blocks = _count(tables)
    return 100 * (unshared - blocks) / unshared if unshared else 0.0


def rounded(tables):
    unshared, blocks = _count(tables)
    return round((unshared - blocks) / unshared, 2) if unshared else 0.0


def rounded_to_three(tables):
    unshared, blocks = _count(tables)
    return round((unshared - blocks) / unshared, 3) if unshared else 0.0


def whole_division(tables):
    unshared, blocks = _count(tables)
    return (unshared - blocks) // unshared if unshared else 0


def by_tables(tables):
    return (len(tables) - 1) / len(tables) if tables else 0.0


def different_tables(tables):
    different = len({tuple(table) for table in tables})
    return (len(tables) - different) / len(tables) if tables else 0.0


def shared_by_all(tables):
    unshared = sum(map(len, tables))
    common = set(tables[0]).intersection(*tables[1:]) if tables else ()
    return len(common) * (len(tables) - 1) / unshared if unshared else 0.0


def each_shared_once(tables):
    counts = Counter(block for table in tables for block in table)
    return sum(count > 1 for count in counts.values()) / sum(counts.values()) if counts else 0.0


def shared_of_different(tables):
    counts = Counter(block for table in tables for block in table)
    return sum(count > 1 for count in counts.values()) / len(counts) if counts else 0.0


def entries_of_shared(tables):
    counts = Counter(block for table in tables for block in table)
    return sum(count for count in counts.values() if count > 1) / sum(counts.values()) if counts else 0.0


def longest_times_tables(tables):
    unshared, blocks = len(tables) * max(map(len, tables), default=0), _count(tables)[1]
    return (unshared - blocks) / unshared if unshared else 0.0


def first_times_tables(tables):
    unshared, blocks = len(tables) * len(tables[0]) if tables else 0, _count(tables)[1]
    return (unshared - blocks) / unshared if unshared else 0.0


def blocks_of_the_first(tables):
    unshared = sum(map(len, tables))
    return (unshared - len(set(tables[0]))) / unshared if unshared else 0.0


def same_place_only(tables):
    unshared = sum(map(len, tables))
    places = {(place, block) for table in tables[:2] for place, block in enumerate(table)}
    return (sum(map(len, tables[:2])) - len(places)) / unshared if unshared else 0.0


def against_the_first(tables):
    unshared = sum(map(len, tables))
    return sum(len(set(table) & set(tables[0])) for table in tables[1:]) / unshared if unshared else 0.0


def nothing_not_treated(tables):
    unshared, blocks = _count(tables)
    return (unshared - blocks) / unshared


def highest_number(tables):
    unshared = sum(map(len, tables))
    return (unshared - max(block for table in tables for block in table) - 1) / unshared if unshared else 0.0


def negative(tables):
    unshared, blocks = _count(tables)
    return (blocks - unshared) / unshared if unshared else 0.0


THREE = [[7, 2, 5], [7, 2, 9], [7, 2, 4]]  # a prompt of two full blocks, and a block of each one's own

SAVED_BLOCKS = Exercise(
    name="saved_blocks", lab="06", part="kvlab.memory.saved_blocks", stars=2, core=True, minutes=8,
    checks=(
        Cases("two sequences", ([[3, 1], [3, 6]],), ([[8, 2, 5], [8, 2, 9]],), ([[8, 2], [8, 2, 9]],),
              ([[4], [4, 7, 1]],),
              next="count the blocks there are, and those there would be without sharing"),
        Cases("three sequences", (THREE,), ([[1, 4], [1, 4], [1, 4]],), ([[0], [0], [0], [0]],),
              next="a block with three owners saves two"),
        Cases("only some share", ([[3, 1], [3, 6], [8, 2]],), ([[1, 2], [1, 3], [4, 5], [4, 6, 7]],),
              ([[9, 1], [9, 2, 0], [9, 2, 3]],), next="count different blocks over all tables"),
        Cases("other lengths", ([[3], [3, 6, 7, 8]],), ([[5, 0, 2, 1], [5], [5, 0]],), ([[6, 7, 8, 9, 1], [6, 2]],),
              next="add the lengths of the tables"),
        Cases("nothing shared", ([[1, 2], [3], [4, 5]],), ([[7, 2, 9]],), next="treat tables that share nothing"),
        Cases("no blocks", ([],), ([[]],), ([[], []],), next="treat no tables and empty ones: 0.0"),
    ),
    mistakes=(
        Mistake(over_shared,
                "Divides by the blocks there are with sharing. The paper divides by those there would be without.",
                next="divide by the entries of all tables"),
        Mistake(factor, "Looks like a factor, entries over blocks. The question is for the share that is saved.",
                next="blocks saved over blocks without sharing"),
        Mistake(share_kept, "Looks like the share that is still needed. Saved is the rest of it.", next="1 less this"),
        Mistake(number_saved, "Looks like the number of blocks saved. The question is for a share of all.",
                next="divide by the blocks without sharing"),
        Mistake(in_percent, "The value is in per cent. The question is for a share between 0 and 1.",
                next="leave the 100 out"),
        Mistake(rounded, "The share is rounded. Whoever prints it can round it; whoever computes with it needs it all.",
                next="do not round"),
        Mistake(rounded_to_three,
                "The share is rounded. Whoever prints it can round it; whoever computes with it needs it all.",
                next="do not round"),
        Mistake(by_tables,
                "Counts tables. Each has blocks of its own besides the shared ones, and only blocks cost memory.",
                next="count different blocks"),
        Mistake(different_tables, "Compares whole tables. Two that differ in their last block still share the others.",
                next="count different blocks"),
        Mistake(shared_by_all, "Counts the blocks that all tables share. Two of many may share one as well.",
                next="count different blocks over all tables"),
        Mistake(whole_division, "Looks like //, which throws the fraction away.", next="use /"),
        Mistake(each_shared_once, "Counts each shared block once. One with three owners saves two blocks.",
                next="a block saves as many as it has owners, less one"),
        Mistake(shared_of_different,
                "Looks like the share of blocks that have several owners. One with three owners saves two blocks.",
                next="blocks saved over blocks without sharing"),
        Mistake(entries_of_shared,
                "Counts every entry that names a shared block. One of the owners would need the block anyway.",
                next="a block saves as many as it has owners, less one"),
        Mistake(longest_times_tables, "Takes all tables to be as long as the longest. Answers differ in length.",
                next="add the lengths of the tables"),
        Mistake(first_times_tables, "Takes all tables to be as long as the first. Answers differ in length.",
                next="add the lengths of the tables"),
        Mistake(blocks_of_the_first, "Counts the blocks of the first table alone. The others have some of their own.",
                next="put the blocks of all tables into one set"),
        Mistake(same_place_only, "Compares the first two tables only.", next="go over all tables"),
        Mistake(against_the_first,
                "Compares each table with the first. Two others may share a block that the first does not have.",
                next="put the blocks of all tables into one set"),
        Mistake(nothing_not_treated, "Divides by zero where there is no block. Nothing is saved then.",
                next="return 0.0 where there is no block"),
        Mistake(highest_number, "Takes the highest number for the count. Blocks come from anywhere in the pool.",
                next="count different blocks"),
        Mistake(negative, "The sign is turned: saved is what there would be less what there is.",
                next="subtract the other way"),
    ),
    hints=(
        "Three tables of three blocks name 9 entries. If two of those blocks are in all three, how many blocks are "
        "there really?",
        "Without sharing each entry of each table would be a block. With sharing there are as many as there are "
        "different numbers.",
        "unshared = sum of len(table); blocks = len({block for table in tables for block in table}); return "
        "(unshared - blocks) / ...",
    ),
)
