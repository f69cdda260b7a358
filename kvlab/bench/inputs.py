"""The tensors of one case: the same keys and values once in one piece, and once on shuffled pages."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from kvlab.compute import AttentionPlan

from .cases import Case

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "fp8": torch.float8_e4m3fn}
KEY_SCALE, VALUE_SCALE = 1 / 64, 1 / 32  # of FP8 pools: unlike each other and unlike 1, and nothing is clipped


class Inputs:
    """keys, values: `[batch, context, kv_heads, head_dim]`, in one piece; for FP8 pools rounded to what these hold, so
    that both are the same numbers. Everything else is made when it is first asked for: a case takes no more memory than
    the systems that run on it."""

    def __init__(self, case: Case, device: torch.device, seed: int = 0) -> None:
        self.case, self.device = case, device
        self._random = torch.Generator(device).manual_seed(seed)
        shape = (case.batch, case.context, case.kv_heads, case.head_dim)
        self.keys, self.values = self._numbers(*shape), self._numbers(*shape)
        self.query = self._numbers(case.tokens, case.heads, case.head_dim)
        if case.dtype == "fp8":
            for numbers, scale in ((self.keys, KEY_SCALE), (self.values, VALUE_SCALE)):
                for rows in numbers:  # one sequence at a time, so that the scratch stays small
                    rows.copy_(to_fp8(rows, scale).to(rows.dtype) * scale)

    def _numbers(self, *shape: int) -> Tensor:
        dtype = DTYPES[self.case.source_dtype]
        return torch.randn(shape, generator=self._random, device=self.device, dtype=dtype)

    @cached_property
    def tables(self) -> Tensor:
        """`[batch, blocks]` int32: every block of the pool, in random order."""
        case = self.case
        shuffled = torch.randperm(case.batch * case.blocks, generator=self._random, device=self.device)
        return shuffled.view(case.batch, case.blocks).to(torch.int32)

    @cached_property
    def lengths(self) -> Tensor:
        """`[batch]` int32: the context of each."""
        return torch.full((self.case.batch,), self.case.context, dtype=torch.int32, device=self.device)

    @cached_property
    def query_start(self) -> Tensor:
        """`[batch + 1]` int32: where each sequence's rows begin."""
        return torch.arange(self.case.batch + 1, dtype=torch.int32, device=self.device) * self.case.queries

    @cached_property
    def plan(self) -> AttentionPlan:
        """The batch as the engine plans it, once for all layers: its making is not timed."""
        case = self.case
        lengths = [case.queries] * case.batch, [case.context] * case.batch
        return AttentionPlan(self.tables.cpu().numpy(), *lengths, case.block_size, self.device)

    @cached_property
    def pools(self) -> tuple[Tensor, Tensor]:
        """Key and value pool, `[blocks, block_size, kv_heads, head_dim]`, filled through the tables."""
        return self._paged(self.keys, KEY_SCALE), self._paged(self.values, VALUE_SCALE)

    def empty_pools(self) -> tuple[Tensor, Tensor]:
        """Two pools with nothing in them, for writes."""
        case = self.case
        shape = (case.batch * case.blocks, case.block_size, case.kv_heads, case.head_dim)
        dtype = DTYPES[case.dtype]
        return torch.empty(shape, dtype=dtype, device=self.device), torch.empty(shape, dtype=dtype, device=self.device)

    @property
    def scales(self) -> dict[str, Any]:
        """The keyword arguments with the scales of FP8 pools; none for others."""
        return {"key_scale": KEY_SCALE, "value_scale": VALUE_SCALE} if self.case.dtype == "fp8" else {}

    @property
    def new(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the new tokens, `[tokens, kv_heads, head_dim]`: the last of each context."""
        case = self.case
        first = case.context - case.queries
        shape = (case.tokens, case.kv_heads, case.head_dim)
        return self.keys[:, first:].reshape(shape), self.values[:, first:].reshape(shape)

    @cached_property
    def slots(self) -> Tensor:
        """`[tokens]` int64: where the new tokens go."""
        case = self.case
        position = torch.arange(case.context - case.queries, case.context, device=self.device)
        block = self.tables.to(torch.int64)[:, position // case.block_size]
        return (block * case.block_size + position % case.block_size).flatten()

    def _paged(self, numbers: Tensor, scale: float) -> Tensor:
        """Sequence by sequence; what sticks out of a last block is 0. FP8 moves as bytes: torch has no other way."""
        case = self.case
        shape = (case.block_size, case.kv_heads, case.head_dim)
        pool = torch.empty((case.batch * case.blocks, *shape), dtype=DTYPES[case.dtype], device=self.device)
        fp8 = case.dtype == "fp8"
        places = pool.view(torch.uint8) if fp8 else pool
        for table, rows in zip(self.tables.to(torch.int64), numbers, strict=True):
            pages = rows.new_zeros((case.blocks, *shape))
            pages.flatten(0, 1)[: case.context] = rows
            places[table] = to_fp8(pages, scale).view(torch.uint8) if fp8 else pages
        return pool


def to_fp8(numbers: Tensor, scale: float) -> Tensor:
    """`numbers / scale` as e4m3, clamped to what it can hold: the cast alone would make NaN of more."""
    limit = torch.finfo(torch.float8_e4m3fn).max
    return (numbers.float() / scale).clamp(-limit, limit).to(torch.float8_e4m3fn)
