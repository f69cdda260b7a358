"""What keys and values are divided by before they become float8: by hand, measured, or one for each token and head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .float8 import LARGEST
from .fp8 import FP8, refuse_scale

GRANULARITIES = ("tensor", "head", "token_head")
Scale = Tensor | float


class LayerScales(NamedTuple):
    """One layer's scales, of its keys and of its values: a number each, or float32 `[kv_heads]` each.

    As `PagedCache` has them, also None each, where numbers are not in 8 bits, or a pool of scales each, float32
    `[num_blocks, block_size, kv_heads]`, where every token and head has its own.
    """

    key: Scale | None = 1.0
    value: Scale | None = 1.0


UNSCALED = LayerScales(None, None)


def is_pool(scale: Scale | None) -> TypeGuard[Tensor]:
    """Whether it is a pool, of scales for each token and head."""
    return isinstance(scale, Tensor) and scale.dim() == 3


class Scales:
    """The scales of every layer's keys and values. Their kind, `granularity`, is one of three:

    - "tensor": a number for a layer's keys and another for its values
    - "head": a number for each KV head, `[kv_heads]`
    - "token_head": none in advance. Each key and each value gets the scale that its own largest number asks for when it
      is written; the scales lie in pools of their own, 4 bytes for each.

    layers: a `LayerScales` (or pair) for each layer, in order; a single one serves all layers. With "token_head" there
    are none. Scales that are not above 0 and finite, and kinds that do not fit, raise `UsageError`.
    """

    def __init__(self, layers: Iterable[tuple[Scale, Scale]] = ((1.0, 1.0),), granularity: str = "tensor") -> None:
        if granularity not in GRANULARITIES:
            raise UsageError(f'scales go by {", ".join(GRANULARITIES)}, not by "{granularity}"')
        self.granularity = granularity
        self.layers: Sequence[tuple[Scale, Scale]] = () if self.per_token else [(key, value) for key, value in layers]
        if not self.layers and not self.per_token:
            raise UsageError("scales are for at least 1 layer, not for 0")
        for scale in (scale for pair in self.layers for scale in pair):
            refuse_scale(scale)
            heads = isinstance(scale, Tensor) and scale.dim() == 1
            if heads != (granularity == "head"):
                raise UsageError(f'with "{granularity}" a scale is not {"[kv_heads]" if heads else "one number"}')

    @property
    def per_token(self) -> bool:
        """Whether each token and head has a scale of its own, in a pool."""
        return self.granularity == "token_head"

    @property
    def num_bytes(self) -> int:
        """Bytes of the scales, at 4 each, without those that lie in pools."""
        return sum(4 * (scale.numel() if isinstance(scale, Tensor) else 1) for pair in self.layers for scale in pair)

    def of(self, layer: int, kv_heads: int, device: torch.device) -> LayerScales:
        """The scales of one layer, on `device`. Scales for fewer layers, or for other heads, raise `UsageError`."""
        if len(self.layers) > 1 and layer >= len(self.layers):
            raise UsageError(f"there are scales for {len(self.layers)} layers, and the model has a layer {layer}")
        key, value = (_placed(scale, kv_heads, device) for scale in self.layers[layer if len(self.layers) > 1 else 0])
        return LayerScales(key, value)


def scales_from(scales: Scales | str | tuple[Scale, Scale] | None) -> Scales:
    """What `scales=` may be: `Scales`, "token_head", a scale of keys and one of values for all layers, or None: 1."""
    if isinstance(scales, Scales):
        return scales
    if isinstance(scales, str):
        if scales != "token_head":
            raise UsageError(f'scales by "{scales}" have to be measured first: see kvlab.compute.calibrate')
        return Scales((), scales)
    key, value = scales if scales is not None else (1.0, 1.0)
    return Scales([(key, value)], "head" if isinstance(key, Tensor) and key.dim() == 1 else "tensor")


def calibrate(
    observed: Iterable[tuple[Tensor, Tensor]], granularity: str = "tensor", dtype: torch.dtype = FP8
) -> Scales:
    """Scales with which the largest number observed just fits: `max(|x|) / 448`, layer by layer.

    observed: keys and values of each layer, `[..., kv_heads, dim]`, such as the pools of a `PagedCache` that holds some
    requests. granularity: "tensor" or "head"; "token_head" needs no calibration, and looks at nothing. Larger numbers
    than those observed will saturate. Where nothing but zeros was observed the scale is 1. NaN, infinities and no layer
    at all raise `UsageError`.
    """
    if granularity == "token_head":
        return Scales((), granularity)
    pairs = [
        (largest_scale(key, granularity, dtype), largest_scale(value, granularity, dtype)) for key, value in observed
    ]
    return Scales(pairs, granularity)


def largest_scale(x: Tensor, granularity: str, dtype: torch.dtype = FP8) -> Scale:
    """The scale, or those of the heads, that `calibrate` gives for one tensor `[..., kv_heads, dim]`."""
    largest = x.detach().float().abs().reshape(-1, *x.shape[-2:]).amax((0, 2))
    if not bool(largest.isfinite().all()):
        raise UsageError(f"numbers to calibrate on are finite; the largest of each head are {largest.tolist()}")
    if granularity == "tensor":
        most = float(largest.amax())
        return most / LARGEST[dtype] if most else 1.0
    return torch.where(largest > 0, largest / LARGEST[dtype], 1.0)


def row_scales(rows: Tensor, dtype: torch.dtype = FP8) -> Tensor:
    """`[..., kv_heads]` float32: for each key or value of `rows` `[..., kv_heads, dim]`, what makes its largest fit."""
    largest = rows.detach().float().abs().amax(-1)
    return (largest / LARGEST[dtype]).clamp_min_(torch.finfo(torch.float32).tiny)


def _placed(scale: Scale, kv_heads: int, device: torch.device) -> Scale:
    if not isinstance(scale, Tensor) or scale.dim() == 0:
        return float(scale)
    if len(scale) != kv_heads:
        raise UsageError(f"there are {kv_heads} KV heads, and scales for {len(scale)}")
    return scale.float().contiguous().to(device)
