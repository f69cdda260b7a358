"""`write_kv` as beginners write it."""

from __future__ import annotations

from kvlab.course.exercises.lab04_tensors import torch


def pads_write_last(key_pool, value_pool, key, value, slots):
    block_size = key_pool.shape[1]
    key_pool[slots // block_size, slots % block_size] = key
    value_pool[slots // block_size, slots % block_size] = value


def clamps(key_pool, value_pool, key, value, slots):
    pads_write_last(key_pool, value_pool, key, value, slots.clamp(min=0))


def zeroes_padding(key_pool, value_pool, key, value, slots):
    real = (slots >= 0)[:, None, None]
    pads_write_last(key_pool, value_pool, torch.where(real, key, 0.0), torch.where(real, value, 0.0), slots)


def rows_not_filtered(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    count = int(real.sum())
    pads_write_last(key_pool, value_pool, key[:count], value[:count], slots[real])


def slots_alone_filtered(key_pool, value_pool, key, value, slots):
    pads_write_last(key_pool, value_pool, key, value, slots[slots >= 0])


def skips_slot_zero(key_pool, value_pool, key, value, slots):
    real = slots > 0
    pads_write_last(key_pool, value_pool, key[real], value[real], slots[real])


def stops_at_padding(key_pool, value_pool, key, value, slots):
    for token, slot in enumerate(slots.tolist()):
        if slot < 0:
            break
        pads_write_last(key_pool, value_pool, key[token], value[token], torch.tensor(slot))


def gives_up_at_padding(key_pool, value_pool, key, value, slots):
    if not (slots < 0).any():
        pads_write_last(key_pool, value_pool, key, value, slots)


def never_the_last(key_pool, value_pool, key, value, slots):
    real = (slots >= 0) & (slots < key_pool.shape[0] * key_pool.shape[1] - 1)
    pads_write_last(key_pool, value_pool, key[real], value[real], slots[real])


def by_order(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    numbers = torch.arange(int(real.sum()))
    pads_write_last(key_pool, value_pool, key[real], value[real], numbers)


def previous_plus_one(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    if real.any():
        numbers = slots[real][0] + torch.arange(int(real.sum()))
        pads_write_last(key_pool, value_pool, key[real], value[real], numbers)


def to_a_copy(key_pool, value_pool, key, value, slots):
    key_pool, value_pool = key_pool.clone(), value_pool.clone()
    real = slots >= 0
    pads_write_last(key_pool, value_pool, key[real], value[real], slots[real])
    return key_pool, value_pool


def swapped_parts(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    block_size = key_pool.shape[1]
    block, offset = slots[real] % block_size, slots[real] // block_size
    key_pool[block, offset] = key[real]
    value_pool[block, offset] = value[real]


def other_size(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    num_blocks = key_pool.shape[0]
    block, offset = slots[real] // num_blocks, slots[real] % num_blocks
    key_pool[block, offset] = key[real]
    value_pool[block, offset] = value[real]


def blocks_of_sixteen(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    key_pool[slots[real] // 16, slots[real] % 16] = key[real]
    value_pool[slots[real] // 16, slots[real] % 16] = value[real]


def whole_block(key_pool, value_pool, key, value, slots):
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            key_pool[slot // key_pool.shape[1]] = key[token]
            value_pool[slot // key_pool.shape[1]] = value[token]


def keys_alone(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    pads_write_last(key_pool, key_pool, key[real], key[real], slots[real])


def values_over_keys(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    block_size = key_pool.shape[1]
    for rows in (key, value):
        key_pool[slots[real] // block_size, slots[real] % block_size] = rows[real]


def keys_twice(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    pads_write_last(key_pool, value_pool, key[real], key[real], slots[real])


def adds(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    block_size = key_pool.shape[1]
    key_pool[slots[real] // block_size, slots[real] % block_size] += key[real]
    value_pool[slots[real] // block_size, slots[real] % block_size] += value[real]


def views_rows(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    key, value = key.view(len(slots), -1), value.view(len(slots), -1)
    flat_keys, flat_values = key_pool.flatten(2).flatten(0, 1), value_pool.flatten(2).flatten(0, 1)
    flat_keys[slots[real]] = key[real]
    flat_values[slots[real]] = value[real]


def clears_slots(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    slots.clamp_(min=0)
    pads_write_last(key_pool, value_pool, key[real], value[real], slots[real])


def indexes_twice(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    block_size = key_pool.shape[1]
    block, offset = slots[real] // block_size, slots[real] % block_size
    key_pool[block][offset] = key[real]
    value_pool[block][offset] = value[real]


def indexes_twice_with_padding(key_pool, value_pool, key, value, slots):
    block_size = key_pool.shape[1]
    key_pool[slots // block_size][slots % block_size] = key
    value_pool[slots // block_size][slots % block_size] = value


def blocks_of_four(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    key_pool[slots[real] // 4, slots[real] % 4] = key[real]
    value_pool[slots[real] // 4, slots[real] % 4] = value[real]


def values_as_keys(key_pool, value_pool, key, value, slots):
    real = slots >= 0
    for pool, rows in ((key_pool, key), (value_pool, value)):
        pool.reshape(-1, *key_pool.shape[2:])[slots[real]] = rows[real]
