"""Lab 02: how broken up the free memory is."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def largest_share(holes):
    sizes = [size for _, size in holes]
    return max(sizes) / sum(sizes) if sizes else 0.0


def empty_not_treated(holes):
    sizes = [size for _, size in holes]
    return 1 - max(sizes) / sum(sizes)


def divides_by_zero(holes):
    sizes = [size for _, size in holes]
    return 1 - max(sizes, default=0) / sum(sizes)


def one_for_nothing_free(holes):
    sizes = [size for _, size in holes]
    return 1 - max(sizes) / sum(sizes) if sizes else 1.0


def counts_holes(holes):
    return 1 - 1 / len(holes) if holes else 0.0


def highest_hole(holes):
    return 1 - max(holes)[1] / sum(size for _, size in holes) if holes else 0.0


def first_hole(holes):
    return 1 - holes[0][1] / sum(size for _, size in holes) if holes else 0.0


def starts_not_sizes(holes):
    starts = [start for start, _ in holes]
    return 1 - max(starts) / sum(starts) if sum(starts) else 0.0


def percent(holes):
    sizes = [size for _, size in holes]
    return 100 * (1 - max(sizes) / sum(sizes)) if sizes else 0.0


def percent_inside(holes):
    sizes = [size for _, size in holes]
    return 100 * max(sizes) / sum(sizes) if sizes else 0.0


def smallest_hole(holes):
    sizes = [size for _, size in holes]
    return 1 - min(sizes) / sum(sizes) if sizes else 0.0


def slots_outside(holes):
    sizes = [size for _, size in holes]
    return sum(sizes) - max(sizes) if sizes else 0


def share_of_arena(holes):
    sizes = [size for _, size in holes]
    end = max([start + size for start, size in holes], default=1)
    return (sum(sizes) - max(sizes, default=0)) / end


def floored(holes):
    sizes = [size for _, size in holes]
    return 1 - max(sizes) // sum(sizes) if sizes else 0


def brackets_missing(holes):
    sizes = [size for _, size in holes]
    return sum(sizes) - max(sizes) / sum(sizes) if sizes else 0.0


def divides_by_the_rest(holes):
    sizes = [size for _, size in holes]
    if not sizes:
        return 0.0
    sizes.remove(max(sizes))
    return sum(sizes) / sum(sizes)


def all_as_large_left_out(holes):
    sizes = [size for _, size in holes]
    return sum(size for size in sizes if size != max(sizes)) / sum(sizes) if sizes else 0.0


def ends_not_sizes(holes):
    sizes = [end - start for start, end in holes]
    return 1 - max(sizes) / sum(sizes) if sizes else 0.0


def rounded(holes):
    sizes = [size for _, size in holes]
    return round(1 - max(sizes) / sum(sizes), 2) if sizes else 0.0


EXTERNAL_FRAGMENTATION = Exercise(
    name="external_fragmentation", lab="02", part="kvlab.memory.external_fragmentation", stars=1, core=True, minutes=5,
    checks=(
        Cases("several holes", ([(0, 6), (10, 3), (20, 1)],), ([(2, 1), (5, 6), (30, 3)],),
              ([(0, 2), (9, 3), (40, 5)],),
              next="find the largest hole and all free slots"),
        Cases("one hole", ([(0, 10)],), ([(7, 1)],), next="treat a single hole"),
        Cases("equal holes", ([(0, 5), (10, 5)],), ([(0, 4), (8, 4), (16, 4), (24, 4)],), ([(0, 9), (10, 9), (20, 9)],),
              next="treat holes of the same size"),
        Cases("nothing free", ([],), next="treat an arena without a hole"),
    ),
    mistakes=(
        Mistake(largest_share, "Looks like the part inside the largest hole. The question is for the part outside.",
                next="turn it around: 1 - ..."),
        Mistake(empty_not_treated, "max() of an empty list has no answer. With nothing free the result is 0.0.",
                next="treat an arena without a hole"),
        Mistake(divides_by_zero, "With nothing free it divides by 0. The result is 0.0 then.",
                next="treat an arena without a hole"),
        Mistake(one_for_nothing_free, "With nothing free, nothing is in pieces: 0.0.",
                next="treat an arena without a hole"),
        Mistake(counts_holes,
                "Counts holes as if all were of one size. One large hole beside many tiny ones is nearly whole.",
                next="use the sizes"),
        Mistake(highest_hole,
                "Takes the hole that lies highest, not the largest: max(holes), for one, compares starts first.",
                next="take the maximum of the sizes"),
        Mistake(first_hole, "Takes the first hole for the largest. Holes are sorted by start, not by size.",
                next="take the maximum of the sizes"),
        Mistake(starts_not_sizes, "Looks at the starts. Each hole is (start, size), and the size counts here.",
                next="use the second number of each"),
        Mistake(percent, "Looks like percent. The question is for a part between 0 and 1.", next="leave out the 100"),
        Mistake(percent_inside,
                "Looks like the part inside the largest hole, in percent. Wanted is the part outside, between 0 and 1.",
                next="turn it around, 1 - ..., and leave out the 100"),
        Mistake(smallest_hole, "Looks like min(): the newcomer would go into the largest hole, not the smallest.",
                next="use the largest hole"),
        Mistake(slots_outside,
                "Looks like slots outside the largest hole. The question is for their part of all free slots.",
                next="divide by all free slots"),
        Mistake(share_of_arena, "Divides by the length of the arena. The question is for a part of the free slots.",
                next="divide by all free slots"),
        Mistake(brackets_missing, "Python divides before it subtracts: here only the largest hole is divided.",
                next="put brackets around the subtraction"),
        Mistake(divides_by_the_rest,
                "Divides by what is left when the largest hole is taken out. It belongs to all free slots.",
                next="add up all free slots first"),
        Mistake(all_as_large_left_out,
                "Leaves out every hole that is as large as the largest. A newcomer goes into one of them.",
                next="subtract the largest hole once"),
        Mistake(ends_not_sizes, "Takes (start, size) for (start, end). The second number is the size already.",
                next="use the second number of each"),
        Mistake(rounded,
                "The part is rounded. Whoever prints it can round it; whoever computes with it needs every digit.",
                next="do not round"),
        Mistake(floored, "Looks like //, which makes a fraction below 1 into 0.", next="use /"),
    ),
    hints=(
        "Holes of 6, 3 and 1 slots: how many slots are free, and how many of them can the longest newcomer use?",
        "All free slots, less the largest hole, over all free slots. Treat the empty list first.",
        "sizes = [size for _, size in holes], then 1 - max(sizes) / ..., and 0.0 if there is no hole.",
    ),
)
