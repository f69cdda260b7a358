"""Where keys and values lie: one pool of blocks a layer, written by slot and read through block tables."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed

from .backend import choose_backend, float8_objection
from .float8 import LARGEST, as_bytes, is_float8, pool_dtype
from .fp8 import decode, encode
from .scales import UNSCALED, LayerScales, Scale, Scales, is_pool, row_scales, scales_from


class LayerShape(NamedTuple):
    """What one token leaves in one layer: `kv_heads` keys of `key_dim` and values of `value_dim` numbers.

    With MLA there is one head, the "key" is the latent and the "value" the rotary part, so the two dims differ.
    """

    kv_heads: int
    key_dim: int
    value_dim: int


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
        key, value = (_gathered(*each, table, length) for each in zip(pools, scales, strict=True))
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


def filled(size: tuple[int, ...], fill: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor full of one number; of the nearest there is, in float8, where `torch.full` refuses what is too large."""
    pool = torch.full(size, 0.0 if dtype in LARGEST else fill, dtype=dtype, device=device)
    if is_float8(pool):
        as_bytes(pool).fill_(int(as_bytes(encode(torch.tensor([fill]), 1.0, dtype))))
    return pool


def _gathered(pool: Tensor, scale: Scale | None, table: Sequence[int] | Tensor, length: int) -> Tensor:
    rows = gather_kv(pool, table, length)
    if not is_float8(pool):
        return rows
    if is_pool(scale):
        scale = gather_kv(scale, table, length)
    return decode(rows, 1.0 if scale is None else scale)
