"""Write: the keys and values of new tokens, each to its slot of the paged cache.

One program a token (and a tile of its heads): it asks for the token's slot, and copies one row of keys and one of
values, 16 bytes a thread. A slot of -1 writes nothing. Into a float8 pool a number is divided by the scale and held
within what the type can hold, since a cast alone would make infinity or NaN of it.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from . import checks
from .heuristics import power_of_two, row_launch


@triton.jit
def put(
    row, pool, head, head_stride, dim_stride, pool_head_stride, scale,
    KV_HEADS: tl.constexpr, DIM: tl.constexpr, DIM_TILE: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Copy heads `head` of one token to where its slot is in the pool; LARGEST: what a float8 can hold, or None."""
    dim = tl.arange(0, DIM_TILE)
    mask = (head < KV_HEADS)[:, None] & (dim < DIM)[None, :]
    numbers = tl.load(row + head[:, None] * head_stride + dim[None, :] * dim_stride, mask=mask, other=0.0)
    if LARGEST is not None:
        numbers = numbers.to(tl.float32) / scale
        numbers = tl.minimum(tl.maximum(numbers, -LARGEST), LARGEST)
    tl.store(pool + head[:, None] * pool_head_stride + dim[None, :], numbers.to(pool.dtype.element_ty), mask=mask)


@triton.jit
def write_kv_kernel(
    key,  # [tokens, KV_HEADS, KEY_DIM]
    value,  # [tokens, KV_HEADS, VALUE_DIM]
    key_pool,  # [blocks, BLOCK_SIZE, KV_HEADS, KEY_DIM]
    value_pool,  # [blocks, BLOCK_SIZE, KV_HEADS, VALUE_DIM]
    slots,  # [tokens]: block * BLOCK_SIZE + offset, or -1
    key_scale,  # of a float8 pool: a number, or a pointer if SCALE_STEP says how far the next KV head's is
    value_scale,
    key_stride,
    key_head_stride,
    key_dim_stride,
    value_stride,
    value_head_stride,
    value_dim_stride,
    key_block_stride,
    key_slot_stride,
    key_pool_head_stride,
    value_block_stride,
    value_slot_stride,
    value_pool_head_stride,
    BLOCK_SIZE: tl.constexpr,
    KV_HEADS: tl.constexpr,
    HEADS: tl.constexpr,  # heads a program copies
    KEY_DIM: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    KEY_TILE: tl.constexpr,
    VALUE_TILE: tl.constexpr,
    KEY_SCALE_STEP: tl.constexpr,
    VALUE_SCALE_STEP: tl.constexpr,
    LARGEST: tl.constexpr,
):
    """Grid (tokens, tiles of heads)."""
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    slot = tl.load(slots + token).to(tl.int64)
    if slot < 0:
        return
    block, offset = slot // BLOCK_SIZE, slot % BLOCK_SIZE  # 64 bits: a pool may have more than 2**31 elements
    if KEY_SCALE_STEP is not None:
        key_scale = tl.load(key_scale + head * KEY_SCALE_STEP, mask=head < KV_HEADS, other=1.0)[:, None]
    if VALUE_SCALE_STEP is not None:
        value_scale = tl.load(value_scale + head * VALUE_SCALE_STEP, mask=head < KV_HEADS, other=1.0)[:, None]
    put(
        key + token * key_stride, key_pool + block * key_block_stride + offset * key_slot_stride,
        head, key_head_stride, key_dim_stride, key_pool_head_stride, key_scale,
        KV_HEADS, KEY_DIM, KEY_TILE, LARGEST,
    )  # fmt: skip
    put(
        value + token * value_stride, value_pool + block * value_block_stride + offset * value_slot_stride,
        head, value_head_stride, value_dim_stride, value_pool_head_stride, value_scale,
        KV_HEADS, VALUE_DIM, VALUE_TILE, LARGEST,
    )  # fmt: skip


def write_kv(
    key: Tensor,
    value: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    slots: Tensor,
    *,
    key_scale: Tensor | float | None = None,
    value_scale: Tensor | float | None = None,
) -> None:
    """Write `key` and `value`, `[tokens, kv_heads, dim]`, to their slots of the two pools, in place.

    pools: `[num_blocks, block_size, kv_heads, dim]`; numbers are converted to their type. slots: `[tokens]` int64,
    `block * block_size + offset`, each at most once; a negative one writes nothing. key_scale, value_scale: what
    numbers are divided by before they become float8, one for all or one a KV head (float32 tensor). ValueError for what
    does not fit; a slot beyond the pool is seen on the CPU only, where no GPU has to be waited for.
    """
    scales = [scale for scale in (key_scale, value_scale) if isinstance(scale, Tensor)]
    converts = key.dtype != key_pool.dtype
    checks.check_place(write_kv_kernel, key, value, key_pool, value_pool, slots, *scales, computes=converts)
    checks.check_pools(key_pool, value_pool, most=8192)  # a latent of MLA is wider than attention's heads
    kv_heads, key_dim, value_dim = *key_pool.shape[2:], value_pool.shape[3]
    rows = tuple(key.shape), tuple(value.shape)
    fits = rows == ((len(slots), kv_heads, key_dim), (len(slots), kv_heads, value_dim)) and key.dtype == value.dtype
    pools = f"pools {tuple(key_pool.shape)} and {tuple(value_pool.shape)}"
    checks.require(fits, f"{rows[0]} and {rows[1]} do not fit {len(slots)} slots of {pools}")
    checks.check_slots(slots, key_pool)
    if len(slots):
        with checks.current(key_pool):
            _launch(key, value, key_pool, value_pool, slots, key_scale, value_scale)


def _launch(
    key: Tensor,
    value: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    slots: Tensor,
    key_scale: Tensor | float | None,
    value_scale: Tensor | float | None,
) -> None:
    _, block_size, kv_heads, key_dim = key_pool.shape
    key_scale, key_step = checks.check_scale(key_scale, kv_heads, key_pool)
    value_scale, value_step = checks.check_scale(value_scale, kv_heads, value_pool)
    key_tile, value_tile = power_of_two(key_dim), power_of_two(value_pool.shape[3])
    widest = max(key_tile, value_tile)
    heads = min(power_of_two(kv_heads), max(1, 4096 // widest))
    write_kv_kernel[(len(slots), -(-kv_heads // heads))](
        *(key, value, key_pool, value_pool, slots, key_scale, value_scale),
        *key.stride(),
        *value.stride(),
        *key_pool.stride()[:3],
        *value_pool.stride()[:3],
        BLOCK_SIZE=block_size,
        KV_HEADS=kv_heads,
        HEADS=heads,
        KEY_DIM=key_dim,
        VALUE_DIM=value_pool.shape[3],
        KEY_TILE=key_tile,
        VALUE_TILE=value_tile,
        KEY_SCALE_STEP=key_step,
        VALUE_SCALE_STEP=value_step,
        LARGEST=checks.FLOAT8.get(key_pool.dtype),
        num_warps=row_launch(heads * widest, key.element_size()).warps,
    )
