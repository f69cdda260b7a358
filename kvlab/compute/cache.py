"""Where keys and values lie: one pool of blocks a layer, written by slot and read through block tables."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed

from .backend import choose_backend


class LayerShape(NamedTuple):
    """What one token leaves in one layer: `kv_heads` keys of `key_dim` and values of `value_dim` numbers.

    With MLA there is one head, the "key" is the latent and the "value" the rotary part, so the two dims differ.
    """

    kv_heads: int
    key_dim: int
    value_dim: int


def write_kv(key_pool: Tensor, value_pool: Tensor, key: Tensor, value: Tensor, slots: Tensor) -> None:
    """Write each token's key and value into its slot of the two pools, in place.

    key_pool, value_pool: `[num_blocks, block_size, kv_heads, head_dim]`; key, value: `[num_tokens, kv_heads,
    head_dim]`; slots: `[num_tokens]` int64, `block * block_size + offset`. A slot of -1 writes nothing (torch would
    take it for the last slot). A slot beyond the pool, and shapes that do not fit, are refused with `UsageError` before
    anything is written.
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
    store_kv((key_pool, value_pool), (key, value), slots)


def store(pool: Tensor, rows: Tensor, slots: Tensor) -> None:
    """`pool[slot] = row` for each token, unchecked: `slots` are int64, each in the pool, each at most once."""
    flat = pool.view(pool.shape[0] * pool.shape[1], -1)
    flat.index_copy_(0, slots, rows.detach().reshape(len(slots), flat.shape[1]).to(pool.dtype))


def store_kv(pools: tuple[Tensor, Tensor], rows: tuple[Tensor, Tensor], slots: Tensor) -> None:
    """`store` of keys and values in one go: by the Triton kernel where it is the better one, on a GPU."""
    if pools[0].is_cuda and _kernels_run_on(pools[0].device):
        from kvlab.kernels.write_kv import write_kv as write

        key, value = rows
        write(key.detach(), value.detach(), *pools, slots)
        return
    for pool, new in zip(pools, rows, strict=True):
        store(pool, new, slots)


@functools.cache
def _kernels_run_on(device: torch.device) -> bool:
    return choose_backend(device).name == "triton"


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
        pool.index_copy_(0, targets, pool.index_select(0, sources))


class PagedCache:
    """The pools of every layer. It moves the bytes that a `BlockManager` names, and decides nothing itself.

    num_blocks x block_size slots a layer. `shapes` gives each layer's `LayerShape`; layers without one get their pools
    from the first keys and values that are written to them, which is how any model fits. `fill` is what new pools hold:
    tests say NaN, and nothing may change.
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
    ) -> None:
        if num_blocks < 1 or block_size < 1:
            raise UsageError(f"a cache needs at least 1 block of 1 slot, not {num_blocks} of {block_size}")
        self.num_blocks, self.block_size, self.fill = num_blocks, block_size, fill
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}
        for layer, shape in enumerate(shapes):
            self._make(layer, shape, dtype, torch.device(device))

    def __len__(self) -> int:
        """Layers that have pools."""
        return len(self.keys)

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token takes in all layers together."""
        pools = [*self.keys.values(), *self.values.values()]
        return sum(pool[0, 0].numel() * pool.element_size() for pool in pools)

    def write(self, layer: int, key: Tensor, value: Tensor, slots: Tensor) -> None:
        """`write_kv` into the pools of `layer`, which are made now if they are missing."""
        self.pools_for(layer, key, value)
        write_kv(self.keys[layer], self.values[layer], key, value, slots)

    def gather(self, layer: int, table: Sequence[int] | Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values of a sequence in `layer`: `gather_kv` of both pools."""
        return gather_kv(self.keys[layer], table, length), gather_kv(self.values[layer], table, length)

    def copy_blocks(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy blocks `(source, target)` in every layer."""
        pairs = list(pairs)
        for pool in (*self.keys.values(), *self.values.values()):
            copy_blocks(pool, pairs)

    def pools_for(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The pools of `layer`; made to fit `key` and `value` `[..., kv_heads, head_dim]` if it has none yet."""
        if layer not in self.keys:
            self._make(layer, LayerShape(key.shape[-2], key.shape[-1], value.shape[-1]), key.dtype, key.device)
        return self.keys[layer], self.values[layer]

    def _make(self, layer: int, shape: LayerShape, dtype: torch.dtype, device: torch.device) -> None:
        for pools, dim in ((self.keys, shape.key_dim), (self.values, shape.value_dim)):
            size = (self.num_blocks, self.block_size, shape.kv_heads, dim)
            with torch.inference_mode(False):  # a pool made in a forward pass is to be written outside one too
                pools[layer] = torch.full(size, self.fill, dtype=dtype, device=device)
