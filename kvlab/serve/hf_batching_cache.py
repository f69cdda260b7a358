"""The cache of Hugging Face's continuous batching (cache.py, cache_allocators), in integers; see `hf_batching`."""

from __future__ import annotations

from kvlab.memory import BlockManager, BlockPool, PrefixCache, blocks_needed

from .system_texts import Texts


class BatchingCache:
    """`num_blocks` pages of `page_size` tokens, taken chunk by chunk, and what can be found in them if they `share`.

    A page that is cached is not free: all of them are dropped at once, when somebody says so.
    """

    def __init__(self, num_blocks: int, page_size: int, texts: Texts, share: bool) -> None:
        self.pool = BlockPool(num_blocks)
        self.manager = BlockManager(self.pool, page_size)
        self.index = PrefixCache(self.pool, page_size) if share else None
        self.texts = texts

    @property
    def num_free(self) -> int:
        """Blocks that can be taken as they are: what is cached must be dropped first."""
        return self.pool.num_free - self.pool.num_cached

    def find(self, number: int, prompt: int) -> int:
        """Give request `number`, which holds nothing, the blocks that its prompt is found in; returns their tokens."""
        if self.index is None:
            return 0
        match = self.index.match(self.texts.said(number, prompt))
        if match.blocks:
            self.manager.admit(number, match.num_tokens, match.blocks)
        return match.num_tokens

    def lacks(self, number: int, tokens: int) -> int:
        """Blocks that a request needs for so many tokens in all, beyond those that it has."""
        held = len(self.manager.table(number)) if number in self.manager else 0
        return blocks_needed(tokens, self.manager.block_size) - held

    def grow(self, number: int, past: int, count: int) -> bool:
        """Take the blocks for `count` tokens after `past` stored ones, if there are enough; whether there are."""
        if self.lacks(number, past + count) > self.num_free:
            return False
        if number in self.manager:
            self.manager.extend(number, count)
        else:
            self.manager.admit(number, count)
        return True

    def publish(self, number: int, past: int) -> None:
        """Let others find the full blocks of `past` stored tokens; a block that another replaces is given back."""
        if self.index is not None:
            full = past // self.manager.block_size
            filed = self.index.publish(self.texts.said(number, past), self.manager.table(number)[:full])
            self.manager.remap(number, filed)

    def drop(self) -> int:
        """Forget all that is cached; returns how many blocks that were."""
        return self.pool.evict(self.pool.num_cached)

    def forget(self, number: int) -> None:
        """Give back a request's blocks. Those that nobody else holds cannot be found any more."""
        for block in self.manager.table(number):
            if self.pool.ref_count(block) == 1:
                self.pool.withdraw(block)
        self.manager.free(number)
