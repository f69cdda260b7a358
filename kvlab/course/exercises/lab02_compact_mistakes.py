"""`compact` as beginners write it."""

from __future__ import annotations


def moves_that_stay(chunks):
    moves, to = [], 0
    for start, size in sorted(chunks):
        moves.append((start, to, size))
        to += size
    return moves, sum(size for _, _, size in moves)


def moves_that_stay_uncounted(chunks):
    moves, _ = moves_that_stay(chunks)
    return moves, sum(size for start, to, size in moves if start != to)


def counts_all_tokens(chunks):
    return compacted(sorted(chunks))[0], sum(size for _, size in chunks)


def compacted(chunks, to=0):
    moves = []
    for start, size in chunks:
        if start != to:
            moves.append((start, to, size))
        to += size
    return moves, sum(size for _, _, size in moves)


def in_given_order(chunks):
    return compacted(chunks)


def sorts_the_callers_list(chunks):
    chunks.sort()
    return compacted(chunks)


def counts_moves(chunks):
    moves, _ = compacted(sorted(chunks))
    return moves, len(moves)


def right_to_left(chunks):
    moves, tokens = compacted(sorted(chunks))
    return moves[::-1], tokens


def distance_times_size(chunks):
    moves, _ = compacted(sorted(chunks))
    return moves, sum((start - to) * size for start, to, size in moves)


def to_and_from_swapped(chunks):
    moves, tokens = compacted(sorted(chunks))
    return [(to, start, size) for start, to, size in moves], tokens


def by_size(chunks):
    return compacted(sorted(chunks, key=lambda chunk: chunk[1]))


def moves_alone(chunks):
    return compacted(sorted(chunks))[0]


def only_the_first_gap(chunks):
    moves, end, gap = [], 0, 0
    for start, size in sorted(chunks):
        gap = gap or start - end
        if gap:
            moves.append((start, start - gap, size))
        end = start + size
    return moves, sum(size for _, _, size in moves)


def leftwards_in_given_order(chunks):
    moves, to = [], 0
    for start, size in chunks:
        if start > to:
            moves.append((start, to, size))
        to += size
    return moves, sum(size for _, _, size in moves)


def highest_first(chunks):
    return compacted(sorted(chunks, reverse=True))


def longest_first(chunks):
    return compacted(sorted(chunks, key=lambda chunk: -chunk[1]))


def to_where_the_last_one_was(chunks):
    moves, end = [], 0
    for start, size in sorted(chunks):
        if start != end:
            moves.append((start, end, size))
        end = start + size
    return moves, sum(size for _, _, size in moves)


def first_piece_stays(chunks):
    return compacted(sorted(chunks), min(chunks, default=(0, 0))[0])


def stays_take_no_room(chunks):
    moves, to = [], 0
    for start, size in sorted(chunks):
        if start != to:
            moves.append((start, to, size))
            to += size
    return moves, sum(size for _, _, size in moves)


def end_in_place_of_size(chunks):
    moves, tokens = compacted(sorted(chunks))
    return [(start, to, to + size) for start, to, size in moves], tokens
