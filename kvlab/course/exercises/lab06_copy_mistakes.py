"""`append_with_cow` as beginners write it: when a block is copied, and how another takes its place."""

from __future__ import annotations


def slot_of(table, num_tokens, block_size):
    return table[-1] * block_size + num_tokens % block_size


def replaced(table, pool):
    """The right way to make a block one's own."""
    (fresh,) = pool.take(1)
    old, table[-1] = table[-1], fresh
    pool.release([old])
    return old, fresh


def right(table, num_tokens, pool, block_size, shared=None, replace=replaced):
    """The right append, but for when its last block is shared, and how it is replaced then."""
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif (pool.ref_count(table[-1]) > 1) if shared is None else shared(table, pool):
        copy = replace(table, pool)
    return slot_of(table, num_tokens, block_size), copy


def copies_if(shared):
    """The part that makes a copy where this function says so, and does all else rightly."""

    def part(table, num_tokens, pool, block_size):
        return right(table, num_tokens, pool, block_size, shared=shared)

    part.__name__ = shared.__name__
    return part


def replaces(replace):
    """The part that replaces a shared block in this way, which says the copy, and does all else rightly."""

    def part(table, num_tokens, pool, block_size):
        return right(table, num_tokens, pool, block_size, replace=replace)

    part.__name__ = replace.__name__
    return part


@copies_if
def copies_always(table, pool):
    return True


@copies_if
def never_copies(table, pool):
    return False


@copies_if
def only_from_three_owners(table, pool):
    return pool.ref_count(table[-1]) > 2


@copies_if
def if_any_block_is_shared(table, pool):
    return any(pool.ref_count(block) > 1 for block in table)


@copies_if
def looks_at_the_first_block(table, pool):
    return pool.ref_count(table[0]) > 1


def copies_full_blocks_too(table, num_tokens, pool, block_size):
    copy = None
    if table and pool.ref_count(table[-1]) > 1:
        copy = replaced(table, pool)
    if num_tokens % block_size == 0:
        table += pool.take(1)
    return slot_of(table, num_tokens, block_size), copy


def copies_a_full_block_instead(table, num_tokens, pool, block_size):
    copy = None
    if table and pool.ref_count(table[-1]) > 1:
        copy = replaced(table, pool)
    elif num_tokens % block_size == 0:
        table += pool.take(1)
    return slot_of(table, num_tokens, block_size), copy


@replaces
def old_block_not_released(table, pool):
    (fresh,) = pool.take(1)
    old, table[-1] = table[-1], fresh
    return old, fresh


@replaces
def releases_before_the_pool_agrees(table, pool):
    old = table[-1]
    pool.release([old])
    (table[-1],) = pool.take(1)
    return old, table[-1]


@replaces
def shortens_before_the_pool_agrees(table, pool):
    old = table.pop()
    table += pool.take(1)
    pool.release([old])
    return old, table[-1]


@replaces
def adds_beside_the_old_block(table, pool):
    copy = table[-1], *pool.take(1)
    table.append(copy[1])
    pool.release([copy[0]])
    return copy


@replaces
def releases_the_whole_table(table, pool):
    (fresh,) = pool.take(1)
    copy = table[-1], fresh
    pool.release(table)
    table[-1] = fresh
    return copy


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


def shares_the_new_block(table, num_tokens, pool, block_size):
    slot, copy = right(table, num_tokens, pool, block_size)
    if copy:
        pool.share([copy[1]])
    return slot, copy
