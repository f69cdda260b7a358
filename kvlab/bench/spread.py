"""Timing a call: warm up, repeat, and keep the middle and the ends. The clock is handed in, so any device will do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from kvlab.errors import UsageError

WARM_UP, LEAST, MOST = 3, 10, 50  # calls before the first that counts; fewest and most that count
SLOW, FEW = 0.05, 3  # a call of so many seconds is not warmed up again, and repeated so often


class Spread(NamedTuple):
    """Seconds of one call over its repeats. host: seconds until the host may go on (on a GPU, the launch alone)."""

    median: float
    p10: float
    p90: float
    repeats: int
    host: float = 0.0


class Clock(Protocol):
    """How calls are timed on one kind of device."""

    def host(self, call: Callable[[], object]) -> float:
        """Seconds that the host spends in one call."""

    def samples(self, call: Callable[[], object], repeats: int, host: float) -> list[float]:
        """Seconds of each of `repeats` calls, apart from each other."""


class CpuClock:
    """Wall time on the host. now: the clock that is read, in seconds."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now

    def host(self, call: Callable[[], object]) -> float:
        """Seconds of one call: on a CPU it is done when it returns."""
        began = self.now()
        call()
        return self.now() - began

    def samples(self, call: Callable[[], object], repeats: int, host: float) -> list[float]:
        """Seconds of each call."""
        return [self.host(call) for _ in range(repeats)]


def spread(seconds: Sequence[float], host: float = 0.0) -> Spread:
    """Median, 10th and 90th percentile, interpolated. No sample, or one that is not above 0, is refused."""
    if not len(seconds) or min(seconds) <= 0:
        raise UsageError(f"{len(seconds)} samples, the least {min(seconds, default=None)}: a time lies above 0")
    p10, median, p90 = (float(value) for value in np.percentile(seconds, (10, 50, 90)))
    return Spread(median, p10, p90, len(seconds), host)


def repeats_for(estimate: float, seconds: float) -> int:
    """How many calls of about `estimate` seconds go into `seconds`, within `LEAST` and `MOST`; `FEW` of slow ones."""
    return FEW if estimate >= SLOW else int(max(LEAST, min(MOST, seconds / max(estimate, 1e-9))))


def timed(call: Callable[[], object], clock: Clock, seconds: float = 0.1) -> Spread:
    """Call it `WARM_UP` times (the first may compile), then about `seconds` long, and say how long one call takes."""
    host = clock.host(call)
    (estimate,) = clock.samples(call, 1, host)
    if estimate < SLOW:
        host = min(clock.host(call) for _ in range(WARM_UP - 1))
        (estimate,) = clock.samples(call, 1, host)
    return spread(clock.samples(call, repeats_for(estimate, seconds), host), host)
