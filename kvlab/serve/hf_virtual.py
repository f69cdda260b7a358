"""Virtual memory under an unmodified `model.generate(...)`: contiguous tensors that get their memory page by page."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

from kvlab.compute.cache import LayerShape
from kvlab.compute.virtual import VirtualKV
from kvlab.errors import OutOfPages, UsageError
from kvlab.memory import KVShape


class VirtualGenerateCache(Cache):
    """`model.generate(ids, cache=VirtualGenerateCache(model, ...))`: what a layer gets back is a view, not a gather.

    The keys of all rows are one tensor `[rows, max_tokens, kv_heads, dim]` of addresses; each step maps the pages that
    its new tokens need, writes them and shows the model the front of the tensor. Compare `GenerateCache`, which copies
    all keys and values out of their blocks for each layer of each step. The price beside the pages: rows do not
    share them (a driver could map one twice, but only whole), so `reorder_cache` (beam search) copies bytes where
    `GenerateCache` moves table entries.

    model: a transformers model whose layers keep keys and values of one shape, or its config. rows: of the batch, beams
    included. `OutOfPages` when a step needs more pages than are free; nothing is mapped then. More rows or tokens than
    there are addresses for, and layers of another shape: `UsageError`. `reset()` gives all pages back.
    """

    def __init__(
        self,
        model: Any,
        *,
        rows: int = 1,
        max_tokens: int = 2048,
        num_pages: int = 4096,
        page_bytes: int = 64 * 1024,
        dtype: torch.dtype = torch.float32,
        sliced: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(layers=[])
        shape = KVShape.from_config(getattr(model, "config", model))
        if shape.others or shape.latent_dim:
            raise UsageError(f"{shape.name} keeps latents, or layers of several shapes: this cache is for one shape")
        value_dim = shape.head_dim if shape.value_dim is None else shape.value_dim
        each = LayerShape(shape.kv_heads, shape.head_dim, value_dim)
        self.memory = VirtualKV(
            [each] * shape.layers,
            rows=rows,
            max_tokens=max_tokens,
            num_pages=num_pages,
            page_bytes=page_bytes,
            dtype=dtype,
            sliced=sliced,
            device=device,
        )
        self.layers = [VirtualLayer(self.memory, layer) for layer in range(shape.layers)]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Store `[rows, kv_heads, new, dim]` keys and values, and return those of all tokens so far, same layout."""
        return cast(VirtualLayer, self.layers[layer_idx]).update(key_states, value_states)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Row i continues what row `beam_idx[i]` has: its tokens are copied, in every layer."""
        for layer in cast(list[VirtualLayer], self.layers):
            for held in layer.held(len(beam_idx)):
                held.copy_(held.index_select(0, beam_idx.to(held.device)))

    def crop(self, tokens_to_remove: int) -> None:
        """Forget the last `-tokens_to_remove` tokens of every row, as transformers counts (0 or negative).

        Their pages stay until `reset`: the next tokens are written over them.
        """
        if tokens_to_remove > 0:
            raise UsageError(f"crop takes the tokens to remove as 0 or a negative number, not {tokens_to_remove}")
        for layer in cast(list[VirtualLayer], self.layers):
            layer.length = max(0, layer.length + tokens_to_remove)

    def reset(self) -> None:
        """Give every page back."""
        for row in list(self.memory.cache):
            self.memory.free(row)
        for layer in cast(list[VirtualLayer], self.layers):
            layer.length = 0

    def check(self) -> None:
        """See `VirtualKV.check`."""
        self.memory.check()


class VirtualLayer(CacheLayerMixin):
    """One layer's view of a `VirtualGenerateCache`: how far it has got."""

    is_croppable = True

    def __init__(self, memory: VirtualKV, index: int) -> None:
        super().__init__()
        self.memory, self.index, self.length = memory, index, 0
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing is left to do: the addresses were reserved when the cache was made."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """See `VirtualGenerateCache.update`."""
        rows, _, new, _ = key_states.shape
        start, stop = self.length, self.length + new
        keys, values = self.memory.batch(self.index)
        for held, given in ((keys, key_states), (values, value_states)):
            if (given.shape[1::2], given.dtype) != (held.shape[2:], held.dtype):
                there, found = (*held.shape[2:], held.dtype), (*given.shape[1::2], given.dtype)
                raise UsageError(f"layer {self.index} has (heads, dim, dtype) {there}, not {found}")
        grow_rows(self.memory, rows, stop)
        self.length = stop
        keys, values = self.held(rows)
        keys[:, start:] = key_states.transpose(1, 2)
        values[:, start:] = value_states.transpose(1, 2)
        return keys.transpose(1, 2), values.transpose(1, 2)

    def held(self, rows: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the first `rows` rows, `[rows, length, kv_heads, dim]`: views."""
        keys, values = self.memory.batch(self.index)
        return keys[:rows, : self.length], values[:rows, : self.length]

    def get_seq_length(self) -> int:
        """Tokens that this layer has of each row."""
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Keys that the next `update` returns, and the position of the first."""
        return self.length + query_length, 0

    def get_max_length(self) -> int:
        """Tokens of a row that there are addresses for."""
        return self.memory.max_tokens


def grow_rows(memory: VirtualKV, rows: int, num_tokens: int) -> None:
    """Make room for `num_tokens` tokens in rows 0 to `rows - 1`, which are reserved if there are none; all or none."""
    cache = memory.cache
    if len(cache) not in (0, rows) or rows > memory.rows:
        raise UsageError(f"the cache has {len(cache)} rows of at most {memory.rows}, and was given {rows}")
    fresh = range(0 if len(cache) else rows)
    for row in fresh:
        memory.reserve(row)
    try:
        needed = sum(max(0, cache.missing(row, num_tokens)) for row in range(rows))
        if needed > cache.num_free:
            raise OutOfPages(needed, cache.num_free)
        for row in range(rows):
            memory.grow(row, max(num_tokens, cache.num_tokens(row)))
    except BaseException:
        for row in fresh:
            memory.free(row)
        raise
