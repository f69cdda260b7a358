"""The host's memory as a tier: every block has a row of one array."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from kvlab.errors import UsageError

from .protocols import BlockLayout
from .tiers import TierPlaces


class HostTier(TierPlaces):
    """`num_blocks` blocks in the host's memory. It takes that memory when the engine that uses it is made."""

    name = "host"
    buffer: np.ndarray | None = None
    """`[num_blocks, block_bytes]` uint8; None before `open`. Another may be set before that, such as a pinned one."""
    _opened = False

    def open(self, layout: BlockLayout) -> None:
        """Make room for blocks of `layout`. Another engine's tier is refused with `UsageError`, even while it is empty:
        keys are made of tokens alone, so each would find the other's blocks.
        """
        if self._opened or self._stored or self._storing:
            raise UsageError("this host tier serves another engine: its blocks mean something else there")
        if self.buffer is None or self.buffer.shape != (self.num_blocks, layout.block_bytes):
            self.buffer = np.empty((self.num_blocks, layout.block_bytes), dtype=np.uint8)
        self._opened = True

    def write(self, key: Hashable, place: int, data: np.ndarray) -> None:
        """Copy a block's bytes, `[block_bytes]` uint8, to its place."""
        self._rows[place] = data

    def read(self, key: Hashable, place: int) -> np.ndarray:
        """A copy of what lies at `place`."""
        return self._rows[place].copy()

    def erase(self, key: Hashable, place: int) -> None:
        """Nothing to do: the place is written again when it is used again."""

    def close(self) -> None:
        """Forget all blocks and give the memory back. Another engine may open it then."""
        self.forget_all()
        self.buffer, self._opened = None, False

    @property
    def _rows(self) -> np.ndarray:
        if self.buffer is None:
            raise UsageError("this tier has no memory yet: an engine opens it, or open(layout)")
        return self.buffer
