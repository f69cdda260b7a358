"""Keys and values in FP8: numbers divided by a scale, kept in 8 bits, and attended without being multiplied back.

What is stored is `code = key / scale`, rounded to e4m3. Attention is linear in keys and in values, so that the scales
leave the sums: `q . (code * key_scale) * softmax_scale = (q . code) * (softmax_scale * key_scale)`, and
`sum(weight * (code * value_scale)) = sum(weight * code) * value_scale`. One multiplication a score, and one a number of
the output, take the place of one for each number that is cached.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .float8 import LARGEST, is_float8, widen

FP8 = torch.float8_e4m3fn
FP8_MAX = LARGEST[FP8]
"""The largest number of e4m3, 448."""

TILE = 64  # tokens that `attend_fp8` looks at in one go


def quantize_fp8(x: Tensor, scale: Tensor | float = 1.0, dtype: torch.dtype = FP8) -> Tensor:
    """`x / scale` rounded to e4m3, `[...]` float8_e4m3fn: what lies beyond 448 becomes 448, its sign kept (saturation).

    x: `[..., dim]`, any float type; the division is done in float32. scale: above 0; a number (or a tensor of one), or
    a tensor that fits `x.shape[:-1]`: for keys `[tokens, kv_heads, dim]` these are `[kv_heads]`, one a head, or
    `[tokens, kv_heads]`, one a token and head. NaN stays NaN. dtype: float8_e5m2 is the other type that can be asked
    for, with 57,344 for 448. A scale of 0 or below, one that is not finite, and shapes that do not fit raise
    `UsageError`.
    """
    if dtype not in LARGEST:
        raise UsageError(f"{dtype} is none of the float8 types that pools may have: {', '.join(map(str, LARGEST))}")
    refuse_scale(scale)
    return encode(x, scale, dtype)


def dequantize_fp8(x: Tensor, scale: Tensor | float = 1.0) -> Tensor:
    """The numbers that float8 `x` stands for, `x * scale` in float32. scale: as in `quantize_fp8`, and so refused."""
    if not is_float8(x):
        raise UsageError(f"only float8 numbers can be dequantized, not {x.dtype}")
    refuse_scale(scale)
    return decode(x, scale)


def encode(x: Tensor, scale: Tensor | float, dtype: torch.dtype = FP8) -> Tensor:
    """`quantize_fp8`, but that scales are taken as they are: a NaN, as it comes of a key that is NaN, is passed on."""
    divided = x.float() / _beside(x, scale)
    return divided.clamp_(-LARGEST[dtype], LARGEST[dtype]).to(dtype)


def decode(x: Tensor, scale: Tensor | float) -> Tensor:
    """`dequantize_fp8`, and scales are taken as they are."""
    return widen(x, torch.float32) * _beside(x, scale)


def attend_fp8(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    key_scale: Tensor | float,
    value_scale: Tensor | float,
    scale: float | None = None,
) -> Tensor:
    """One token's attention over its sequence's FP8 keys and values, with each scale applied once, outside the sums.

    query: `[heads, head_dim]`, float32, float16 or bfloat16; keys: `[length, kv_heads, head_dim]` and values: `[length,
    kv_heads, value_dim]`, float8, one after the other as a gather leaves them; query head h reads KV head
    `h // (heads // kv_heads)`. key_scale, value_scale: what they were divided by; a number, or `[kv_heads]`. scale: of
    the softmax, `head_dim ** -0.5` if None.

    key_scale is folded into the softmax scale: scores are `(q . code) * (scale * key_scale)`. value_scale is folded
    into the output, after the division by the softmax's sum. In between, 64 tokens at a time, codes are converted to
    float32 and never multiplied by a scale, so that no dequantized copy of keys or values exists. Query, scores,
    weights and sums are float32; the result, `[heads, value_dim]`, has the query's type. A length of 0 gives 0. Shapes
    that do not fit, keys or values that are not float8, and scales that `quantize_fp8` refuses raise `UsageError`.
    Sources: Milakov and Gimelshein 2018 (arXiv 1805.02867) for the running softmax; the module's docstring for the
    folding.
    """
    _refuse_shapes(query, keys, values)
    kv_heads = keys.shape[1]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    folded, after = _per_head(key_scale, keys) * scale, _per_head(value_scale, values)
    output = _attended(query.float().view(kv_heads, -1, query.shape[-1]), keys, values, folded) * after
    return output.flatten(0, 1).to(query.dtype)


def _attended(query: Tensor, keys: Tensor, values: Tensor, scale: Tensor) -> Tensor:
    """`[kv_heads, heads of each, value_dim]`: the mean of the codes of the values, weighted by the softmax."""
    largest = query.new_full((*query.shape[:2], 1), -math.inf)
    total = torch.zeros_like(largest)
    output = query.new_zeros(*query.shape[:2], values.shape[-1])
    for start in range(0, len(keys), TILE):
        key, value = (widen(part[start : start + TILE], torch.float32).transpose(0, 1) for part in (keys, values))
        scores = query @ key.transpose(1, 2) * scale  # [kv_heads, heads of each, tokens]
        higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
        shrink, weights = torch.exp(largest - higher), torch.exp(scores - higher)
        total = total * shrink + weights.sum(-1, keepdim=True)
        output = output * shrink + weights @ value
        largest = higher
    return output / total.clamp_min(torch.finfo(torch.float32).tiny)


def refuse_scale(scale: Tensor | float) -> None:
    """`UsageError` for a scale that is not above 0 and finite. Tensors on a GPU pass: a look would wait for it."""
    if isinstance(scale, Tensor):
        right = scale.device.type != "cpu" or bool((scale > 0).all() & scale.isfinite().all())
    else:
        right = 0 < scale < math.inf
    if not right:
        found = scale.tolist() if isinstance(scale, Tensor) else scale
        raise UsageError(f"a scale lies above 0 and is finite, not {found}")


def _beside(x: Tensor, scale: Tensor | float) -> Tensor | float:
    """A scale ready to go with `x`: a number, or float32 with a last dimension of 1."""
    if not isinstance(scale, Tensor):
        return float(scale)
    if scale.numel() == 1:
        return scale.float().reshape(())
    heads = x.shape[:-1]
    fits = scale.dim() <= len(heads) and scale.shape == heads[len(heads) - scale.dim() :]
    if not fits:
        raise UsageError(f"scales {tuple(scale.shape)} do not fit numbers {tuple(x.shape)}: one for all, or one a row")
    return scale.float().unsqueeze(-1)


def _per_head(scale: Tensor | float, rows: Tensor) -> Tensor:
    """`[kv_heads, 1, 1]` or `[1, 1, 1]` float32, for rows `[length, kv_heads, dim]`."""
    refuse_scale(scale)
    found = torch.as_tensor(scale, dtype=torch.float32, device=rows.device).reshape(-1, 1, 1)
    if len(found) not in (1, rows.shape[1]):
        raise UsageError(f"there are {rows.shape[1]} KV heads, and scales for {len(found)}")
    return found


def _refuse_shapes(query: Tensor, keys: Tensor, values: Tensor) -> None:
    if not (is_float8(keys) and is_float8(values)):
        raise UsageError(f"keys and values are float8, not {keys.dtype} and {values.dtype}")
    if (
        (query.dim(), keys.dim(), values.dim()) != (2, 3, 3)
        or not keys.shape[1]
        or query.shape[0] % keys.shape[1]
        or query.shape[1] != keys.shape[2]
        or keys.shape[:2] != values.shape[:2]
    ):
        shapes = f"{tuple(query.shape)}, {tuple(keys.shape)} and {tuple(values.shape)}"
        raise UsageError(
            f"a query [heads, dim], keys [length, kv_heads, dim] and values [.., value_dim] do not fit: {shapes}"
        )
