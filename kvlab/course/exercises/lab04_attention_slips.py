"""More of `paged_attention` as beginners write it: what has to do with the scale, and with which tokens are read."""

from __future__ import annotations

from kvlab.course.exercises.lab04_attention_mistakes import (
    each,
    gather,
    gather_whole_blocks,
    plain,
    scored,
    spread,
)
from kvlab.course.exercises.lab04_tensors import torch


def collects(collect):
    """The part that does all else rightly, and collects keys and values as this function does."""

    def part(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
        return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale, collect=collect)

    part.__name__ = collect.__name__
    return part


def no_scale(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, 1.0)


def ignores_scale(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, None)


def scales_twice(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return each(query * scale, key_pool, value_pool, block_tables, query_start, context_lengths, scale)


def divides_by_dim(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = 1 / query.shape[-1] if scale is None else scale
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale)


def divides_by_scale(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = query.shape[-1] ** 0.5 if scale is None else scale
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, 1 / scale)


def divides_by_either(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, 1 / scale)


def scales_in_place(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    query *= query.shape[-1] ** -0.5 if scale is None else scale
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, 1.0)


def keys_for_values(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    return each(query, key_pool, key_pool, block_tables, query_start, context_lengths, scale)


def reads_the_padding(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    def attend(query, key, value, scale):
        return (scored(query, key, scale).softmax(-1) @ spread(value, query)).transpose(0, 1)

    collect = gather_whole_blocks
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale, attend, collect)


def masks_the_padding(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    output = torch.zeros(len(query), query.shape[1], value_pool.shape[-1])
    for s, length in enumerate(context_lengths.tolist()):
        rows = slice(int(query_start[s]), int(query_start[s + 1]))
        if length and rows.start < rows.stop:
            key, value = (gather_whole_blocks(pool, block_tables[s], length) for pool in (key_pool, value_pool))
            at = torch.arange(length - (rows.stop - rows.start), length)
            scores = scored(query[rows], key, scale)
            scores = scores.masked_fill(torch.arange(len(key)) > at[:, None], float("-inf"))
            output[rows] = (scores.softmax(-1) @ spread(value, query)).transpose(0, 1)
    return output


@collects
def whole_tables(pool, table, length):
    return pool[table.long()].flatten(0, 1)[:length]


def longest_table(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    most = -(-int(context_lengths.max()) // key_pool.shape[1])

    def collect(pool, table, length):
        return pool[table[:most].long()].flatten(0, 1)[:length]

    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale, collect=collect)


@collects
def one_block_too_many(pool, table, length):
    return pool[table[: length // pool.shape[1] + 1].long()].flatten(0, 1)[:length]


@collects
def contiguous(pool, table, length):
    return pool.flatten(0, 1)[int(table[0]) * pool.shape[1] :][:length]


def first_table(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    tables = block_tables[:1].expand(len(block_tables), -1)
    return each(query, key_pool, value_pool, tables, query_start, context_lengths, scale)


def longest_for_all(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    lengths = context_lengths.max().expand(len(context_lengths))
    return each(query, key_pool, value_pool, block_tables, query_start, lengths, scale)


def stacks_conversations(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    rows = each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale)
    return torch.stack(rows.split(query_start.diff().tolist()))


def first_query_alone(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    output = torch.zeros(len(query), query.shape[1], value_pool.shape[-1])
    for s, length in enumerate(context_lengths.tolist()):
        if length:
            row = slice(int(query_start[s]), int(query_start[s]) + 1)
            key, value = (gather(pool, block_tables[s], length) for pool in (key_pool, value_pool))
            output[row] = plain(query[row], key, value, scale)
    return output


def row_per_conversation(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    start = torch.arange(len(context_lengths) + 1)
    return each(query, key_pool, value_pool, block_tables, start, context_lengths, scale)


def context_zero_divides(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    output = each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale)
    for s, length in enumerate(context_lengths.tolist()):
        if length == 0:
            output[int(query_start[s]) : int(query_start[s + 1])] = float("nan")  # softmax of a row of -inf
    return output


def stacks_nothing(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    def collect(pool, table, length):
        return torch.stack([pool[int(table[i // pool.shape[1]]), i % pool.shape[1]] for i in range(length)])

    for s in (context_lengths == 0).nonzero().flatten().tolist():
        collect(key_pool, block_tables[s], 0)
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale, collect=collect)


def skips_empty(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    parts = []
    for s, length in enumerate(context_lengths.tolist()):
        if length:
            rows = query[int(query_start[s]) : int(query_start[s + 1])]
            key, value = (gather(pool, block_tables[s], length) for pool in (key_pool, value_pool))
            parts.append(plain(rows, key, value, scale))
    return torch.cat(parts)


def heads_first(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale).transpose(0, 1)


def like_the_query(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    output = torch.zeros_like(query)
    output[:] = each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale)
    return output


def views_query(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    query = query.view(len(query), -1).view(len(query), -1, query.shape[-1])
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale)


def no_options(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None):
    return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale)
