"""What both attention kernels are launched with, read off the tensors and the chosen launch: the same for either."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton.language as tl
from torch import Tensor

from . import checks
from .heuristics import DecodeLaunch, PrefillLaunch

COMPUTE = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}
Scale = Tensor | float | None


class Arguments(NamedTuple):
    """scales: of keys and values, as the kernels take them. strides: of the query, the pools and the tables, in the
    kernels' order. constants: sizes, types and options of the compiler, by name."""

    scales: tuple[Tensor | float, Tensor | float]
    strides: tuple[int, ...]
    constants: dict[str, Any]


def arguments(
    launch: DecodeLaunch | PrefillLaunch,
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    tables: Tensor,
    scales: tuple[Scale, Scale],
) -> Arguments:
    """The arguments for these tensors. ValueError for scales that do not fit the pools."""
    _, block_size, kv_heads, key_dim = key_pool.shape
    key_scale, key_step = checks.check_scale(scales[0], kv_heads, key_pool)
    value_scale, value_step = checks.check_scale(scales[1], kv_heads, value_pool)
    float8 = key_pool.dtype in checks.FLOAT8 and query.dtype is not torch.float32
    constants = {
        "KEY_DIM": key_dim,
        "VALUE_DIM": value_pool.shape[3],
        "BLOCK_SIZE": block_size,
        "GROUP": query.shape[1] // kv_heads,
        "HEADS": launch.heads,
        "ROWS": launch.rows,
        "HEAD_TILES": launch.head_tiles,
        "TILE": launch.tile,
        "KEY_TILE": launch.key_tile,
        "VALUE_TILE": launch.value_tile,
        "COMPUTE": tl.float16 if float8 else COMPUTE[query.dtype],
        "KEY_SCALE_STEP": key_step,
        "VALUE_SCALE_STEP": value_step,
        "num_warps": launch.warps,
        "num_stages": launch.stages,
    }
    strides = (*query.stride(), *key_pool.stride()[:3], *value_pool.stride()[:3], tables.stride(0))
    return Arguments((key_scale, value_scale), strides, constants)
