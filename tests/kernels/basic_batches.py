"""Decode batches on shuffled pages for the tests of lab 05's kernels, and what PyTorch makes of them."""

from __future__ import annotations

from typing import NamedTuple

import torch

from kvlab import has_gpu
from kvlab.compute import paged_attention

DEVICE = "cuda" if has_gpu() and torch.cuda.is_available() else "cpu"
SPARE = 3  # blocks that belong to nobody


class Paged(NamedTuple):
    """The arguments of `basic_decode`."""

    query: torch.Tensor
    key_pool: torch.Tensor
    value_pool: torch.Tensor
    block_tables: torch.Tensor
    context_lengths: torch.Tensor


def paged(
    lengths: list[int], heads: int, kv_heads: int, dim: int, block_size: int,
    fill: float = float("nan"), dtype: torch.dtype = torch.float32, seed: int = 5,
) -> Paged:  # fmt: skip
    """Sequences of these lengths in shuffled blocks; `fill` in every slot without a token, and wild ids as padding."""
    draw = torch.Generator().manual_seed(seed)
    needed = [-(-length // block_size) for length in lengths]
    order = torch.randperm(sum(needed) + SPARE, generator=draw).tolist()
    tables = torch.full((len(lengths), max(needed) + 2), 987_654_321, dtype=torch.int32)
    pools = [torch.full((len(order), block_size, kv_heads, dim), fill) for _ in range(2)]
    for row, length in zip(tables, lengths, strict=True):
        for start in range(0, length, block_size):
            row[start // block_size] = block = order.pop()
            filled = min(block_size, length - start)
            for pool in pools:
                pool[block, :filled] = torch.randn(filled, kv_heads, dim, generator=draw)
    query = torch.randn(len(lengths), heads, dim, generator=draw)
    key_pool, value_pool = (pool.to(dtype).to(DEVICE) for pool in pools)
    counts = torch.tensor(lengths, dtype=torch.int32)
    return Paged(query.to(dtype).to(DEVICE), key_pool, value_pool, tables.to(DEVICE), counts.to(DEVICE))


def by_torch(batch: Paged, scale: float | None = None) -> torch.Tensor:
    """What `kvlab.compute.paged_attention` gives in fp32."""
    query, key_pool, value_pool, tables, lengths = (tensor.cpu() for tensor in batch)
    start = torch.arange(len(lengths) + 1, dtype=torch.int32)
    rows = (query.float(), key_pool.float(), value_pool.float())
    found = paged_attention(*rows, tables, start, lengths, scale=scale)
    assert isinstance(found, torch.Tensor)
    return found.to(DEVICE)
