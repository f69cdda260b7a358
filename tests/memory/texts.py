"""Random token ids in blocks of 4, the same each time."""

from __future__ import annotations

import numpy as np

B = 4


def text(length: int, seed: int = 0) -> list[int]:
    """Token ids below 1000."""
    return np.random.default_rng(seed).integers(0, 1000, length).tolist()
