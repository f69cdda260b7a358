"""Durations by the million: their mean and percentiles, without keeping each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .costmodel import PICOSECONDS

GRAIN = 2**20
"""Durations are counted in units of so many picoseconds, about a microsecond."""
BATCH = 4096


class Spread(NamedTuple):
    """Seconds: the mean, the median, and what 95 and 99 of 100 stay within."""

    mean: float = 0.0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        """The spread of some durations; zeros if there are none."""
        if not len(seconds):
            return cls()
        values = np.asarray(seconds, dtype=float)
        return cls(float(values.mean()), *map(float, np.percentile(values, (50, 95, 99), method="inverted_cdf")))


class Durations:
    """Counts durations, given in picoseconds, many at a time."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._runs: list[tuple[int, int, int, int]] = []

    def add(self, first: int, slope: int, steps: int, times: int) -> None:
        """Count `first`, `first + slope`, ..., `steps` of them, each as often as `times` says."""
        self._runs.append((first, slope, steps, times))
        if len(self._runs) >= BATCH:
            self._settle()

    def spread(self) -> Spread:
        """Mean and percentiles, rounded down to a microsecond or so."""
        self._settle()
        if not self._counts:
            return Spread()
        keys = np.array(sorted(self._counts))
        weights = np.array([self._counts[key] for key in keys.tolist()])
        reached = np.cumsum(weights)
        found = keys[np.searchsorted(reached, reached[-1] * np.array([0.5, 0.95, 0.99]))]
        mean = int((keys * weights).sum()) / int(reached[-1])
        return Spread(*(float(value) * GRAIN / PICOSECONDS for value in (mean, *found)))

    def _settle(self) -> None:
        """Write the runs out, and count."""
        if not self._runs:
            return
        first, slope, steps, times = np.array(self._runs, dtype=np.int64).T
        place = np.arange(int(steps.sum())) - np.repeat(np.cumsum(steps) - steps, steps)
        keys, inverse = np.unique(
            (np.repeat(first, steps) + np.repeat(slope, steps) * place) // GRAIN, return_inverse=True
        )
        weights = np.bincount(inverse, np.repeat(times, steps)).astype(np.int64)
        for key, weight in zip(keys.tolist(), weights.tolist(), strict=True):
            self._counts[key] += weight
        self._runs.clear()
