"""The bench for the two decode kernels: sequences on shuffled pages, and dense attention of what was written."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from kvlab.course.declare import Traces, Wrong
from kvlab.course.exercises.lab04_tensors import Pages, dense, shuffled_tables, torch
from kvlab.course.interpreter import POISON, Window, Work
from kvlab.course.launches import Launch, launched

FAR = 2**31  # numbers that 32 bits can count


class Decode(NamedTuple):
    """One launch. `lengths`: context of each sequence. `fill`: what lies in slots that hold no token of theirs.

    `scores`: "rising" and "falling" grow or shrink from token to token; "high" are some hundred, of which exp() is
    infinite; "low" as far below 0; "plunging" are about 60 and then about -60. `far`: every page lies beyond 2 ** 31
    numbers of its pool. `grouped`: a launch of `grouped_decode_kernel`.
    """

    lengths: tuple[int, ...]
    heads: int = 1
    kv_heads: int = 1
    dim: int = 8
    block_size: int = 4
    scale: float = 0.5
    fill: str = "nan"
    scores: str = ""
    dtype: str = "float32"
    far: bool = False
    grouped: bool = False

    @property
    def group_tile(self) -> int:
        """A power of two, at least 16 and at least the query heads of a KV head."""
        return max(16, 1 << (self.heads // self.kv_heads - 1).bit_length())

    @property
    def grid(self) -> tuple[int, int]:
        """The programs."""
        return len(self.lengths), self.kv_heads if self.grouped else self.heads


def launches(name: str, *values: Decode, invariant: str | None = None, next: str | None = None) -> Traces:
    """A check that launches the kernel for each value."""
    return launched(name, build, *values, render=render, invariant=invariant, next=next)


def grouped(name: str, *values: Decode, invariant: str | None = None, next: str | None = None) -> Traces:
    """The same for `grouped_decode_kernel`, of which a tile has at least 16 rows. Pages are not square."""
    wide = [value._replace(grouped=True, dim=max(32, value.dim), block_size=max(16, value.block_size))
            for value in values]
    return launches(name, *wide, invariant=invariant, next=next)


def build(value: Decode) -> Launch:
    """The arguments of a launch, and the right output."""
    draw, kind = torch.Generator().manual_seed(5), getattr(torch, value.dtype)
    tables, blocks = shuffled_tables(list(value.lengths), value.block_size, 2, draw)
    shape = value.kv_heads, value.dim
    keys = [torch.randn(length, *shape, generator=draw) for length in value.lengths]
    values = [torch.randn(length, *shape, generator=draw).to(kind).float() for length in value.lengths]
    query = torch.randn(len(value.lengths), value.heads, value.dim, generator=draw)
    query, keys = _steered(value.scores, query, keys)
    query, keys = query.to(kind).float(), [key.to(kind).float() for key in keys]
    output = [dense(query[s : s + 1], keys[s], values[s], value.scale)[0] for s in range(len(keys))]
    pools = [Pages(said, tables, blocks, value.block_size, value.fill).pool.to(kind) for said in (keys, values)]
    key_pool, value_pool, first = *pools, 0
    if value.far:
        first = FAR // pools[0][0].numel() + 1
        key_pool, value_pool = (Window(pool, first * pool[0].numel()) for pool in pools)
    arguments = {"output": torch.full(query.shape, float("nan"), dtype=kind), "query": query.to(kind),
                 "key_pool": key_pool, "value_pool": value_pool, "block_tables": padded(tables, first),
                 "context_lengths": torch.tensor(value.lengths, dtype=torch.int32), "scale": value.scale,
                 "max_blocks": max_blocks(value), "HEADS": value.heads, "KV_HEADS": value.kv_heads,
                 "HEAD_DIM": value.dim, "BLOCK_SIZE": value.block_size}
    arguments |= {"GROUP_TILE": value.group_tile} if value.grouped else {}
    return Launch(value.grid, arguments, {"output": torch.cat(output).to(kind)}, work=functools.partial(_work, value))


def max_blocks(value: Decode) -> int:
    """Entries in a row of the block tables: two more than the longest sequence needs."""
    return max(-(-length // value.block_size) for length in value.lengths) + 2


def padded(tables: list[list[int]], first: int = 0) -> Any:
    """Block tables as a tensor whose rows are two entries longer than the longest table. What stands behind a
    sequence's blocks was never written; behind those of the last it does not even exist."""
    longest = max(map(len, tables))
    whole = torch.full((len(tables), longest + 2), POISON, dtype=torch.int32)
    for row, table in zip(whole, tables, strict=True):
        row[: len(table)] = torch.tensor(table, dtype=torch.int32) + first
    return whole.as_strided((len(tables), max(len(tables[-1]), 1)), whole.stride())


def _steered(scores: str, query: Any, keys: list[Any]) -> tuple[Any, list[Any]]:
    """Query and keys whose products are as `scores` says."""
    steps: list[Any] = [torch.arange(len(key))[:, None, None] for key in keys]
    if scores in ("high", "low"):
        query, sign = (query.abs() * 4).ceil() * 16, 1 if scores == "high" else -1
        return query, [((key.abs() * 4).ceil() / 4 + 1) * sign for key in keys]
    if scores in ("rising", "falling"):
        return query.abs() + 0.5, [key.abs() * 0.2 + (step + 1 if scores == "rising" else len(key) - step) * 0.2
                                   for key, step in zip(keys, steps, strict=True)]
    if scores == "plunging":
        return torch.ones_like(query), [key.clamp(-1, 1) + torch.where(2 * step < len(key), 30.0, -30.0)
                                        for key, step in zip(keys, steps, strict=True)]
    return query, keys


def _work(value: Decode, work: Work) -> None:
    """`Wrong` if a page is read more often than once by each program that needs it."""
    once = sum(value.lengths) * (value.kv_heads if value.grouped else value.heads) * value.dim
    if work.loaded and work.loaded["key_pool"] > once:
        times = work.loaded["key_pool"] / once
        who = "all query heads of a KV head together" if value.grouped else "each program"
        raise Wrong(f"the numbers are right, but keys are read {times:.3g} times over, expected once by {who}.",
                    next="use each page up before you read the next", alike="keys are read again")


def render(value: Decode) -> list[str]:
    """The launch in words."""
    name = "grouped_decode_kernel" if value.grouped else "paged_decode_kernel"
    tile = f", GROUP_TILE {value.group_tile}" if value.grouped else ""
    sizes = f"HEADS {value.heads}, KV_HEADS {value.kv_heads}, HEAD_DIM {value.dim}, BLOCK_SIZE {value.block_size}"
    notes = [f"{value.fill} in unused slots", "scores of some hundred" * (value.scores in ("high", "low")),
             value.dtype * (value.dtype != "float32")]
    counts = f"context_lengths={list(value.lengths)}, scale={value.scale:g}, max_blocks={max_blocks(value)}"
    return [f"{name}[{value.grid}]: {counts}", "; ".join(filter(None, [sizes + tile, *notes]))]


