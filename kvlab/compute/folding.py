"""The scales of float8 pools, moved out of the sums over keys and values.

A scale of all keys goes into the softmax scale; those of the KV heads into the queries, head by head, since torch's
kernel has one softmax scale for all. A scale of values, for all or for each KV head, multiplies the output. A pool of
scales, one for each token and head, cannot leave the sums: pages are multiplied by it when they have been gathered.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .float8 import is_float8
from .scales import Scale, is_pool


def fold_key_scale(query: Tensor, pool: Tensor, key_scale: Scale | None, scale: float | None) -> tuple[Tensor, float]:
    """Query and softmax scale that go with the codes of the keys. `UsageError` for a scale that does not fit.

    scale: that of the softmax, `head_dim ** -0.5` if None.
    """
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    factor = _factor(key_scale, pool)
    if factor is None or isinstance(factor, float):
        return query, scale * (1.0 if factor is None else factor)
    return _times(query, factor), scale


def fold_value_scale(output: Tensor, pool: Tensor, value_scale: Scale | None) -> Tensor:
    """The output for values, from the one for their codes, `[num_tokens, heads, value_dim]`. It refuses the same."""
    factor = _factor(value_scale, pool)
    if factor is None:
        return output
    return output * factor if isinstance(factor, float) else _times(output, factor)


def _times(rows: Tensor, factor: Tensor) -> Tensor:
    """`[num_tokens, heads, dim]` times the factor of each one's KV head, multiplied in float32."""
    return (rows * factor.repeat_interleave(rows.shape[1] // len(factor)).view(1, -1, 1)).to(rows.dtype)


def _factor(scale: Scale | None, pool: Tensor) -> Tensor | float | None:
    """None where nothing is to be folded, a number for all, or `[kv_heads]`."""
    if scale is None:
        return None
    if not is_float8(pool):
        raise UsageError(f"scales go with float8 pools, not with {pool.dtype}")
    if is_pool(scale):
        if scale.shape != pool.shape[:3]:
            raise UsageError(f"a pool of scales is {tuple(pool.shape[:3])} here, not {tuple(scale.shape)}")
        return None
    if not isinstance(scale, Tensor) or scale.dim() == 0:
        if not 0 < float(scale) < float("inf"):
            raise UsageError(f"a scale lies above 0 and is finite, not {float(scale)}")
        return float(scale)
    if scale.shape not in ((1,), pool.shape[2:3]):
        raise UsageError(f"there are {pool.shape[2]} KV heads, and scales {tuple(scale.shape)}")
    return scale.to(torch.float32)
