"""Random numbers of several samples of one prompt: reproducible, and each sample's own."""

from __future__ import annotations

import random


def sample_generator(seed: int | None, number: int) -> random.Random:
    """The generator of sample `number` (>= 0) of a request with this seed; None seeds it from the system.

    Which it is follows from the two alone. Number 0 has that of the request's only answer if it asked for one.
    """
    return random.Random(seed if seed is None or not number else f"{seed}, branch {number}")


def sample_generators(seed: int | None, n: int) -> list[random.Random]:
    """Those of samples 0 to `n - 1`: no two alike, none shared, and whatever `n` is, the first stay the same."""
    return [sample_generator(seed, number) for number in range(n)]
