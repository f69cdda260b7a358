"""`append_tokens` as beginners write it."""

from __future__ import annotations

from kvlab.errors import OutOfBlocks


def blocks(n, block_size):
    return -(-n // block_size)


def slots(table, start, stop, block_size):
    return [table[i // block_size] * block_size + i % block_size for i in range(start, stop)]


def contiguous(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take(blocks(num_tokens + new_tokens, block_size) - len(table)))
    if not new_tokens:
        return []
    first = table[num_tokens // block_size] * block_size + num_tokens % block_size
    return list(range(first, first + new_tokens))


def new_blocks_each_time(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take(blocks(new_tokens, block_size)))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def all_blocks_again(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take(blocks(num_tokens + new_tokens, block_size)))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def one_block_at_most(table, num_tokens, new_tokens, pool, block_size):
    if num_tokens % block_size == 0:
        table.extend(pool.take(1))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def room_where_none_is(table, num_tokens, new_tokens, pool, block_size):
    room = block_size - num_tokens % block_size
    if new_tokens > room:
        table.extend(pool.take(blocks(new_tokens - room, block_size)))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def one_block_a_token(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take(new_tokens))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def one_too_early(table, num_tokens, new_tokens, pool, block_size):
    total = num_tokens + new_tokens
    table.extend(pool.take(total // block_size + 1 - len(table)))
    return slots(table, num_tokens, total, block_size)


def one_too_late(table, num_tokens, new_tokens, pool, block_size):
    total = num_tokens + new_tokens
    table.extend(pool.take(total // block_size - len(table)))
    return slots(table, num_tokens, total, block_size)


def new_list(table, num_tokens, new_tokens, pool, block_size):
    table = table + pool.take(blocks(num_tokens + new_tokens, block_size) - len(table))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def nested(table, num_tokens, new_tokens, pool, block_size):
    table.append(pool.take(blocks(num_tokens + new_tokens, block_size) - len(table)))
    flat = [block for part in table for block in (part if isinstance(part, list) else [part])]
    return slots(flat, num_tokens, num_tokens + new_tokens, block_size)


def one_by_one(table, num_tokens, new_tokens, pool, block_size):
    while len(table) < blocks(num_tokens + new_tokens, block_size):
        table.extend(pool.take(1))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def one_by_one_kept_aside(table, num_tokens, new_tokens, pool, block_size):
    taken = []
    while len(table) + len(taken) < blocks(num_tokens + new_tokens, block_size):
        taken += pool.take(1)
    table.extend(taken)
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def _right(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take(blocks(num_tokens + new_tokens, block_size) - len(table)))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def swallows(table, num_tokens, new_tokens, pool, block_size):
    try:
        return _right(table, num_tokens, new_tokens, pool, block_size)
    except OutOfBlocks:
        return []


def returns_none_on_refusal(table, num_tokens, new_tokens, pool, block_size):
    try:
        return _right(table, num_tokens, new_tokens, pool, block_size)
    except OutOfBlocks:
        return None


def returns_table(table, num_tokens, new_tokens, pool, block_size):
    _right(table, num_tokens, new_tokens, pool, block_size)
    return table


def returns_new_blocks(table, num_tokens, new_tokens, pool, block_size):
    taken = pool.take(blocks(num_tokens + new_tokens, block_size) - len(table))
    table.extend(taken)
    return taken


def all_slots(table, num_tokens, new_tokens, pool, block_size):
    _right(table, num_tokens, new_tokens, pool, block_size)
    return slots(table, 0, num_tokens + new_tokens, block_size)


def from_slot_zero(table, num_tokens, new_tokens, pool, block_size):
    _right(table, num_tokens, new_tokens, pool, block_size)
    return slots(table, 0, new_tokens, block_size)


def positions(table, num_tokens, new_tokens, pool, block_size):
    _right(table, num_tokens, new_tokens, pool, block_size)
    return list(range(num_tokens, num_tokens + new_tokens))


def num_tokens_as_total(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take(blocks(num_tokens, block_size) - len(table)))
    return slots(table, num_tokens - new_tokens, num_tokens, block_size)


def num_tokens_as_total_slots_after(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take(blocks(num_tokens, block_size) - len(table)))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def table_replaced(table, num_tokens, new_tokens, pool, block_size):
    table[:] = pool.take(blocks(num_tokens + new_tokens, block_size) - len(table))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def slots_of_new_blocks(table, num_tokens, new_tokens, pool, block_size):
    taken = pool.take(blocks(num_tokens + new_tokens, block_size) - len(table))
    table.extend(taken)
    return slots(taken, 0, new_tokens, block_size)


def all_slots_of_new_blocks(table, num_tokens, new_tokens, pool, block_size):
    taken = pool.take(blocks(num_tokens + new_tokens, block_size) - len(table))
    table.extend(taken)
    return [block * block_size + offset for block in taken for offset in range(block_size)]


def first_slots_of_new_blocks(table, num_tokens, new_tokens, pool, block_size):
    return all_slots_of_new_blocks(table, num_tokens, new_tokens, pool, block_size)[:new_tokens]


def new_tokens_as_stop(table, num_tokens, new_tokens, pool, block_size):
    _right(table, num_tokens, new_tokens, pool, block_size)
    return slots(table, num_tokens, new_tokens, block_size)


def one_slot_too_late(table, num_tokens, new_tokens, pool, block_size):
    _right(table, num_tokens, new_tokens, pool, block_size)
    return slots(table, num_tokens + 1, num_tokens + new_tokens + 1, block_size)


def one_slot_too_many(table, num_tokens, new_tokens, pool, block_size):
    _right(table, num_tokens, new_tokens, pool, block_size)
    return slots(table, num_tokens, num_tokens + new_tokens + 1, block_size)


def part_of_a_block(table, num_tokens, new_tokens, pool, block_size):
    table.extend(pool.take((num_tokens + new_tokens) / block_size - len(table)))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)


def last_slot(table, num_tokens, new_tokens, pool, block_size):
    found = _right(table, num_tokens, new_tokens, pool, block_size)
    return found[-1] if found else None


def front(table, num_tokens, new_tokens, pool, block_size):
    table[:0] = pool.take(blocks(num_tokens + new_tokens, block_size) - len(table))
    return slots(table, num_tokens, num_tokens + new_tokens, block_size)
