"""Where keys and values lie: a pool of blocks for the keys of each layer, and one for its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .float8 import pool_dtype
from .pools import copy_blocks, filled, gather_numbers, write_kv
from .scales import UNSCALED, LayerScales, Scale, Scales, is_pool, scales_from


class LayerShape(NamedTuple):
    """What one token leaves in one layer: `kv_heads` keys of `key_dim` and values of `value_dim` numbers.

    With MLA there is one head, the "key" is the latent and the "value" the rotary part, so the two dims differ.
    """

    kv_heads: int
    key_dim: int
    value_dim: int


class PagedCache:
    """The pools of every layer. It moves the bytes that a `BlockManager` names, and decides nothing itself.

    num_blocks x block_size slots a layer. `shapes` gives each layer's `LayerShape`; layers without one get their pools
    from the first keys and values that are written to them, which is how any model fits. `fill` is what new pools hold:
    tests say NaN, and nothing may change. kv_dtype: "auto" keeps numbers as they come, "fp8" and "fp8_e5m2" in 8 bits,
    divided by `scales` (see `scales_from`; none means 1), which anything else than 8 bits goes without: `UsageError`.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        shapes: Iterable[LayerShape] = (),
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        fill: float = 0.0,
        kv_dtype: str = "auto",
        scales: Scales | str | tuple[Scale, Scale] | None = None,
    ) -> None:
        self.dtype = pool_dtype(kv_dtype)
        if scales is not None and self.dtype is None:
            raise UsageError('scales go with keys and values in 8 bits: kv_dtype="fp8"')
        self.scales = scales_from(scales)
        if num_blocks < 1 or block_size < 1:
            raise UsageError(f"a cache needs at least 1 block of 1 slot, not {num_blocks} of {block_size}")
        self.num_blocks, self.block_size, self.fill = num_blocks, block_size, fill
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}
        self.layer_scales: dict[int, LayerScales] = {}
        for layer, shape in enumerate(shapes):
            self._make(layer, shape, dtype, torch.device(device))

    def __len__(self) -> int:
        """Layers that have pools."""
        return len(self.keys)

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token takes in all layers together, scales of its own included."""
        return sum(pool[0, 0].numel() * pool.element_size() for _, pool in self.pools())

    @property
    def num_bytes(self) -> int:
        """Bytes of all pools. Scales that are not in pools, `scales.num_bytes`, come on top, as weights do."""
        return self.num_blocks * self.block_size * self.bytes_per_token

    def pools(self) -> Iterator[tuple[tuple[str, int], Tensor]]:
        """`((kind, layer), pool)` of everything that is kept by block, `[num_blocks, block_size, ...]`.

        Kinds are "keys", "values" and, where each token and head has its own, "key_scales" and "value_scales". Whoever
        moves blocks moves them in all of these.
        """
        for layer in self.keys:
            yield ("keys", layer), self.keys[layer]
            yield ("values", layer), self.values[layer]
            for kind, scale in zip(("key_scales", "value_scales"), self.layer_scales[layer], strict=True):
                if is_pool(scale):
                    yield (kind, layer), scale

    def write(self, layer: int, key: Tensor, value: Tensor, slots: Tensor) -> None:
        """`write_kv` into the pools of `layer`, which are made now if they are missing."""
        self.pools_for(layer, key, value)
        write_kv(self.keys[layer], self.values[layer], key, value, slots, scales=self.layer_scales[layer])

    def gather(self, layer: int, table: Sequence[int] | Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values of a sequence in `layer`: `gather_kv` of both pools, times their scales where they are in
        8 bits, and then float32."""
        pools, scales = (self.keys[layer], self.values[layer]), self.layer_scales[layer]
        key, value = (gather_numbers(*each, table, length) for each in zip(pools, scales, strict=True))
        return key, value

    def copy_blocks(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy blocks `(source, target)` in every layer."""
        pairs = list(pairs)
        for _, pool in self.pools():
            copy_blocks(pool, pairs)

    def pools_for(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The pools of `layer`; made to fit `key` and `value` `[..., kv_heads, head_dim]` if it has none yet."""
        if layer not in self.keys:
            self._make(layer, LayerShape(key.shape[-2], key.shape[-1], value.shape[-1]), key.dtype, key.device)
        return self.keys[layer], self.values[layer]

    def _make(self, layer: int, shape: LayerShape, dtype: torch.dtype, device: torch.device) -> None:
        size = (self.num_blocks, self.block_size, shape.kv_heads)
        with torch.inference_mode(False):  # a pool made in a forward pass is to be written outside one too
            scales = UNSCALED if self.dtype is None else self._scales(layer, size, device)
            for pools, dim in ((self.keys, shape.key_dim), (self.values, shape.value_dim)):
                pools[layer] = filled((*size, dim), self.fill, self.dtype or dtype, device)
        self.layer_scales[layer] = scales

    def _scales(self, layer: int, size: tuple[int, int, int], device: torch.device) -> LayerScales:
        """Those that were given, or a pool for keys and another for values."""
        if not self.scales.per_token:
            return self.scales.of(layer, size[2], device)
        key, value = (torch.full(size, self.fill, dtype=torch.float32, device=device) for _ in range(2))
        return LayerScales(key, value)
