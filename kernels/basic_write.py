"""Lab 05's write kernel: each new token's key and value go into their slot of the pools, one program a token."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def write_kv_kernel(key, value, key_pool, value_pool, slots, width, TILE: tl.constexpr):
    """Copy row t of `key` and `value` into slot `slots[t]` of the pools; a slot below 0 writes nothing.

    Grid: (num_tokens,). key, value: [num_tokens, width]; key_pool, value_pool: [num_slots, width], all contiguous,
    where width = kv_heads * head_dim. slots: int64. TILE: a power of two, at least width.
    """
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    if slot >= 0:
        column = tl.arange(0, TILE)
        inside = column < width
        source, target = token * width + column, slot * width + column
        tl.store(key_pool + target, tl.load(key + source, mask=inside), mask=inside)
        tl.store(value_pool + target, tl.load(value + source, mask=inside), mask=inside)


def basic_write(
    key: torch.Tensor,
    value: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    slots: torch.Tensor,
    *,
    kernel: Any = write_kv_kernel,
) -> None:
    """Write `[num_tokens, kv_heads, head_dim]` keys and values into pools `[num_blocks, block_size, kv_heads,
    head_dim]`.

    slots: `[num_tokens]` int64, -1 for a token that is written nowhere. Keys and values have one head_dim. kernel: a
    stand-in for `write_kv_kernel`. Pools that are not contiguous, and rows that do not fit, are refused with
    ValueError.
    """
    width = key_pool.shape[2] * key_pool.shape[3]
    if key_pool.shape != value_pool.shape or not (key_pool.is_contiguous() and value_pool.is_contiguous()):
        raise ValueError(f"pools must be contiguous and of one shape, not {key_pool.shape} and {value_pool.shape}")
    if not key.shape == value.shape == (len(slots), *key_pool.shape[2:]):
        raise ValueError(f"{len(slots)} slots need rows {tuple(key_pool.shape[2:])}, not {tuple(key.shape)}")
    if len(slots):
        arguments = key.contiguous(), value.contiguous(), key_pool, value_pool, slots
        kernel[(len(slots),)](*arguments, width, triton.next_power_of_2(width))
