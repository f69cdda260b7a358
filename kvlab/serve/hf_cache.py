"""Paged memory under an unmodified `model.generate(...)`: padding, sampling and beam search included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

from kvlab.compute import PagedCache
from kvlab.compute.pools import store
from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import BlockPool, beam_step, blocks_needed, slot_mapping


class GenerateCache(Cache):
    """`model.generate(ids, cache=GenerateCache(num_blocks))`: keys and values in our blocks, attention as the model
    does it.

    Each row of the batch has a block table. What a layer gets back is gathered through it, so the model's own
    attention (eager, SDPA, any) computes what it always does, to the bit. Rows of a batch have one length: left
    padding takes slots. `reorder_cache` (beam search) moves table entries and counts, not bytes; a block that several
    rows name is copied when one of them writes into it (I5). `OutOfBlocks` when the pool cannot give what a step
    needs; the tables are then as they were. `reset()` gives all blocks back, and the object can be used again.
    """

    def __init__(
        self, num_blocks: int, block_size: int = 16, *, fill: float = 0.0, pool: BlockPool | None = None
    ) -> None:
        super().__init__(layers=[])
        self.memory = PagedCache(num_blocks, block_size, fill=fill)
        self.pool = pool if pool is not None else BlockPool(num_blocks)
        if self.pool.num_blocks > num_blocks:
            raise UsageError(f"the pool names {self.pool.num_blocks} blocks, the cache has {num_blocks}")
        self.block_size = block_size
        self.tables: list[list[int]] = []
        self.length = 0
        self.copied_blocks = 0

    @property
    def blocks_used(self) -> int:
        """Blocks that some row names, each counted once however many rows share it."""
        return self.pool.num_blocks - self.pool.num_free

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Store `[rows, kv_heads, new, dim]` keys and values, and return those of all tokens so far, same layout."""
        while len(self.layers) <= layer_idx:
            self.layers.append(PagedLayer(self, len(self.layers)))
        return cast(PagedLayer, self.layers[layer_idx]).update(key_states, value_states)

    def grow(self, rows: int, length: int) -> None:
        """Make room for `length` tokens in each of `rows` tables. The first layer of a step does it for all of them."""
        tables = self.tables or [[] for _ in range(rows)]
        if rows != len(tables):
            raise UsageError(f"the cache holds {len(tables)} rows, and was given {rows}")
        if length <= self.length:
            return
        shared = self._shared_last_blocks()
        missing = blocks_needed(length, self.block_size) - blocks_needed(self.length, self.block_size)
        fresh = self.pool.take(sum(shared.values()) + missing * rows)
        self.tables, pairs = tables, []
        for table in tables:
            if table and shared[table[-1]]:  # all holders but one get a copy of their own
                shared[table[-1]] -= 1
                pairs.append((table[-1], fresh.pop()))
                self.pool.release([table[-1]])
                table[-1] = pairs[-1][1]
            table += [fresh.pop() for _ in range(missing)]
        self.memory.copy_blocks(pairs)
        self.copied_blocks += len(pairs)
        self.length = length

    def _shared_last_blocks(self) -> Counter[int]:
        """For each block that is about to be written and that several rows name: how many copies are needed."""
        if not self.length % self.block_size:
            return Counter()
        return Counter({block: named - 1 for block, named in Counter(table[-1] for table in self.tables).items()})

    def slots(self, start: int, stop: int) -> Tensor:
        """Slots of positions `start` to `stop - 1` of every row, `[rows * (stop - start)]` int64."""
        mapped = [slot_mapping(table, start, stop, self.block_size) for table in self.tables]
        return torch.tensor(mapped, dtype=torch.int64).flatten()

    def select(self, rows: Sequence[int]) -> None:
        """Make the cache's rows the ones named, in that order; a row may be named several times or not at all."""
        self.tables = beam_step(self.tables, rows, self.pool)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Row i continues what row `beam_idx[i]` has."""
        self.select(beam_idx.tolist())

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each row `repeats` times, side by side."""
        self.select([row for row in range(len(self.tables)) for _ in range(repeats)])

    def batch_select_indices(self, indices: Tensor) -> None:
        """Only the rows named by `indices`."""
        self.select(torch.arange(len(self.tables))[indices].tolist())

    def crop(self, tokens_to_remove: int) -> None:
        """Forget the last `-tokens_to_remove` tokens of every row, as transformers counts (0 or negative)."""
        if tokens_to_remove > 0:
            raise UsageError(f"crop takes the tokens to remove as 0 or a negative number, not {tokens_to_remove}")
        self.length = max(0, self.length + tokens_to_remove)
        keep = blocks_needed(self.length, self.block_size)
        for table in self.tables:
            self.pool.release(table[keep:])
            del table[keep:]
        for layer in cast(list[PagedLayer], self.layers):
            layer.length = min(layer.length, self.length)

    def reset(self) -> None:
        """Give every block back."""
        self.crop(-self.length)
        self.tables = []

    def check(self) -> None:
        """Walk everything: the pool (I1), counts against table entries (I2), table lengths (I3)."""
        self.pool.check()
        named = Counter(block for table in self.tables for block in table)
        for block in range(self.pool.num_blocks):
            if self.pool.ref_count(block) != named[block]:
                raise InvariantBroken(
                    "I2", f"block {block} has count {self.pool.ref_count(block)}, {named[block]} entries name it"
                )
        needed = blocks_needed(self.length, self.block_size)
        if any(len(table) != needed for table in self.tables):
            raise InvariantBroken("I3", f"{self.length} tokens need {needed} entries in every table")


class PagedLayer(CacheLayerMixin):
    """One layer's view of a `GenerateCache`: how far it has got. The tables are common to all layers."""

    is_croppable = True

    def __init__(self, owner: GenerateCache, index: int) -> None:
        super().__init__()
        self.owner, self.index, self.length = owner, index, 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Make the layer's pools, to fit."""
        self.owner.memory.pools_for(self.index, key_states.transpose(1, 2), value_states.transpose(1, 2))
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """See `GenerateCache.update`."""
        self.lazy_initialization(key_states, value_states)
        stop = self.length + key_states.shape[2]
        self.owner.grow(key_states.shape[0], stop)
        slots = self.owner.slots(self.length, stop).to(key_states.device)
        pools = self.owner.memory.keys[self.index], self.owner.memory.values[self.index]
        for pool, new in zip(pools, (key_states, value_states), strict=True):
            store(pool, new.transpose(1, 2).flatten(0, 1), slots)
        self.length = stop
        blocks = torch.tensor(self.owner.tables, dtype=torch.int64, device=slots.device)
        return self._gather(pools[0], blocks), self._gather(pools[1], blocks)

    def _gather(self, pool: Tensor, blocks: Tensor) -> Tensor:
        pages = pool.index_select(0, blocks.flatten()).view(len(blocks), -1, *pool.shape[2:])
        return pages[:, : self.length].transpose(1, 2).contiguous()  # laid out as `DynamicCache` lays it out: same bits

    def get_seq_length(self) -> int:
        """Tokens that this layer has of each row."""
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Keys that the next `update` returns, and the position of the first."""
        return self.length + query_length, 0

    def get_max_length(self) -> int:
        """-1: no limit but the pool's."""
        return -1
