"""`append_with_cow` as beginners write it."""

from __future__ import annotations

from kvlab.errors import OutOfBlocks
from kvlab.memory import BLOCK_SIZE


def slot_of(table, num_tokens, block_size):
    return table[-1] * block_size + num_tokens % block_size


def _replace(table, pool):
    """The right way to make a block one's own."""
    (fresh,) = pool.take(1)
    old, table[-1] = table[-1], fresh
    pool.release([old])
    return old, fresh


def _right(table, num_tokens, pool, block_size, limit=1):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > limit:
        copy = _replace(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def copies_always(table, num_tokens, pool, block_size):
    return _right(table, num_tokens, pool, block_size, limit=0)


def never_copies(table, num_tokens, pool, block_size):
    return _right(table, num_tokens, pool, block_size, limit=10**9)


def only_from_three_owners(table, num_tokens, pool, block_size):
    return _right(table, num_tokens, pool, block_size, limit=2)


def copies_full_blocks_too(table, num_tokens, pool, block_size):
    copy = None
    if table and pool.ref_count(table[-1]) > 1:
        copy = _replace(table, pool)
    if num_tokens % block_size == 0:
        table += pool.take(1)
    return slot_of(table, num_tokens, block_size), copy


def copies_a_full_block_instead(table, num_tokens, pool, block_size):
    copy = None
    if table and pool.ref_count(table[-1]) > 1:
        copy = _replace(table, pool)
    elif num_tokens % block_size == 0:
        table += pool.take(1)
    return slot_of(table, num_tokens, block_size), copy


def if_any_block_is_shared(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif any(pool.ref_count(block) > 1 for block in table):
        copy = _replace(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def looks_at_the_first_block(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[0]) > 1:
        copy = _replace(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def old_block_not_released(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        (fresh,) = pool.take(1)
        copy = table[-1], fresh
        table[-1] = fresh
    return slot_of(table, num_tokens, block_size), copy


def releases_before_the_pool_agrees(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        old = table[-1]
        pool.release([old])
        (fresh,) = pool.take(1)
        copy, table[-1] = (old, fresh), fresh
    return slot_of(table, num_tokens, block_size), copy


def shortens_before_the_pool_agrees(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        old = table.pop()
        table += pool.take(1)
        pool.release([old])
        copy = old, table[-1]
    return slot_of(table, num_tokens, block_size), copy


def releases_before_it_looks(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    else:
        old = table[-1]
        pool.release([old])
        if pool.ref_count(old) > 0:
            (table[-1],) = pool.take(1)
            copy = old, table[-1]
    return slot_of(table, num_tokens, block_size), copy


def takes_first_and_perhaps_for_nothing(table, num_tokens, pool, block_size):
    (fresh,) = pool.take(1)
    copy = None
    if num_tokens % block_size == 0:
        table.append(fresh)
    elif pool.ref_count(table[-1]) > 1:
        copy = table[-1], fresh
        pool.release([table[-1]])
        table[-1] = fresh
    return slot_of(table, num_tokens, block_size), copy


def adds_beside_the_old_block(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        copy = table[-1], *pool.take(1)
        table.append(copy[1])
        pool.release([copy[0]])
    return slot_of(table, num_tokens, block_size), copy


def copies_the_other_way(table, num_tokens, pool, block_size):
    slot, copy = _right(table, num_tokens, pool, block_size)
    return slot, copy and copy[::-1]


def no_copy_said(table, num_tokens, pool, block_size):
    return _right(table, num_tokens, pool, block_size)[0], None


def slot_in_the_old_block(table, num_tokens, pool, block_size):
    old = table[-1] if table else 0
    slot, copy = _right(table, num_tokens, pool, block_size)
    return (slot if num_tokens % block_size == 0 else old * block_size + num_tokens % block_size), copy


def slot_alone(table, num_tokens, pool, block_size):
    return _right(table, num_tokens, pool, block_size)[0]


def offset_for_slot(table, num_tokens, pool, block_size):
    return num_tokens % block_size, _right(table, num_tokens, pool, block_size)[1]


def block_for_slot(table, num_tokens, pool, block_size):
    copy = _right(table, num_tokens, pool, block_size)[1]
    return table[-1], copy


def position_for_slot(table, num_tokens, pool, block_size):
    return num_tokens, _right(table, num_tokens, pool, block_size)[1]


def slot_of_the_token_before(table, num_tokens, pool, block_size):
    slot, copy = _right(table, num_tokens, pool, block_size)
    return slot - 1, copy


def never_takes(table, num_tokens, pool, block_size):
    copy = None
    if pool.ref_count(table[-1]) > 1:
        copy = _replace(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def one_token_too_late(table, num_tokens, pool, block_size):
    copy = None
    if (num_tokens + 1) % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        copy = _replace(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def course_block_size(table, num_tokens, pool, block_size):
    return _right(table, num_tokens, pool, BLOCK_SIZE)


def course_block_size_for_slot(table, num_tokens, pool, block_size):
    copy = _right(table, num_tokens, pool, block_size)[1]
    return slot_of(table, num_tokens, BLOCK_SIZE), copy


def course_block_size_for_full(table, num_tokens, pool, block_size):
    copy = _right(table, num_tokens, pool, BLOCK_SIZE)[1]
    return slot_of(table, num_tokens, block_size), copy


def counts_from_one(table, num_tokens, pool, block_size):
    return _right(table, num_tokens + 1, pool, block_size)


def new_list(table, num_tokens, pool, block_size):
    return _right(list(table), num_tokens, pool, block_size)


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
        return _right(table, num_tokens, pool, block_size)
    except OutOfBlocks:
        return None


def writes_in_place_when_refused(table, num_tokens, pool, block_size):
    try:
        return _right(table, num_tokens, pool, block_size)
    except OutOfBlocks:
        return slot_of(table, num_tokens, block_size), None


def shares_the_new_block(table, num_tokens, pool, block_size):
    slot, copy = _right(table, num_tokens, pool, block_size)
    if copy:
        pool.share([copy[1]])
    return slot, copy


def releases_the_whole_table(table, num_tokens, pool, block_size):
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        (fresh,) = pool.take(1)
        copy = table[-1], fresh
        pool.release(table)
        table[-1] = fresh
    return slot_of(table, num_tokens, block_size), copy
