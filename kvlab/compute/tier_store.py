"""The bytes of blocks on their way to and from the tiers: every layer's keys and values of a block in one piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kvlab.errors import UsageError
from kvlab.memory import BlockLayout

from .cache import PagedCache
from .pools import refuse_unknown_block
from .scales import is_pool
from .streams import CopyStream

WHOLE_BYTES = 2**26
"""Weights up to this size are all read for a fingerprint; of more, `SAMPLE` numbers of each tensor."""
SAMPLE = 4096
_PASSING = ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "architectures", "_attn_implementation")


def fingerprint(model: torch.nn.Module) -> str:
    """32 hex digits that differ when keys and values of equal tokens may: of configuration, names, shapes and weights.

    Small models are read whole. Of one above `WHOLE_BYTES`, `SAMPLE` numbers of each tensor are read, evenly spread: a
    model that was trained on differs in nearly all of them, but a change of single numbers in a large one may go
    unseen. Where a model lies, and which version of transformers loads it, make no difference.
    """
    config: Any = getattr(model, "config", None)
    known = {} if config is None else {key: value for key, value in config.to_dict().items() if key not in _PASSING}
    seen = sha256(json.dumps(known, sort_keys=True, default=str).encode())
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    whole = sum(tensor.numel() * tensor.element_size() for tensor in state.values()) <= WHOLE_BYTES
    for name in sorted(state):
        tensor = state[name].detach()
        seen.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        seen.update(_some_bytes(tensor, tensor.numel() if whole else SAMPLE))
    return seen.hexdigest()[:32]


def _some_bytes(tensor: Tensor, count: int) -> bytes:
    """The bytes of up to `count` numbers of a tensor, the first and the last among them."""
    flat = tensor.flatten()
    if len(flat) > count:
        flat = flat[torch.linspace(0, len(flat) - 1, count, dtype=torch.float64).long().to(flat.device)]
    return flat.contiguous().cpu().view(torch.uint8).numpy().tobytes() if len(flat) else b""


class TierStore:
    """Packs blocks of `cache` into rows of bytes, and back. It moves what it is told and decides nothing.

    A row is `[block_bytes]` uint8: the block in each pool, one after the other, whatever their types are. On a GPU the
    host's side is pinned and copies run on a stream of their own: blocks are gathered before any later step writes to
    them, and blocks that come back are there before any later step reads them.
    """

    def __init__(self, cache: PagedCache) -> None:
        self.cache = cache
        self._copies = CopyStream()

    def layout(self, model: str) -> BlockLayout:
        """What the rows mean, for a model of that fingerprint. A cache without pools yet is refused: `UsageError`."""
        pools = self._pools()
        if not pools:
            raise UsageError("the cache has no pools yet, so its blocks have no bytes that could be stored")
        kinds = sorted({str(pool.dtype) for pool in pools}), _scales(self.cache)
        shapes = tuple(tuple(pool.shape[1:]) for pool in pools)
        return BlockLayout(model, repr(kinds), self.cache.block_size, shapes, sum(map(_width, pools)))

    def pack(self, blocks: Sequence[int]) -> tuple[np.ndarray, Callable[[], object] | None]:
        """Rows `[len(blocks), block_bytes]` of what the blocks hold now, and what waits until the bytes are there.

        Whatever is written to the blocks from now on does not reach the rows (F29).
        """
        pools = self._pools()
        refuse_unknown_block(pools[0], *blocks)
        device = pools[0].device
        with self._copies.beside(device) as gone:
            which = torch.tensor(blocks, dtype=torch.int64, device=device)
            held = torch.cat([_rows(pool).index_select(0, which) for pool in pools], dim=1)
            gone()
            if device.type != "cuda":
                return held.numpy(), None
            rows = torch.empty(held.shape, dtype=torch.uint8, pin_memory=True)
            rows.copy_(held, non_blocking=True)
            return rows.numpy(), torch.cuda.current_stream(device).record_event().synchronize

    def unpack(self, blocks: Sequence[int], rows: Iterable[np.ndarray]) -> None:
        """Write the rows to as many blocks, each of which is named once. Whatever comes next may read them."""
        pools, stacked = self._pools(), list(rows)
        if len(stacked) != len(blocks) or len(set(blocks)) < len(blocks):
            raise UsageError(f"{len(stacked)} rows go to as many different blocks, not to {list(blocks)}")
        if not stacked:
            return
        refuse_unknown_block(pools[0], *blocks)
        device, widths = pools[0].device, list(map(_width, pools))
        host = torch.from_numpy(np.stack(stacked))
        if host.shape[1] != sum(widths):
            raise UsageError(f"a block has {sum(widths)} bytes, not {host.shape[1]}")
        with self._copies.beside(device) as there:
            held = host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host
            which = torch.tensor(blocks, dtype=torch.int64, device=device)
            for pool, part in zip(pools, held.split(widths, dim=1), strict=True):
                _rows(pool).index_copy_(0, which, part)
            there()

    def _pools(self) -> list[Tensor]:
        """Everything that is kept by block, in an order that is the same in each process."""
        return [pool for _, pool in sorted(self.cache.pools(), key=lambda named: named[0])]


def _scales(cache: PagedCache) -> list[list[list[float] | None]]:
    """What the numbers of each layer are multiplied by, as far as that does not lie in pools itself."""
    layers = [cache.layer_scales[layer] for layer in sorted(cache.layer_scales)]
    return [[None if scale is None or is_pool(scale) else _numbers(scale) for scale in pair] for pair in layers]


def _numbers(scale: Any) -> list[float]:
    return torch.as_tensor(scale).flatten().tolist()


def _rows(pool: Tensor) -> Tensor:
    """A pool `[num_blocks, ...]` of any type as bytes, `[num_blocks, bytes of a block]`, in place."""
    return pool.flatten(1).view(torch.uint8)


def _width(pool: Tensor) -> int:
    return pool[0].numel() * pool.element_size()
