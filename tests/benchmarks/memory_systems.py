"""The block managers that are timed: kvlab's, a bare-Python floor, and that of transformers' continuous batching."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from kvlab.memory import BlockManager

NUM_BLOCKS, BLOCK_SIZE = 32_768, 16


class System(Protocol):
    """A block manager under test. `append` returns the slot of the new token."""

    def admit(self, number: int, tokens: list[int]) -> None: ...
    def append(self, number: int) -> int: ...
    def free(self, number: int) -> None: ...


class Entry:
    """What an engine keeps of a request, apart from its blocks."""

    __slots__ = ("number", "tokens")

    def __init__(self, number: int, tokens: list[int]) -> None:
        self.number, self.tokens = number, tokens.copy()


class Ours:
    """kvlab's block manager."""

    def __init__(self) -> None:
        self.manager = BlockManager(NUM_BLOCKS, BLOCK_SIZE)
        self.entries: dict[int, Entry] = {}
        self.append = self.manager.append

    def admit(self, number: int, tokens: list[int]) -> None:
        self.entries[number] = Entry(number, tokens)
        self.manager.admit(number, len(tokens))

    def free(self, number: int) -> None:
        self.manager.free(number)
        del self.entries[number]


class FloorEntry(Entry):
    __slots__ = ("length", "table")


class Floor:
    """The least that plain Python can do: a deque of free blocks, a list of counts, no hashes, hardly any checks."""

    def __init__(self) -> None:
        self.free_blocks = deque(range(NUM_BLOCKS))
        self.counts = [0] * NUM_BLOCKS
        self.entries: dict[int, FloorEntry] = {}

    def take(self) -> int:
        block = self.free_blocks.popleft()
        self.counts[block] = 1
        return block

    def admit(self, number: int, tokens: list[int]) -> None:
        needed = -(-len(tokens) // BLOCK_SIZE)
        if number in self.entries or needed > len(self.free_blocks):
            raise RuntimeError("cannot admit")
        entry = self.entries[number] = FloorEntry(number, tokens)
        entry.length, entry.table = len(tokens), [self.take() for _ in range(needed)]

    def append(self, number: int) -> int:
        entry = self.entries[number]
        offset = entry.length % BLOCK_SIZE
        if offset == 0:
            if not self.free_blocks:
                raise RuntimeError("no block is free")
            entry.table.append(self.take())
        entry.length += 1
        return entry.table[-1] * BLOCK_SIZE + offset

    def free(self, number: int) -> None:
        for block in reversed(self.entries.pop(number).table):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_blocks.append(block)


class HuggingFace:
    """transformers' `PagedAttentionCache` as its continuous batching uses it, without sharing, tensors kept tiny."""

    sharing = False

    def __init__(self) -> None:
        import torch
        from transformers import LlamaConfig
        from transformers.generation.configuration_utils import ContinuousBatchingConfig
        from transformers.generation.continuous_batching.cache import PagedAttentionCache
        from transformers.generation.continuous_batching.distributed import DistributedHelper
        from transformers.generation.continuous_batching.requests import RequestState

        config = LlamaConfig(
            num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1, head_dim=4, hidden_size=4, vocab_size=8
        )
        settings = ContinuousBatchingConfig(
            num_blocks=NUM_BLOCKS,
            page_size=BLOCK_SIZE,
            max_batch_tokens=64,
            max_memory_percent=0.5,
            allow_block_sharing=self.sharing,
        )
        self.cache = PagedAttentionCache(
            config, settings, torch.device("cpu"), DistributedHelper(None, 60), torch.float32
        )
        self.allocator = next(iter(self.cache.cache_allocators.values()))
        self.request_state, self.states = RequestState, {}

    def admit(self, number: int, tokens: list[int]) -> None:
        state = self.request_state(request_id=str(number), initial_tokens=tokens)
        if not self.cache.can_store_request_tokens(state, len(tokens)):
            raise RuntimeError("no block is free")
        state.position_offset = len(tokens)
        self.states[number] = state

    def append(self, number: int) -> int:
        state = self.states[number]
        if not self.cache.can_store_request_tokens(state, 1):
            raise RuntimeError("no block is free")
        (slot,) = self.allocator.get_write_indices(state.request_id, state.position_offset, 1)
        state.position_offset += 1
        return slot

    def free(self, number: int) -> None:
        self.cache.free_blocks(self.states.pop(number).request_id)
