"""Tiers on disk for tests: blocks of 2048 random bytes, tiers opened and started again, and a disk that is full."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import numpy as np

from kvlab.memory import BlockLayout, DiskTier

LAYOUT = BlockLayout("model", "float32", 16, ((16, 2, 8), (16, 2, 8)), 2048)
KEYS = [sha256(bytes([number])).digest() for number in range(8)]


def body(key: bytes, number: int = 0) -> np.ndarray:
    """The bytes of a block: others for each key and number, the same each time."""
    return np.random.default_rng([*key, number]).integers(0, 256, LAYOUT.block_bytes, dtype=np.uint8)


def opened(path: Path, num_blocks: int = 8, layout: BlockLayout = LAYOUT) -> DiskTier:
    """A tier in that folder, ready for use."""
    tier = DiskTier(path, num_blocks, durable=False)
    tier.open(layout)
    return tier


def put(tier: DiskTier, *keys: bytes) -> None:
    """Store these blocks."""
    for key in keys:
        place = tier.store_begin(key)
        assert place is not None
        tier.write(key, place, body(key))
        tier.store_done(key)


def restarted(tier: DiskTier, **options) -> DiskTier:
    """The same folder, opened by the next engine."""
    tier.close()
    return opened(tier.path, **options)


def files(path: Path) -> list[Path]:
    """The blocks' files, in order."""
    return sorted(path.rglob("*.kv"))


@contextmanager
def files_end_at(num_bytes: int) -> Iterator[None]:
    """No file of this process may become longer, as on a disk that is full: a write ends in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
