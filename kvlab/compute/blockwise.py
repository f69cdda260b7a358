"""Attention block by block: the online softmax."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .pools import blocks_of


def attend_blockwise(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    table: Sequence[int],
    length: int,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """One token's attention over the `length` tokens of its sequence, holding a single block of scores at a time.

    query: `[heads, head_dim]`; pools: `[num_blocks, block_size, kv_heads, head_dim]`, dims of keys and values may
    differ. Returns the output `[heads, value_dim]` and the log of the softmax's sum `[heads]`, both fp32; for length
    0 these are 0 and -inf. Slots beyond `length` are cut off before they are read. A table that is too short, or names
    a block that the pools do not have, is refused with `UsageError`. Source: Milakov and Gimelshein 2018 (arXiv
    1805.02867); FlashAttention, Dao et al. 2022, algorithm 1.
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    kv_heads, block_size = key_pool.shape[2], key_pool.shape[1]
    grouped = query.float().view(kv_heads, -1, query.shape[-1])
    largest = grouped.new_full(grouped.shape[:2], float("-inf"))
    total = torch.zeros_like(largest)
    output = grouped.new_zeros(*largest.shape, value_pool.shape[-1])
    for i, block in enumerate(blocks_of(key_pool, table, length).tolist()):
        filled = min(block_size, length - i * block_size)
        key = key_pool[block, :filled].float().permute(1, 2, 0)  # [kv_heads, head_dim, filled]
        value = value_pool[block, :filled].float().transpose(0, 1)
        scores = grouped @ key * scale
        higher = torch.maximum(largest, scores.amax(-1))
        shrink = torch.exp(largest - higher)  # what was summed so far was relative to the old maximum
        weights = torch.exp(scores - higher.unsqueeze(-1))
        total = total * shrink + weights.sum(-1)
        output = output * shrink.unsqueeze(-1) + weights @ value
        largest = higher
    output = output / total.clamp_min(torch.finfo(torch.float32).tiny).unsqueeze(-1)
    return output.flatten(0, 1), (largest + total.log()).flatten()
