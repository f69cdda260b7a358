"""Sequences in shuffled blocks of float8, and what their keys and values really are after rounding."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from kvlab.compute import (
    PagedCache,
    paged_attention,
)
from tests.compute.reference import attend

SIZE, HEADS, KV_HEADS, DIM, VALUE_DIM = 4, 4, 2, 16, 32
LENGTHS, COUNTS = [9, 4, 17, 1, 0], [9, 1, 4, 1, 1]
SCALES = {
    "none": None,
    "tensor": (0.07, 3.0),
    "head": (torch.tensor([0.05, 0.9]), torch.tensor([4.0, 0.2])),
    "token_head": "token_head",
}


class Case(NamedTuple):
    """Sequences in shuffled blocks of a cache with one layer, and what their keys and values really are by now."""

    cache: PagedCache
    tables: torch.Tensor
    keys: list[torch.Tensor]
    values: list[torch.Tensor]
    query: torch.Tensor
    start: torch.Tensor
    lengths: torch.Tensor

    def run(self, attention=paged_attention, **options):
        scales = self.cache.layer_scales[0]
        pools = self.cache.keys[0], self.cache.values[0]
        found = attention(
            self.query, *pools, self.tables, self.start, self.lengths,
            key_scale=scales.key, value_scale=scales.value, **options,
        )  # fmt: skip
        return found if isinstance(found, tuple) else (found,)

    def expected(self, **options):
        options.pop("return_lse", None)
        cut = [(int(a), int(b)) for a, b in zip(self.start, self.start[1:], strict=False)]
        parts = [
            attend(self.query[a:b].float().cpu(), self.keys[i], self.values[i], DIM**-0.5, **options)
            for i, (a, b) in enumerate(cut)
        ]
        return torch.cat([output for output, _ in parts]), torch.cat([lse for _, lse in parts])


def case(
    kind: str,
    kv_dtype: str = "fp8",
    fill: float = math.nan,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
) -> Case:
    """Five sequences of unequal lengths, written to float8 pools with scales of that kind."""
    draw = torch.Generator().manual_seed(0)
    needed = [-(-length // SIZE) for length in LENGTHS]
    order = torch.randperm(sum(needed) + 3, generator=draw).tolist()
    tables = torch.full((len(LENGTHS), max(needed) + 2), 987_654_321, dtype=torch.int32)  # stale padding
    cache = PagedCache(len(order), SIZE, fill=fill, kv_dtype=kv_dtype, scales=SCALES[kind])
    keys, values = [], []
    for i, (length, blocks) in enumerate(zip(LENGTHS, needed, strict=True)):
        mine, order = order[:blocks], order[blocks:]
        tables[i, :blocks] = torch.tensor(mine, dtype=torch.int32)
        slots = torch.tensor([mine[j // SIZE] * SIZE + j % SIZE for j in range(length)], dtype=torch.int64)
        key = torch.randn(length, KV_HEADS, DIM, generator=draw) * 3
        value = torch.randn(length, KV_HEADS, VALUE_DIM, generator=draw) * torch.tensor([900.0, 30.0]).unsqueeze(-1)
        cache.write(0, key.to(device, dtype), value.to(device, dtype), slots.to(device))
        key, value = cache.gather(0, mine, length)
        keys.append(key.cpu())
        values.append(value.cpu())
    start = torch.tensor([0, *COUNTS]).cumsum(0).to(torch.int32)
    query = torch.randn(int(start[-1]), HEADS, DIM, generator=draw).to(dtype)
    lengths = torch.tensor(LENGTHS, dtype=torch.int32).to(device)
    return Case(cache, tables.to(device), keys, values, query.to(device), start.to(device), lengths)


def close(found, expected, rtol=1e-4):
    """Assert that each is near, by the largest number that is expected."""
    for mine, right in zip(found, expected, strict=False):
        largest = float(right[right.isfinite()].abs().max())
        torch.testing.assert_close(mine.double().cpu(), right, atol=rtol * largest, rtol=rtol)
