"""`gather_kv` as beginners write it."""

from __future__ import annotations

import math

from kvlab.course.exercises.lab04_tensors import torch


def pages(pool, blocks):
    return pool[torch.tensor(blocks, dtype=torch.int64)]


def needed(pool, length):
    return -(-length // pool.shape[1])


def not_cut(pool, table, length):
    return pages(pool, table[: needed(pool, length)]).flatten(0, 1)


def whole_table(pool, table, length):
    return pages(pool, table).flatten(0, 1)[:length]


def whole_table_not_cut(pool, table, length):
    return pages(pool, table).flatten(0, 1)


def rounds_down(pool, table, length):
    return pages(pool, table[: length // pool.shape[1]]).flatten(0, 1)[:length]


def rounds_down_joined(pool, table, length):
    return torch.cat([pool[block] for block in table[: length // pool.shape[1]]])[:length]


def one_block_too_many(pool, table, length):
    return pages(pool, table[: length // pool.shape[1] + 1]).flatten(0, 1)[:length]


def contiguous(pool, table, length):
    first = table[0] * pool.shape[1] if length else 0
    return pool.flatten(0, 1)[first : first + length]


def positions(pool, table, length):
    return pool.flatten(0, 1)[:length]


def sorted_blocks(pool, table, length):
    return pages(pool, sorted(table[: needed(pool, length)])).flatten(0, 1)[:length]


def boolean_mask(pool, table, length):
    mine = torch.zeros(pool.shape[0], dtype=torch.bool)
    mine[table[: needed(pool, length)]] = True
    return pool[mine].flatten(0, 1)[:length]


def blocks_as_slots(pool, table, length):
    slots = [table[i // pool.shape[1]] + i % pool.shape[1] for i in range(length)]
    return pool.flatten(0, 1)[torch.tensor(slots).long()]


def not_flattened(pool, table, length):
    return pages(pool, table[: needed(pool, length)])


def list_of_blocks(pool, table, length):
    return [pool[block] for block in table[: needed(pool, length)]]


def offsets_first(pool, table, length):
    return pages(pool, table[: needed(pool, length)]).transpose(0, 1).flatten(0, 1)[:length]


def cats_nothing(pool, table, length):
    return torch.cat([pool[block] for block in table[: needed(pool, length)]])[:length]


def stacks_nothing(pool, table, length):
    size = pool.shape[1]
    return torch.stack([pool[table[i // size], i % size] for i in range(length)])


def float_table(pool, table, length):
    return pool[torch.tensor(table[: needed(pool, length)])].flatten(0, 1)[:length]


def one_short(pool, table, length):
    return pages(pool, table[: needed(pool, length)]).flatten(0, 1)[: max(length - 1, 0)]


def cuts_every_block(pool, table, length):
    filled = length - (needed(pool, length) - 1) * pool.shape[1]
    return pages(pool, table[: needed(pool, length)])[:, :filled].flatten(0, 1)


def blocks_of_sixteen(pool, table, length):
    return pages(pool, table[: math.ceil(length / 16)]).flatten(0, 1)[:length]


def pops_the_table(pool, table, length):
    found = pages(pool, [table.pop(0) for _ in range(needed(pool, length))])
    return found.flatten(0, 1)[:length]


def one_head(pool, table, length):
    return pages(pool, table[: needed(pool, length)]).flatten(0, 1)[:length, 0]


def flattens_all(pool, table, length):
    return pages(pool, table[: needed(pool, length)]).flatten(0, 1)[:length].flatten(1)


def table_of_slots(pool, table, length):
    return pool.flatten(0, 1)[torch.tensor(table).long()]


def needed_table_of_slots(pool, table, length):
    return pool.flatten(0, 1)[torch.tensor(table[: needed(pool, length)]).long()]


def cut_at_blocks(pool, table, length):
    return pages(pool, table[: needed(pool, length)]).flatten(0, 1)[: needed(pool, length)]


def whole_table_cut_at_blocks(pool, table, length):
    return pages(pool, table).flatten(0, 1)[: needed(pool, length)]


def last_block_is_full(pool, table, length):
    found, size = torch.zeros(length, *pool.shape[2:]), pool.shape[1]
    for i in range(needed(pool, length)):
        found[i * size : (i + 1) * size] = pool[table[i]]
    return found


def last_block_is_full_too(pool, table, length):
    found, size = torch.zeros(length, *pool.shape[2:]), pool.shape[1]
    for i, block in enumerate(table):
        found[i * size : (i + 1) * size] = pool[block]
    return found


def blocks_of_four(pool, table, length):
    return pages(pool, table[: math.ceil(length / 4)]).flatten(0, 1)[:length]


def slots_of_four(pool, table, length):
    slots = [table[i // 4] * 4 + i % 4 for i in range(length)]
    return pool.flatten(0, 1)[torch.tensor(slots).long()]
