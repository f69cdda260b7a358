"""`release_window` as beginners write it."""

from __future__ import annotations


def _swap(table, gone, pool, null, share=True):
    leaving = [block for block in table[:gone] if block != null]
    if share:
        pool.share([null] * len(leaving))
    pool.release(leaving)
    for place in range(gone):
        table[place] = null
    return len(leaving)


def one_early(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window + 2) // block_size, pool, null_block)


def one_late(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window) // block_size, pool, null_block)


def two_late(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window - 1) // block_size, pool, null_block)


def rounds_up(table, num_tokens, window, block_size, pool, null_block):
    gone = min(-(-max(0, num_tokens - window + 1) // block_size), len(table))
    return _swap(table, gone, pool, null_block)


def blocks_of_the_window(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, len(table) - -(-window // block_size)), pool, null_block)


def blocks_of_the_window_down(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens // block_size - window // block_size), pool, null_block)


def pops(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = table[:gone]
    pool.release(leaving)
    del table[:gone]
    return len(leaving)


def null_is_nobodys(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window + 1) // block_size, pool, null_block, share=False)


def null_shared_once(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = [block for block in table[:gone] if block != null_block]
    if leaving:
        pool.share([null_block])
    pool.release(leaving)
    table[:gone] = [null_block] * gone
    return len(leaving)


def never_released(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = [block for block in table[:gone] if block != null_block]
    pool.share([null_block] * len(leaving))
    table[:gone] = [null_block] * gone
    return len(leaving)


def only_released(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    pool.release(table[:gone])
    return gone


def counts_all(table, num_tokens, window, block_size, pool, null_block):
    _swap(table, max(0, num_tokens - window + 1) // block_size, pool, null_block)
    return max(0, num_tokens - window + 1) // block_size


def one_a_call(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    for place in range(gone):
        if table[place] != null_block:
            pool.share([null_block])
            pool.release([table[place]])
            table[place] = null_block
            return 1
    return 0


def negative(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, (num_tokens - window + 1) // block_size, pool, null_block)


def only_own_blocks(table, num_tokens, window, block_size, pool, null_block):
    count = 0
    for place in range(max(0, num_tokens - window + 1) // block_size):
        if table[place] != null_block and pool.ref_count(table[place]) == 1:
            pool.share([null_block])
            pool.release([table[place]])
            table[place] = null_block
            count += 1
    return count


def null_is_zero(table, num_tokens, window, block_size, pool, null_block):
    return _swap(table, max(0, num_tokens - window + 1) // block_size, pool, 0)


def zero_is_null(table, num_tokens, window, block_size, pool, null_block):
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = [block for block in table[:gone] if block]
    pool.share([null_block] * len(leaving))
    pool.release(leaving)
    table[:gone] = [null_block if block else block for block in table[:gone]]
    return len(leaving)


def a_new_table(table, num_tokens, window, block_size, pool, null_block):
    copy = list(table)
    return _swap(copy, max(0, num_tokens - window + 1) // block_size, pool, null_block)
