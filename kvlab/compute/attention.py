"""Attention over paged keys and values, in PyTorch: what runs on the CPU, and what kernels are compared with."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .float8 import is_float8
from .folding import fold_key_scale, fold_value_scale
from .group_attention import attend_fused, attend_spelled_out, gather_group, put_rows, queries_of
from .plan import AttentionPlan, Group
from .scales import Scale


def paged_attention(
    query: Tensor, key_pool: Tensor, value_pool: Tensor, block_tables: Tensor, query_start: Tensor,
    context_lengths: Tensor, *, scale: float | None = None, window: int | None = None, softcap: float | None = None,
    sinks: Tensor | None = None, return_lse: bool = False, plan: AttentionPlan | None = None,
    key_scale: Scale | None = None, value_scale: Scale | None = None,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """Causal attention of a flattened batch: prefill, chunks of a prefill and decode rows side by side.

    query: `[num_tokens, heads, head_dim]`, sequences back to back; the tokens of sequence s are rows `query_start[s]`
    to `query_start[s + 1] - 1`, and they are the *last* tokens of its context. key_pool, value_pool: `[num_blocks,
    block_size, kv_heads, head_dim]`, the two head dims may differ; `heads` is a multiple of `kv_heads` and query head
    h reads KV head `h // (heads // kv_heads)`. block_tables: `[num_seqs, max_blocks]` int32. context_lengths:
    `[num_seqs]` int32, the tokens that lie in the pools, those of `query` included.

    scale: default `head_dim ** -0.5`. window: a token sees itself and the `window - 1` before it. softcap: scores
    become `softcap * tanh(score / softcap)` (Gemma 2). sinks: `[heads]`, a score more in each softmax's sum
    (GPT-OSS). plan: of this very batch, made once for all layers; the three integer tensors are not looked at then.
    key_scale, value_scale: what the numbers of float8 pools are multiplied by; see `kvlab.compute.folding`.

    Returns `[num_tokens, heads, value_dim]`, and with `return_lse` also the log of each softmax's sum (the sink's
    share included), `[num_tokens, heads]` fp32. A row that sees no key gives 0 and -inf (or the sink alone). Padding
    entries of `block_tables` are never read, and what lies beyond a sequence's length changes no bit of the result
    (I6), NaN and infinities included. Shapes that do not fit, a window below 1, a soft cap that is not above 0, and
    block ids outside the pool are refused with `UsageError`.
    """
    if plan is None:
        _refuse_shapes(query, key_pool, value_pool, sinks)
        plan = _plan(query, key_pool, block_tables, query_start, context_lengths)
        _refuse_unknown_blocks(plan, window, key_pool.shape[0])
    query, scale = fold_key_scale(query, key_pool, key_scale, scale)
    pools = _ScaledPool(key_pool, key_scale), _ScaledPool(value_pool, value_scale)
    output, lse = _attend(query, pools, plan.groups(window), scale, softcap, sinks, return_lse)
    output = fold_value_scale(output, value_pool, value_scale)
    return output if lse is None else (output, lse)


class _ScaledPool(NamedTuple):
    """A pool, and what scales its numbers. Only a pool of scales is looked at, where keys or values are gathered."""

    pool: Tensor
    scale: Scale | None = None


def _attend(
    query: Tensor,
    pools: tuple[_ScaledPool, _ScaledPool],
    groups: list[Group],
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
    return_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """Each group on its own, by torch's kernel where it can do what is asked, else in plain steps."""
    if softcap is not None and not softcap > 0:
        raise UsageError(f"a soft cap lies above 0, not at {softcap}; None is for none")
    output = query.new_empty(len(query), query.shape[1], pools[1].pool.shape[-1])
    lse = query.new_empty(query.shape[:2], dtype=torch.float32) if return_lse else None
    fused = softcap is None and sinks is None and not return_lse
    # codes go to 448: their products with queries may sum to more than float16 has, which torch's kernel takes care of
    wide = query if fused or not is_float8(pools[0].pool) else query.float()
    for group in groups:
        key, value = (gather_group(*each, group, wide.dtype) for each in pools)
        if fused:
            found, found_lse = attend_fused(queries_of(wide, group), key, value, group, scale), None
        else:
            found, found_lse = attend_spelled_out(queries_of(wide, group), key, value, group, scale, softcap, sinks)
        put_rows(output, found, group)
        if lse is not None and found_lse is not None:
            put_rows(lse, found_lse, group)
    return output, lse


def _refuse_shapes(query: Tensor, key_pool: Tensor, value_pool: Tensor, sinks: Tensor | None) -> None:
    shapes = f"{tuple(query.shape)}, {tuple(key_pool.shape)} and {tuple(value_pool.shape)}"
    if (
        (query.dim(), key_pool.dim(), value_pool.dim()) != (3, 4, 4)
        or not key_pool.shape[2]
        or query.shape[1] % key_pool.shape[2]
        or query.shape[2] != key_pool.shape[3]
        or key_pool.shape[:3] != value_pool.shape[:3]
    ):
        raise UsageError(
            "queries [tokens, heads, dim], keys [blocks, block_size, kv_heads, dim] and values [.., value_dim] "
            f"do not fit: {shapes}"
        )
    if sinks is not None and sinks.shape != query.shape[1:2]:
        raise UsageError(f"sinks are one number for each of {query.shape[1]} heads, not {tuple(sinks.shape)}")


def _plan(query: Tensor, pool: Tensor, tables: Tensor, query_start: Tensor, context_lengths: Tensor) -> AttentionPlan:
    starts = query_start.tolist()
    if (
        not starts
        or starts[0]
        or starts[-1] != len(query)
        or starts != sorted(starts)
        or not len(starts) - 1 == len(tables) == len(context_lengths)
    ):
        raise UsageError(f"query_start {starts} does not cut {len(query)} rows into {len(tables)} sequences")
    lengths = [stop - start for start, stop in zip(starts, starts[1:], strict=False)]
    contexts = context_lengths.tolist()
    short = max(contexts, default=0) > tables.shape[1] * pool.shape[1]
    if short or min(contexts, default=0) < 0:
        raise UsageError(f"context lengths {contexts} do not fit tables of {tables.shape[1]} blocks of {pool.shape[1]}")
    return AttentionPlan(tables.cpu().numpy(), lengths, contexts, pool.shape[1], query.device)


def _refuse_unknown_blocks(plan: AttentionPlan, window: int | None, num_blocks: int) -> None:
    for group in plan.groups(window):
        low, high = int(group.blocks.min()), int(group.blocks.max())
        if low < 0 or high >= num_blocks:
            raise UsageError(
                f"block {low if low < 0 else high} does not exist: the pool has blocks 0 to {num_blocks - 1}"
            )
