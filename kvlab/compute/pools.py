"""Pools of blocks: rows are written by slot and read through block tables, and whole blocks are copied."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed

from .backend import choose_backend, float8_objection
from .float8 import LARGEST, as_bytes, is_float8
from .fp8 import decode, encode
from .scales import UNSCALED, LayerScales, Scale, is_pool, row_scales


def filled(size: tuple[int, ...], fill: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor full of one number; of the nearest there is, in float8, where `torch.full` refuses what is too large."""
    pool = torch.full(size, 0.0 if dtype in LARGEST else fill, dtype=dtype, device=device)
    if is_float8(pool):
        as_bytes(pool).fill_(int(as_bytes(encode(torch.tensor([fill]), 1.0, dtype))))
    return pool


def write_kv(
    key_pool: Tensor,
    value_pool: Tensor,
    key: Tensor,
    value: Tensor,
    slots: Tensor,
    *,
    scales: LayerScales = UNSCALED,
) -> None:
    """Write each token's key and value into its slot of the two pools, in place.

    key_pool, value_pool: `[num_blocks, block_size, kv_heads, head_dim]`; key, value: `[num_tokens, kv_heads,
    head_dim]`; slots: `[num_tokens]` int64, `block * block_size + offset`. A slot of -1 writes nothing (torch would
    take it for the last slot). scales: of float8 pools. A slot beyond the pool, and shapes that do not fit, are refused
    with `UsageError` before anything is written.
    """
    for pool, rows in ((key_pool, key), (value_pool, value)):
        if rows.shape != (len(slots), *pool.shape[2:]) or pool.shape[:2] != key_pool.shape[:2]:
            raise UsageError(f"{tuple(rows.shape)} does not fit {len(slots)} slots of a pool {tuple(pool.shape)}")
    capacity = key_pool.shape[0] * key_pool.shape[1]
    if len(slots) and int(slots.max()) >= capacity:
        raise UsageError(f"slot {int(slots.max())} does not exist: the pool has slots 0 to {capacity - 1}")
    keep = slots >= 0
    if not bool(keep.all()):
        slots, key, value = slots[keep], key[keep], value[keep]
    store_kv((key_pool, value_pool), (key, value), slots, scales)


def store(pool: Tensor, rows: Tensor, slots: Tensor, scale: Scale | None = None) -> None:
    """`pool[slot] = row` for each token, unchecked: `slots` are int64, each in the pool, each at most once.

    scale: what rows are divided by before they become float8. A pool of scales, `[num_blocks, block_size, kv_heads]`,
    is written too: each row then gets the scale that its own largest number asks for.
    """
    rows = rows.detach()
    if is_float8(pool):
        if is_pool(scale):
            held, scale = scale, row_scales(rows, pool.dtype)
            store(held, scale, slots)
        rows = encode(rows, 1.0 if scale is None else scale, pool.dtype)
    flat = as_bytes(pool).view(pool.shape[0] * pool.shape[1], -1)
    flat.index_copy_(0, slots, as_bytes(rows.reshape(len(slots), flat.shape[1]).to(pool.dtype)))


def store_kv(
    pools: tuple[Tensor, Tensor], rows: tuple[Tensor, Tensor], slots: Tensor, scales: LayerScales = UNSCALED
) -> None:
    """`store` of keys and values in one go: by the Triton kernel where it is the better one, on a GPU."""
    if pools[0].is_cuda and not is_pool(scales.key) and _kernels_run_on(pools[0].device, pools[0].dtype):
        from kvlab.kernels.write_kv import write_kv as write

        key, value = rows
        write(key.detach(), value.detach(), *pools, slots, key_scale=scales.key, value_scale=scales.value)
        return
    for pool, new, scale in zip(pools, rows, scales, strict=True):
        store(pool, new, slots, scale)


@functools.cache
def _kernels_run_on(device: torch.device, dtype: torch.dtype) -> bool:
    return choose_backend(device).name == "triton" and float8_objection(dtype, device) is None


def gather_kv(pool: Tensor, table: Sequence[int] | Tensor, length: int) -> Tensor:
    """The first `length` tokens of a sequence, `[length, kv_heads, head_dim]`, collected through its block table.

    pool: `[num_blocks, block_size, kv_heads, head_dim]`. Entries of `table` after the last block that is needed are
    never read, whatever they are. A table that is too short, or names a block that the pool does not have, is refused
    with `UsageError`.
    """
    return pool.index_select(0, blocks_of(pool, table, length)).flatten(0, 1)[:length]


def blocks_of(pool: Tensor, table: Sequence[int] | Tensor, length: int) -> Tensor:
    """The entries of `table` that hold `length` tokens, int64; `UsageError` if it has too few, or wrong ones."""
    needed = blocks_needed(length, pool.shape[1])
    if needed > len(table):
        raise UsageError(f"{length} tokens lie in {needed} blocks of {pool.shape[1]}, but the table names {len(table)}")
    blocks = torch.as_tensor(table[:needed], dtype=torch.int64, device=pool.device)
    if needed:
        refuse_unknown_block(pool, int(blocks.min()), int(blocks.max()))
    return blocks


def refuse_unknown_block(pool: Tensor, *blocks: int) -> None:
    """`UsageError` with the id and the range if `pool` `[num_blocks, ...]` has not all of `blocks`."""
    for block in blocks:
        if not 0 <= block < len(pool):
            raise UsageError(f"there is no block {block}: the pool has blocks 0 to {len(pool) - 1}")


def gather_numbers(pool: Tensor, scale: Scale | None, table: Sequence[int] | Tensor, length: int) -> Tensor:
    """`gather_kv`, and of a float8 pool the numbers that its codes stand for, float32.

    scale: that of all numbers or of each KV head, or a pool of scales; None is 1.
    """
    rows = gather_kv(pool, table, length)
    if not is_float8(pool):
        return rows
    if is_pool(scale):
        scale = gather_kv(scale, table, length)
    return decode(rows, 1.0 if scale is None else scale)


def copy_blocks(pool: Tensor, pairs: Iterable[tuple[int, int]]) -> None:
    """Copy whole blocks, `(source, target)` each, in place. All sources are read before any target is written (F13).

    A block that the pool does not have, and two copies into one block, are refused with `UsageError` before anything is
    written.
    """
    pairs = list(pairs)
    if pairs:
        refuse_unknown_block(pool, *(block for pair in pairs for block in pair))
        (target, times), *_ = Counter(target for _, target in pairs).most_common(1)
        if times > 1:
            raise UsageError(f"block {target} is the target of {times} copies: which of them should it hold?")
        sources, targets = torch.tensor(pairs, dtype=torch.int64, device=pool.device).unbind(1)
        pool = as_bytes(pool)
        pool.index_copy_(0, targets, pool.index_select(0, sources))
