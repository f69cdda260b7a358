"""`paged_attention` as beginners write it: a loop over the conversations, and one thought gone wrong in it."""

from __future__ import annotations

from kvlab.course.exercises.lab04_tensors import torch


def gather(pool, table, length):
    from kvlab.compute import gather_kv  # as in the lab: what it refuses, it refuses in the same way

    return gather_kv(pool, table, length)


def gather_whole_blocks(pool, table, length):
    blocks = torch.as_tensor(table[: -(-length // pool.shape[1])], dtype=torch.int64)
    return pool[blocks].flatten(0, 1)


def causal(queries, length):
    """[queries, length]: True where a key comes later than the query."""
    return torch.arange(length) > torch.arange(length - queries, length)[:, None]


def plain(query, key, value, scale):
    """query [Q, heads, dim] and key, value [C, kv_heads, dim]: the right attention, heads first."""
    scores = scored(query, key, scale).masked_fill(causal(len(query), len(key)), float("-inf"))
    return (scores.softmax(-1) @ spread(value, query)).transpose(0, 1)


def spread(key, query):
    return key.transpose(0, 1).repeat_interleave(query.shape[1] // key.shape[1], 0)


def scored(query, key, scale):
    return query.transpose(0, 1) @ spread(key, query).transpose(1, 2) * scale


def each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale, attend=plain, collect=gather):
    """The loop over the conversations."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    output = torch.zeros(len(query), query.shape[1], value_pool.shape[-1])
    for s, length in enumerate(context_lengths.tolist()):
        rows = slice(int(query_start[s]), int(query_start[s + 1]))
        if length and rows.start < rows.stop:
            key, value = collect(key_pool, block_tables[s], length), collect(value_pool, block_tables[s], length)
            output[rows] = attend(query[rows], key, value, scale)
    return output


def attends(attend):
    """The part that does all else rightly, and attends in each conversation as this function does."""

    def part(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
        return each(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale, attend)

    part.__name__ = attend.__name__
    return part


@attends
def no_mask(query, key, value, scale):
    return (scored(query, key, scale).softmax(-1) @ spread(value, query)).transpose(0, 1)


def masked(query, key, value, scale, later):
    scores = scored(query, key, scale).masked_fill(later, float("-inf"))
    return (scores.softmax(-1) @ spread(value, query)).transpose(0, 1)


@attends
def mask_without_offset(query, key, value, scale):
    later = torch.ones(len(query), len(key)).triu(1).bool()
    return masked(query, key, value, scale, later)


def offset_from_the_batch(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **_):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    output = torch.zeros(len(query), query.shape[1], value_pool.shape[-1])
    for s, length in enumerate(context_lengths.tolist()):
        start, stop = int(query_start[s]), int(query_start[s + 1])
        if length and start < stop:
            key, value = gather(key_pool, block_tables[s], length), gather(value_pool, block_tables[s], length)
            later = torch.arange(length) > torch.arange(start, stop)[:, None]
            output[start:stop] = masked(query[start:stop], key, value, scale, later)
    return output


@attends
def hides_itself(query, key, value, scale):
    later = torch.arange(len(key)) >= torch.arange(len(key) - len(query), len(key))[:, None]
    return masked(query, key, value, scale, later)


@attends
def sees_one_ahead(query, key, value, scale):
    later = torch.arange(len(key)) > torch.arange(len(key) - len(query), len(key))[:, None] + 1
    return masked(query, key, value, scale, later)


@attends
def mask_by_zero(query, key, value, scale):
    scores = scored(query, key, scale) * ~causal(len(query), len(key))
    return (scores.softmax(-1) @ spread(value, query)).transpose(0, 1)


@attends
def mask_after_softmax(query, key, value, scale):
    weights = scored(query, key, scale).softmax(-1) * ~causal(len(query), len(key))
    return (weights @ spread(value, query)).transpose(0, 1)


@attends
def mask_upside_down(query, key, value, scale):
    return masked(query, key, value, scale, ~causal(len(query), len(key)))


@attends
def repeats_heads(query, key, value, scale):
    share = query.shape[1] // key.shape[1]
    return plain(query, key.repeat(1, share, 1), value.repeat(1, share, 1), scale)


@attends
def first_kv_head(query, key, value, scale):
    return plain(query, key[:, :1], value[:, :1], scale)


@attends
def heads_as_they_are(query, key, value, scale):
    scores = query.transpose(0, 1) @ key.permute(1, 2, 0) * scale
    scores = scores.masked_fill(causal(len(query), len(key)), float("-inf"))
    return (scores.softmax(-1) @ value.transpose(0, 1)).transpose(0, 1)


def softmax_over(dim, query, key, value, scale):
    scores = scored(query, key, scale).masked_fill(causal(len(query), len(key)), float("-inf"))
    return (scores.softmax(dim) @ spread(value, query)).transpose(0, 1)


@attends
def softmax_over_queries(query, key, value, scale):
    return softmax_over(1, query, key, value, scale)


@attends
def softmax_over_heads(query, key, value, scale):
    return softmax_over(0, query, key, value, scale)


@attends
def no_largest(query, key, value, scale):
    scores = scored(query, key, scale).masked_fill(causal(len(query), len(key)), float("-inf"))
    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
    return (weights @ spread(value, query)).transpose(0, 1)


@attends
def no_softmax(query, key, value, scale):
    scores = scored(query, key, scale).masked_fill(causal(len(query), len(key)), 0.0)
    return (scores @ spread(value, query)).transpose(0, 1)
