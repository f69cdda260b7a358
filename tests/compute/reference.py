"""Attention written token by token and head by head, from the formula alone. It shares no code with kvlab."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def attend(query, key, value, scale, window=None, softcap=None, sinks=None) -> tuple[Tensor, Tensor]:
    """query [Q, H, D], the last Q of the C tokens of key [C, KVH, D] and value [C, KVH, Dv]; all in fp64."""
    rows, heads, _ = query.shape
    context, kv_heads, _ = key.shape
    output = torch.zeros(rows, heads, value.shape[-1], dtype=torch.float64)
    lse = torch.full((rows, heads), -math.inf, dtype=torch.float64)
    for row in range(rows):
        at = context - rows + row
        seen = [j for j in range(context) if j <= at and (window is None or j > at - window)]
        for head in range(heads):
            kv = head // (heads // kv_heads)
            scores = [float(query[row, head].double() @ key[j, kv].double()) * scale for j in seen]
            if softcap is not None:
                scores = [softcap * math.tanh(score / softcap) for score in scores]
            sums = [math.exp(score) for score in scores] + ([math.exp(float(sinks[head]))] if sinks is not None else [])
            if sums:
                lse[row, head] = math.log(sum(sums))
            for j, weight in zip(seen, sums, strict=False):
                output[row, head] += weight / sum(sums) * value[j, kv].double()
    return output, lse


class Paged:
    """Random sequences written into shuffled blocks of pools that hold `fill` everywhere else."""

    def __init__(
        self,
        lengths,
        block_size,
        kv_heads=2,
        key_dim=8,
        value_dim=8,
        fill=math.nan,
        seed=0,
        spare=3,
        dtype=torch.float32,
    ):
        draw = torch.Generator().manual_seed(seed)
        needed = [-(-length // block_size) for length in lengths]
        num_blocks = sum(needed) + spare
        order = torch.randperm(num_blocks, generator=draw).tolist()
        self.key_pool = torch.full((num_blocks, block_size, kv_heads, key_dim), fill, dtype=dtype)
        self.value_pool = torch.full((num_blocks, block_size, kv_heads, value_dim), fill, dtype=dtype)
        self.tables = torch.full(
            (len(lengths), max(needed, default=0) + 2), 987_654_321, dtype=torch.int32
        )  # stale padding
        self.keys, self.values = [], []
        for i, (length, blocks) in enumerate(zip(lengths, needed, strict=True)):
            mine, order = order[:blocks], order[blocks:]
            self.tables[i, :blocks] = torch.tensor(mine, dtype=torch.int32)
            self.keys.append(torch.randn(length, kv_heads, key_dim, generator=draw).to(dtype))
            self.values.append(torch.randn(length, kv_heads, value_dim, generator=draw).to(dtype))
            for j in range(length):
                self.key_pool[mine[j // block_size], j % block_size] = self.keys[-1][j]
                self.value_pool[mine[j // block_size], j % block_size] = self.values[-1][j]
        self.lengths = torch.tensor(lengths, dtype=torch.int32)

    def queries(self, counts, heads, seed=1) -> tuple[Tensor, Tensor]:
        draw = torch.Generator().manual_seed(seed)
        start = torch.tensor([0, *counts]).cumsum(0).to(torch.int32)
        query = torch.randn(int(start[-1]), heads, self.key_pool.shape[-1], generator=draw)
        return query.to(self.key_pool.dtype), start

    def expected(self, query, start, scale, **options) -> tuple[Tensor, Tensor]:
        cut = [(int(a), int(b)) for a, b in zip(start, start[1:], strict=False)]
        found = [attend(query[a:b], self.keys[i], self.values[i], scale, **options) for i, (a, b) in enumerate(cut)]
        return torch.cat([output for output, _ in found]), torch.cat([lse for _, lse in found])
