"""The GPU's side of a measurement: events around each call, and the L2 cache emptied before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import torch

FLUSHED = 256 * 2**20  # bytes read to empty an L2 cache, and at least four times its size
MOST_PASSES = 20


class CudaClock:
    """CUDA events around each call, on a device whose L2 cache is cold and clean.

    Before each call a buffer of four times the cache is read, so that keys and values come from memory; reading leaves
    no dirty lines behind, whose writing would be charged to the call. The buffer is read for as long as the host needs
    to launch the call: the call then waits in the queue already, and the time between the events is the device's own.
    A call that waits for the device in its middle is charged for the wait.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        cache = torch.cuda.get_device_properties(device).L2_cache_size
        self._buffer = torch.zeros(max(FLUSHED, 4 * cache) // 4, dtype=torch.float32, device=device)
        self._flush(3)
        self._pass = self._seconds_of_a_pass()

    def host(self, call: Callable[[], object]) -> float:
        """Seconds until the host may go on, the device being idle at first."""
        torch.cuda.synchronize(self.device)
        began = perf_counter()
        call()
        seconds = perf_counter() - began
        torch.cuda.synchronize(self.device)
        return seconds

    def samples(self, call: Callable[[], object], repeats: int, host: float) -> list[float]:
        """Seconds between the events of each call."""
        passes = min(MOST_PASSES, 1 + math.ceil(1.5 * host / self._pass))
        pairs = [(_event(), _event()) for _ in range(repeats)]
        for begin, end in pairs:
            self._flush(passes)
            begin.record()
            call()
            end.record()
        torch.cuda.synchronize(self.device)
        return [begin.elapsed_time(end) / 1e3 for begin, end in pairs]

    def _flush(self, passes: int) -> None:
        for _ in range(passes):
            self._buffer.sum()

    def _seconds_of_a_pass(self) -> float:
        begin, end = _event(), _event()
        begin.record()
        self._flush(10)
        end.record()
        torch.cuda.synchronize(self.device)
        return begin.elapsed_time(end) / 1e4


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)
