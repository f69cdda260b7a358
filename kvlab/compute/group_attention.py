"""Attention of one group of sequences, a padded rectangle: what is gathered for it, attended, and put in its place.

By torch's own kernel, or in plain steps that can do what it cannot. Groups are cut in `kvlab.compute.plan`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .float8 import as_bytes, is_float8, widen
from .plan import Group
from .scales import Scale, is_pool


def queries_of(query: Tensor, group: Group) -> Tensor:
    """A group's queries, `[sequences, queries, heads, head_dim]`: a view where its rows are neighbours."""
    rows = query[group.span] if group.span else query.index_select(0, group.rows)
    return rows.view(group.sequences, group.queries, *query.shape[1:])


def gather_group(pool: Tensor, scale: Scale | None, group: Group, dtype: torch.dtype) -> Tensor:
    """A group's keys or values, `[sequences, keys, kv_heads, dim]`: a copy, with 0 wherever no token lies (I6).

    float8 is gathered as bytes, and made `dtype` then; any other pool keeps its type.
    """
    pages = _pages(pool, group)
    if is_float8(pool):
        pages = widen(pages, dtype)
        if is_pool(scale):
            pages *= _pages(scale, group).unsqueeze(-1)
    return pages


def _pages(pool: Tensor, group: Group) -> Tensor:
    """The rows of a pool, `[sequences, keys, ...]`, and zeros, since a masked weight of 0 times NaN is still NaN."""
    pages = as_bytes(pool).view(pool.shape[0], -1).index_select(0, group.blocks)
    if group.stale is not None:
        pages.view(group.sequences * group.keys, -1).index_fill_(0, group.stale, 0)
    return pages.view(pool.dtype).view(group.sequences, group.keys, *pool.shape[2:])


def attend_fused(query: Tensor, key: Tensor, value: Tensor, group: Group, scale: float) -> Tensor:
    """`[sequences, queries, heads, value_dim]` by torch's own kernel, which never holds all scores at once.

    query: `[sequences, queries, heads, head_dim]`; key, value: `[sequences, keys, kv_heads, dim]`, the dims may differ.
    """
    attend = torch.nn.functional.scaled_dot_product_attention
    n, queries, heads, dim = query.shape
    key, value, bias = key.transpose(1, 2), value.transpose(1, 2), group.bias(query.dtype)
    if queries == 1:  # the query heads of a KV head become rows of one product: keys are read once, not once a head
        packed = query.view(n, key.shape[1], heads // key.shape[1], dim)
        output = attend(packed, key, value, attn_mask=bias, scale=scale).reshape(n, 1, heads, -1)
    else:
        grouped = heads != key.shape[1]
        output = attend(query.transpose(1, 2), key, value, attn_mask=bias, scale=scale, enable_gqa=grouped)
        output = output.transpose(1, 2)
    if group.blind is not None:
        output = output.masked_fill(group.blind[:, :, None, None], 0.0)
    return output


def attend_spelled_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    group: Group,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The same in plain steps, with soft cap, sinks and log-sum-exp, which torch's kernel lacks. Sums are fp32.

    The log-sum-exp is `[sequences, queries, heads]` fp32, the sinks' share included.
    """
    n, queries, heads, dim = query.shape
    kv_heads = key.shape[2]
    shared = heads // kv_heads
    packed = query.view(n, queries, kv_heads, shared, dim).permute(0, 2, 1, 3, 4).reshape(n, kv_heads, -1, dim)
    scores = torch.matmul(packed, key.permute(0, 2, 3, 1)).float().view(n, kv_heads, queries, shared, -1) * scale
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    scores = scores + group.bias(torch.float32).view(n, 1, queries, 1, -1)
    blind = None if group.blind is None else group.blind.view(n, 1, queries, 1, 1)
    if blind is not None:
        scores = scores.masked_fill(blind, float("-inf"))
    lse = scores.logsumexp(-1)
    if sinks is not None:
        lse = torch.logaddexp(lse, sinks.float().view(1, kv_heads, 1, shared).expand_as(lse))
    weights = torch.exp(scores - lse.unsqueeze(-1))
    if blind is not None:
        weights = weights.masked_fill(blind, 0.0)
    weights = weights.to(value.dtype).view(n, kv_heads, queries * shared, -1)
    output = torch.matmul(weights, value.transpose(1, 2)).view(n, kv_heads, queries, shared, -1)
    output = output.permute(0, 2, 1, 3, 4).reshape(n, queries, heads, -1)
    return output, lse.permute(0, 2, 1, 3).reshape(n, queries, heads)


def put_rows(output: Tensor, found: Tensor, group: Group) -> None:
    """Write `found`, `[sequences, queries, ...]`, to the group's rows of `output`, `[num_tokens, ...]`, but padding."""
    found = found.flatten(0, 1).to(output.dtype)
    if group.span:
        output[group.span] = found
        return
    rows = group.rows
    if group.real is not None:
        found, rows = found.index_select(0, group.real), rows.index_select(0, group.real)
    output.index_copy_(0, rows, found)
