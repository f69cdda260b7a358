"""A manager of groups of layers on a pool of its own."""

from __future__ import annotations

from kvlab.memory import BlockPool, HybridManager


def manager(num_blocks: int = 30, windows=(None, 6), chunk: int | None = None, size: int = 4) -> HybridManager:
    """One group without a window and one of 6 tokens, unless other windows are named."""
    return HybridManager(BlockPool(num_blocks, null_block=True), size, windows, chunk)
