"""`append_with_cow` as beginners write it: which slot, in which list, of what size, and what a refusal leaves."""

from __future__ import annotations

from kvlab.course.exercises.lab06_copy_mistakes import replaced, right, slot_of
from kvlab.errors import OutOfBlocks
from kvlab.memory import BLOCK_SIZE


def copies_the_other_way(table, num_tokens, pool, block_size):
    slot, copy = right(table, num_tokens, pool, block_size)
    return slot, copy and copy[::-1]


def no_copy_said(table, num_tokens, pool, block_size):
    return right(table, num_tokens, pool, block_size)[0], None


def slot_in_the_old_block(table, num_tokens, pool, block_size):
    old = table[-1] if table else 0
    slot, copy = right(table, num_tokens, pool, block_size)
    return (slot if num_tokens % block_size == 0 else old * block_size + num_tokens % block_size), copy


def slot_alone(table, num_tokens, pool, block_size):
    return right(table, num_tokens, pool, block_size)[0]


def offset_for_slot(table, num_tokens, pool, block_size):
    return num_tokens % block_size, right(table, num_tokens, pool, block_size)[1]


def block_for_slot(table, num_tokens, pool, block_size):
    copy = right(table, num_tokens, pool, block_size)[1]
    return table[-1], copy


def position_for_slot(table, num_tokens, pool, block_size):
    return num_tokens, right(table, num_tokens, pool, block_size)[1]


def slot_of_the_token_before(table, num_tokens, pool, block_size):
    slot, copy = right(table, num_tokens, pool, block_size)
    return slot - 1, copy


def never_takes(table, num_tokens, pool, block_size):
    copy = None
    if pool.ref_count(table[-1]) > 1:
        copy = replaced(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def one_token_too_late(table, num_tokens, pool, block_size):
    copy = None
    if (num_tokens + 1) % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        copy = replaced(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def course_block_size(table, num_tokens, pool, block_size):
    return right(table, num_tokens, pool, BLOCK_SIZE)


def course_block_size_for_slot(table, num_tokens, pool, block_size):
    copy = right(table, num_tokens, pool, block_size)[1]
    return slot_of(table, num_tokens, BLOCK_SIZE), copy


def course_block_size_for_full(table, num_tokens, pool, block_size):
    copy = right(table, num_tokens, pool, BLOCK_SIZE)[1]
    return slot_of(table, num_tokens, block_size), copy


def counts_from_one(table, num_tokens, pool, block_size):
    return right(table, num_tokens + 1, pool, block_size)


def new_list(table, num_tokens, pool, block_size):
    return right(list(table), num_tokens, pool, block_size)


def new_list_where_shared(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        copy = table[-1], *pool.take(1)
        pool.release([copy[0]])
        table = [*table[:-1], copy[1]]
    return slot_of(table, num_tokens, block_size), copy


def swallows(table, num_tokens, pool, block_size):
    try:
        return right(table, num_tokens, pool, block_size)
    except OutOfBlocks:
        return None


def writes_in_place_when_refused(table, num_tokens, pool, block_size):
    try:
        return right(table, num_tokens, pool, block_size)
    except OutOfBlocks:
        return slot_of(table, num_tokens, block_size), None
