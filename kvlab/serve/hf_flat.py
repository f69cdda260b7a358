"""What an unmodified model is handed as `cache=` when it runs on a flattened batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from kvlab.compute import AttentionPlan, LayerScales, PagedAttention, PagedCache
from kvlab.compute.float8 import is_float8
from kvlab.compute.fp8 import decode
from kvlab.compute.pools import store_kv
from kvlab.compute.scales import Scale, is_pool
from kvlab.errors import UsageError
from kvlab.memory import LayerGroups

from .batch import Batch, Lane
from .hf_support import MissingFromCache, Unsupported


class FlatCache:
    """Writes each layer's new keys and values into the pools, and attends over the pools through the block tables.

    latent: the model hands over MLA latents, and expands what `update` returns into heads (DeepSeek). Then `update`
    returns the latents of every token in every context, and what the model makes of them is attended as a pool of
    one-token blocks. groups: which table and which pools each layer uses; None: each its own pools, all one table.
    """

    is_compileable = False

    def __init__(
        self,
        cache: PagedCache,
        attention: PagedAttention,
        planned: bool,
        latent: bool,
        groups: LayerGroups | None = None,
    ) -> None:
        self.cache, self.attention, self.planned, self.latent = cache, attention, planned, latent
        if groups is not None and len(groups) > 1 and len(cache.scales.layers) > 1:
            raise UsageError("scales that differ by layer do not fit pools that layers of several groups share")
        self.groups = groups
        self._group_of, self._place_of = (groups.group_of, groups.place_of) if groups is not None else ({}, {})
        self.writer: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], None] | None = None  # in place of `store`
        self.batch: Batch | None = None
        self.written = self.attended = 0  # layers of this step that came to `update`, and to `attend`
        self._lanes: list[Batch | Lane] = []
        self._kept: list[tuple[Tensor, Tensor | None]] = []
        self._expanded: _Expanded | None = None

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingFromCache(f'the model asks its cache for "{name}", which a paged one does not have')

    @contextmanager
    def running(self, batch: Batch) -> Iterator[None]:
        """The step that `batch` is. Its tensors are let go of at the end, whatever happens."""
        self.batch, self.written, self.attended = batch, 0, 0
        self._lanes = [batch, *batch.others]
        self._kept = [_kept(lane.slots) for lane in self._lanes]
        self._expanded = _Expanded(batch, self.cache.block_size) if self.latent else None
        try:
            yield
        finally:
            self.batch = self._expanded = None
            self._lanes, self._kept = [], []

    def refuse_bypass(self, name: str) -> None:
        """`Unsupported` if a layer wrote its keys but did not come to us for its attention, or none came at all."""
        if not self.written or self.written != self.attended:
            says = f"{self.written} layers wrote keys and {self.attended} attended through the block tables"
            raise Unsupported(f"{name} cannot be served on paged memory: {says}")

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Asked by models that count positions themselves; they are given positions, so any number will do."""
        return 0

    def update(
        self, key: Tensor, value: Tensor, layer_idx: int, *, kwargs: dict[str, Any] | None = None, **_: Any
    ) -> tuple[Tensor, Tensor]:
        """Write `[1, kv_heads, T, dim]` keys and values to their slots, and tell the attention by way of `kwargs`."""
        if kwargs is None:
            says = "it gives its cache no way to reach the attention (update() without kwargs)"
            raise Unsupported(f"the model cannot be served on paged memory: {says}")
        kwargs["kvlab_step"] = self
        self.written += 1
        rows = key[0].transpose(0, 1), value[0].transpose(0, 1)
        place, group = self._place_of.get(layer_idx, layer_idx), self._group_of.get(layer_idx, 0)
        pools, scales = self.cache.pools_for(place, *rows), self.cache.layer_scales[place]
        if pools[0].shape[2:] != rows[0].shape[1:] or pools[1].shape[2:] != rows[1].shape[1:]:
            raise Unsupported(
                f"layer {layer_idx} has keys or values of another shape than others that share its blocks"
            )
        self._store(pools, rows, scales, group)
        if self._expanded is None:
            return key, value
        latent, rotary = (self._expanded.gather(*each, key.dtype) for each in zip(pools, scales, strict=True))
        return latent, rotary

    def _store(
        self, pools: tuple[Tensor, Tensor], rows: tuple[Tensor, Tensor], scales: LayerScales, group: int
    ) -> None:
        """Each layer of a group has room for the step's tokens at the same slots; -1 is written nowhere."""
        if self.writer is not None:
            self.writer(*pools, *rows, self._lanes[group].slots)
            return
        slots, keep = self._kept[group]
        store_kv(pools, rows if keep is None else (rows[0][keep], rows[1][keep]), slots, scales)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        """`[1, heads, T, dim]` queries to `[1, T, heads, value_dim]`, over everything that the block tables name."""
        batch = self.batch
        if batch is None:
            raise UsageError("attention over block tables needs a step that says where they are")
        self.attended += 1
        query = query[0].transpose(0, 1)
        if self._expanded is not None:
            pools, tables, plan = self._expanded.as_pools(key, value), self._expanded.tables, self._expanded.plan
        else:
            place, lane = self._place_of.get(layer, layer), self._lanes[self._group_of.get(layer, 0)]
            pools, tables, plan = (self.cache.keys[place], self.cache.values[place]), lane.tables, lane.plan
            self._refuse_another_window(layer, options.get("window"))
            if key.shape[1] != pools[0].shape[2]:
                raise Unsupported(f"layer {layer} caches {pools[0].shape[2]} key heads but attends over {key.shape[1]}")
            if self.cache.dtype is not None:
                options["key_scale"], options["value_scale"] = self.cache.layer_scales[place]
        if self.planned:
            options["plan"] = plan
        return self.attention(query, *pools, tables, batch.query_start, batch.context_lengths, **options).unsqueeze(0)

    def _refuse_another_window(self, layer: int, window: int | None) -> None:
        """What is behind a window is given back, so the layer must see no more than its configuration said."""
        if self.groups is None:
            return
        told = self.groups[self._group_of[layer]].window
        if told is not None and (window is None or window > told):
            raise Unsupported(f"layer {layer} is said to see the last {told} tokens, but asks for {window or 'all'}")


def _kept(slots: Tensor) -> tuple[Tensor, Tensor | None]:
    """The slots that are written, and which they are, if not all."""
    keep = slots >= 0
    return (slots, None) if bool(keep.all()) else (slots[keep], keep)


class _Expanded:
    """Where the tokens of every context lie, and where they go when they are laid side by side: N rows in all."""

    def __init__(self, batch: Batch, block_size: int) -> None:
        contexts = batch.plan.contexts
        begin = np.cumsum(contexts) - contexts
        position = np.arange(int(contexts.sum())) - np.repeat(begin, contexts)
        block = batch.plan.tables[np.repeat(np.arange(len(contexts)), contexts), position // block_size]
        block = block.astype(np.int64)  # tables are int32, slots need not fit that
        device = batch.slots.device
        self.slots = torch.from_numpy(block * block_size + position % block_size).to(device)
        tables = begin[:, None] + np.arange(max(1, int(contexts.max())))
        self.tables = torch.from_numpy(tables.astype(np.int32)).to(device)
        self.plan = AttentionPlan(tables, batch.plan.queries, contexts, 1, device)

    def gather(self, pool: Tensor, scale: Scale | None, dtype: torch.dtype) -> Tensor:
        """`[1, 1, N, dim]`, or one row of zeros when no sequence has a context, which not every model could expand.

        What lies in 8 bits is multiplied by its scale, since the model goes on to compute with it.
        """
        flat = pool.view(-1, *pool.shape[2:])
        if not len(self.slots):
            return flat.new_zeros(1, 1, 1, flat.shape[-1], dtype=dtype)
        rows = flat.index_select(0, self.slots)
        if is_float8(rows):
            found = scale.flatten(0, 1).index_select(0, self.slots) if is_pool(scale) else scale
            rows = decode(rows, 1.0 if found is None else found).to(dtype)
        return rows.transpose(0, 1).unsqueeze(0)

    def as_pools(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Expanded `[1, heads, N, dim]` as pools `[N, 1, heads, dim]`."""
        return key[0].transpose(0, 1).unsqueeze(1).contiguous(), value[0].transpose(0, 1).unsqueeze(1).contiguous()
