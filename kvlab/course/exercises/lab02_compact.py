"""Lab 02: what it costs to push all pieces together."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Cases, Exercise, Mistake, Wrong
from kvlab.course.exercises import lab02_compact_mistakes as wrong
from kvlab.course.exercises.scenarios import is_count


def same_plan(expected: Any, got: Any) -> bool:
    """The moves of the finished part, in any order in which no move overwrites a piece that has still to move."""
    moves, tokens = _pair(got)
    plan = [tuple(move) for move in moves]
    if any(len(move) != 3 for move in plan):
        raise Wrong("a move has three numbers.", next="write (from, to, size)")
    if any(start == to for start, to, _ in plan):
        raise Wrong("a piece that stays is no move.", next="leave out pieces that stay")
    right = sorted(plan) == sorted(expected[0])
    if not is_count(tokens) or tokens != expected[1]:
        if right:
            raise Wrong("the moves are right, the number of tokens is not.", next="add up the sizes of the moves")
        return False
    if not right:
        raise Wrong("the number of tokens is right, the moves are not.")
    if any(_overwrites(move, later) for done, move in enumerate(plan) for later in plan[done + 1 :]):
        raise Wrong("in this order one piece overwrites another.", next="move the lowest piece first")
    return True


def _pair(got: Any) -> Any:
    if not isinstance(got, (tuple, list)) or len(got) != 2 or not isinstance(got[0], (list, tuple)):
        raise Wrong("the answer has two parts, the moves and the number of tokens.", next="return moves, tokens_moved")
    return got


def _overwrites(move: tuple[int, int, int], later: tuple[int, int, int]) -> bool:
    _, to, size = move
    return later[0] < to + size and to < later[0] + later[2]


COMPACT = Exercise(
    name="compact", lab="02", part="kvlab.memory.compact", stars=2, core=False, minutes=12,
    checks=(
        Cases("one gap", ([(0, 4), (6, 3)],), ([(5, 4)],), compare=same_plan,
              next="slide the piece to the end of the one before it"),
        Cases("several gaps", ([(0, 4), (6, 3), (12, 5), (20, 1)],), ([(2, 3), (7, 1), (9, 6)],), compare=same_plan,
              next="remember where the next piece goes"),
        Cases("any order given", ([(12, 5), (0, 4), (6, 3)],), ([(9, 2), (1, 7)],), compare=same_plan,
              next="start with the lowest piece"),
        Cases("nothing to do", ([(0, 4), (4, 3)],), ([(4, 3), (0, 4)],), ([],), compare=same_plan,
              next="leave out pieces that stay"),
    ),
    mistakes=(
        Mistake(wrong.moves_that_stay,
                "Lists pieces that stay where they are. They need no copy, so they cost nothing.",
                next="leave out pieces that stay"),
        Mistake(wrong.moves_that_stay_uncounted,
                "Lists pieces that stay where they are. They need no copy, so they are no moves.",
                next="leave out pieces that stay"),
        Mistake(wrong.counts_all_tokens, "Counts the tokens of all pieces. Those that stay are not copied.",
                next="add up the sizes of the moves"),
        Mistake(wrong.in_given_order, "Takes the pieces in the order of the list. Sliding starts with the lowest one.",
                next="sort by start first"),
        Mistake(wrong.leftwards_in_given_order,
                "Takes the pieces in the order of the list. Sliding starts with the lowest one.",
                next="sort by start first"),
        Mistake(wrong.highest_first, "Starts with the highest piece, and packs them in reverse. They keep their order.",
                next="sort by start, the lowest first"),
        Mistake(wrong.sorts_the_callers_list,
                "chunks.sort() changes the caller's list. sorted(chunks) gives a new one.",
                next="use sorted()", mutates="chunks"),
        Mistake(wrong.counts_moves,
                "Counts moves. A move of a long piece copies more than a move of a short one: count tokens.",
                next="add up the sizes of the moves"),
        Mistake(wrong.right_to_left,
                "Starts with the highest piece: it lands on one that has still to move, and overwrites it.",
                next="move the lowest piece first"),
        Mistake(wrong.distance_times_size, "Multiplies by the distance. Copying a token costs the same near or far.",
                next="add up the sizes of the moves"),
        Mistake(wrong.to_and_from_swapped, "Looks like from and to have changed places in the moves.",
                next="write (from, to, size)"),
        Mistake(wrong.by_size, "Puts the pieces in order of size. They keep the order in which they lie.",
                next="sort by start"),
        Mistake(wrong.longest_first, "Puts the longest piece first. They keep the order in which they lie.",
                next="sort by start"),
        Mistake(wrong.to_where_the_last_one_was,
                "Slides each piece to where the one before it ended. That one has moved to the left as well.",
                next="let each piece start where the one before it ends now"),
        Mistake(wrong.first_piece_stays, "Leaves the first piece where it is. It slides to slot 0.",
                next="begin with to = 0"),
        Mistake(wrong.stays_take_no_room,
                "Counts only pieces that move. One that stays takes room too, and the next goes behind it.",
                next="add the size of every piece to the place of the next"),
        Mistake(wrong.end_in_place_of_size, "The third number says where a move ends. Wanted is how long the piece is.",
                next="write (from, to, size)"),
        Mistake(wrong.moves_alone, "Gives the moves alone. The second half of the answer is how many tokens they copy.",
                next="return moves, tokens_moved"),
        Mistake(wrong.only_the_first_gap,
                "Closes the first gap only and shifts all that follows by it. Later gaps stay open.",
                next="let each piece start where the one before it ends now"),
    ),
    hints=(
        "Pieces at 0 (4 slots), 6 (3) and 12 (5): where does each end up, and which of them has to be copied?",
        "Go from left to right and remember the first free slot. A piece goes there unless it is there already.",
        "to = 0; for start, size in sorted(chunks): if start != to, append (start, to, size); then to += size.",
    ),
)
