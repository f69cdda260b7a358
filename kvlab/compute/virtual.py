"""Contiguous keys and values on virtual memory: ordinary tensors, of which only the pages with tokens have memory.

What vAttention does on a GPU (arXiv 2405.04437): the tensors of all requests' longest lengths exist from the start, as
addresses. Attention that knows nothing of blocks reads them, since a request's tokens lie side by side.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from kvlab.errors import UsageError
from kvlab.memory.addresses import pages_needed
from kvlab.memory.linux_space import LinuxSpace
from kvlab.memory.spaces import MakeSpace, RowSpaces, SpaceAddresses
from kvlab.memory.virtual import VirtualCache

from .cache import LayerShape


class _Part(NamedTuple):
    """Where the keys, or the values, of one layer lie: a range, and the first of its numbers within a token there."""

    range: int
    column: int
    heads: int
    dim: int


class VirtualKV:
    """Keys and values of up to `rows` requests at a time, each of at most `max_tokens` tokens, in contiguous tensors.

    shapes: one `LayerShape` a layer. num_pages: the budget of physical pages, `page_bytes` bytes each, for all
    requests. sliced: one address range for the keys of all layers and one for the values (the paper's tensor slicing)
    instead of two a layer; a layer's tensor then has gaps between its tokens, and is read as it is all the same.
    keep: see `VirtualCache`. device: "cpu" needs Linux; a CUDA device needs the extra `gpu`, see `virtual_cuda`.

    Who has which pages is decided by `cache`; all that is refused there is refused here, and changes nothing. Read no
    further than a request's tokens: the pages beyond have no memory, which the CPU answers with zeros and a GPU with a
    fault.
    """

    def __init__(
        self,
        shapes: Sequence[LayerShape],
        *,
        rows: int,
        max_tokens: int,
        num_pages: int,
        page_bytes: int,
        dtype: torch.dtype = torch.float32,
        sliced: bool = False,
        keep: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        if not shapes or max_tokens < 1:
            raise UsageError(f"at least 1 layer and 1 token have keys and values, not {len(shapes)} and {max_tokens}")
        self.dtype, self.max_tokens, self.rows = dtype, max_tokens, rows
        self._parts, numbers = _layout(shapes, sliced)
        self._numbers = numbers
        widths = [count * dtype.itemsize for count in numbers]
        sizes = [pages * page_bytes for pages in pages_needed(max_tokens, widths, page_bytes)]
        self._spaces = RowSpaces(_space_of(torch.device(device)), rows, sizes, page_bytes)
        self.cache = VirtualCache(num_pages, page_bytes, widths, keep=keep, backing=self._spaces)
        self._flat = [_tensor(space.buffer(), dtype) for space in self._spaces.spaces]

    def __repr__(self) -> str:
        return f"VirtualKV({len(self._parts)} layers, {self.cache!r})"

    def reserve(self, request: Hashable) -> None:
        """Give `request` a place for `max_tokens` tokens, without memory. No free place: `UsageError`."""
        self.cache.reserve(request, self.max_tokens)

    def grow(self, request: Hashable, num_tokens: int) -> int:
        """Map what `num_tokens` tokens need in all layers; see `VirtualCache.grow`."""
        return self.cache.grow(request, num_tokens)

    def free(self, request: Hashable) -> int:
        """End `request`; see `VirtualCache.free`. Its tensors must not be used after."""
        return self.cache.free(request)

    def place(self, request: Hashable) -> int:
        """Which row of `batch` is `request`."""
        return self._spaces.place(cast(SpaceAddresses, self.cache.addresses(request)))

    def batch(self, layer: int) -> tuple[Tensor, Tensor]:
        """Keys and values of all places, `[rows, max_tokens, kv_heads, dim]`: views, never copies."""
        keys, values = self._parts[layer]
        return self._view(keys), self._view(values)

    def tokens(self, request: Hashable, layer: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the tokens that `request` has, `[num_tokens, kv_heads, dim]`: views, never copies."""
        row, stop = self.place(request), self.cache.num_tokens(request)
        keys, values = self.batch(layer)
        return keys[row, :stop], values[row, :stop]

    def write(self, request: Hashable, layer: int, key: Tensor, value: Tensor) -> None:
        """Write the last `len(key)` tokens that `request` has grown by: `[tokens, kv_heads, dim]` each.

        More rows than the request has tokens, or other shapes: `UsageError`.
        """
        for held, new in zip(self.tokens(request, layer), (key, value), strict=True):
            if len(new) > len(held) or new.shape[1:] != held.shape[1:]:
                raise UsageError(f"{tuple(new.shape)} does not fit the last of {tuple(held.shape)}")
        for held, new in zip(self.tokens(request, layer), (key, value), strict=True):
            held[len(held) - len(new) :] = new

    def close(self) -> None:
        """End every request and give up all addresses. No tensor that was had from here may be used after."""
        for request in list(self.cache):
            self.cache.free(request)
        self.cache.reclaim()
        self._flat.clear()
        self._spaces.close()

    def check(self) -> None:
        """The accounts hold, and the memory that is there is the memory that is counted; see `VirtualCache.check`."""
        self.cache.check()

    def _view(self, part: _Part) -> Tensor:
        if not self._flat:
            raise UsageError("these keys and values were closed")
        numbers, size = self._numbers[part.range], self._spaces.sizes[part.range] // self.dtype.itemsize
        shape = (self._spaces.rows, self.max_tokens, part.heads, part.dim)
        return self._flat[part.range].as_strided(shape, (size, numbers, part.dim, 1), part.column)


def contiguous_attention(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """Causal attention as torch has it, for one request: it has never heard of pages.

    query: `[new, heads, dim]`, the last `new` tokens of `key` and `value` `[tokens, kv_heads, dim]`. Returns
    `[new, heads, value_dim]`.
    """
    new, tokens = len(query), len(key)
    if not 0 < new <= tokens:
        raise UsageError(f"{new} queries are not the last of {tokens} tokens")
    mask = torch.ones(new, tokens, dtype=torch.bool, device=query.device).tril(tokens - new) if new > 1 else None
    query, key, value = (one.transpose(0, 1).unsqueeze(0) for one in (query, key, value))
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(query, key, value, attn_mask=mask, scale=scale, enable_gqa=True)[0].transpose(0, 1)


def _layout(shapes: Sequence[LayerShape], sliced: bool) -> tuple[list[tuple[_Part, _Part]], list[int]]:
    """Where each layer's keys and values lie, and how many numbers a token has in each range."""
    keys, values = [s.kv_heads * s.key_dim for s in shapes], [s.kv_heads * s.value_dim for s in shapes]
    if sliced:
        starts = [list(accumulate(sizes, initial=0)) for sizes in (keys, values)]
        places = [((0, starts[0][i]), (1, starts[1][i])) for i in range(len(shapes))]
        numbers = [sum(keys), sum(values)]
    else:
        places = [((2 * i, 0), (2 * i + 1, 0)) for i in range(len(shapes))]
        numbers = [size for pair in zip(keys, values, strict=True) for size in pair]
    parts = [
        (_Part(*key, shape.kv_heads, shape.key_dim), _Part(*value, shape.kv_heads, shape.value_dim))
        for (key, value), shape in zip(places, shapes, strict=True)
    ]
    return parts, numbers


def _space_of(device: torch.device) -> MakeSpace:
    if device.type == "cpu":
        return LinuxSpace
    if device.type == "cuda":
        from .virtual_cuda import cuda_spaces

        return cuda_spaces(device)
    raise UsageError(f"virtual memory is to be had on the CPU and on CUDA devices, not on {device}")


def _tensor(buffer: Any, dtype: torch.dtype) -> Tensor:
    """One row of numbers over a whole space: a view of it."""
    flat = buffer if isinstance(buffer, Tensor) else torch.frombuffer(buffer, dtype=torch.uint8)
    return flat.view(dtype)
