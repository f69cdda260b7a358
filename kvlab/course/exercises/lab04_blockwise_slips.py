"""More of `attend_blockwise` as beginners write it: what is read, what is scaled, and what comes back."""

from __future__ import annotations

from kvlab.course.exercises.lab04_blockwise_mistakes import finish, walk
from kvlab.course.exercises.lab04_tensors import torch


def sum_without_log(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale)
    return finish(length, largest, total, output)[0], largest + total


def log_without_largest(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale)
    return finish(length, largest, total, output)[0], total.log()


def largest_alone(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale)
    return finish(length, largest, total, output)[0], largest


def sum_alone(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale)
    return finish(length, largest, total, output)[0], total


def log_of_largest_less(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale)
    return finish(length, largest, total, output)[0], total.log() - largest


def output_alone(query, key_pool, value_pool, table, length, scale=None):
    return finish(length, *walk(query, key_pool, value_pool, table, length, scale))[0]


def lse_first(query, key_pool, value_pool, table, length, scale=None):
    return finish(length, *walk(query, key_pool, value_pool, table, length, scale))[::-1]


def lse_kept_apart(query, key_pool, value_pool, table, length, scale=None):
    output, lse = finish(length, *walk(query, key_pool, value_pool, table, length, scale))
    return output, lse[:, None]


def reads_whole_blocks(query, key_pool, value_pool, table, length, scale=None):
    size = key_pool.shape[1]
    return finish(length, *walk(query, key_pool, value_pool, table, -(-length // size) * size, scale))


def all_entries(query, key_pool, value_pool, table, length, scale=None):
    if any(not 0 <= block < key_pool.shape[0] for block in table):
        raise IndexError("a block that does not exist")
    return finish(length, *walk(query, key_pool, value_pool, table, length, scale))


def drops_the_rest(query, key_pool, value_pool, table, length, scale=None):
    size = key_pool.shape[1]
    return finish(length, *walk(query, key_pool, value_pool, table, length // size * size, scale))


def one_block_too_many(query, key_pool, value_pool, table, length, scale=None):
    if length % key_pool.shape[1] == 0:
        key_pool[table[length // key_pool.shape[1]], :0].amax(0)  # of a block that is not there, or of no token
    return finish(length, *walk(query, key_pool, value_pool, table, length, scale))


def first_block_alone(query, key_pool, value_pool, table, length, scale=None):
    return finish(length, *walk(query, key_pool, value_pool, table, min(length, key_pool.shape[1]), scale))


def blocks_in_order(query, key_pool, value_pool, table, length, scale=None):
    return finish(length, *walk(query, key_pool, value_pool, list(range(key_pool.shape[0])), length, scale))


def repeats_heads(query, key_pool, value_pool, table, length, scale=None):
    share = query.shape[0] // key_pool.shape[2]
    key_pool, value_pool = key_pool.repeat(1, 1, share, 1), value_pool.repeat(1, 1, share, 1)
    return finish(length, *walk(query, key_pool, value_pool, table, length, scale))


def no_scale(query, key_pool, value_pool, table, length, scale=None):
    return finish(length, *walk(query, key_pool, value_pool, table, length, 1.0))


def ignores_scale(query, key_pool, value_pool, table, length, scale=None):
    return finish(length, *walk(query, key_pool, value_pool, table, length))


def scales_twice(query, key_pool, value_pool, table, length, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return finish(length, *walk(query, key_pool, value_pool, table, length, scale * scale))


def keys_for_values(query, key_pool, value_pool, table, length, scale=None):
    return finish(length, *walk(query, key_pool, key_pool, table, length, scale))


def gathers_everything(query, key_pool, value_pool, table, length, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    pages = torch.tensor(table[: -(-length // key_pool.shape[1])], dtype=torch.int64)
    share = query.shape[0] // key_pool.shape[2]
    key, value = (pool[pages].flatten(0, 1)[:length].repeat_interleave(share, 1) for pool in (key_pool, value_pool))
    scores = torch.einsum("hd,thd->ht", query, key) * scale
    return torch.einsum("ht,thd->hd", scores.softmax(1), value), scores.logsumexp(1)


def keeps_all_scores(query, key_pool, value_pool, table, length, scale=None):
    if length == 0:
        return finish(0, *walk(query, key_pool, value_pool, table, 0, scale))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    size, share = key_pool.shape[1], query.shape[0] // key_pool.shape[2]
    found = []
    for start in range(0, length, size):
        key = key_pool[table[start // size], : length - start].repeat_interleave(share, 1)
        found.append(torch.einsum("hd,thd->ht", query, key) * scale)
    scores = torch.cat(found, 1)
    weights, output = scores.softmax(1), 0
    for start in range(0, length, size):
        value = value_pool[table[start // size], : length - start].repeat_interleave(share, 1)
        output = output + torch.einsum("ht,thd->hd", weights[:, start : start + size], value)
    return output, scores.logsumexp(1)


def zeros_for_lse(query, key_pool, value_pool, table, length, scale=None):
    output, lse = finish(length, *walk(query, key_pool, value_pool, table, length, scale))
    return output, torch.zeros_like(lse)


def like_the_query(query, key_pool, value_pool, table, length, scale=None):
    output, lse = finish(length, *walk(query, key_pool, value_pool, table, length, scale))
    return torch.zeros_like(query) + output, lse
