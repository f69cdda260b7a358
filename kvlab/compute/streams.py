"""Copies between a GPU and the host that run beside the model, on a stream of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch


class CopyStream:
    """One stream for copies on each device that is copied from or to; on the CPU, nothing but the copies themselves."""

    def __init__(self) -> None:
        self._streams: dict[torch.device, torch.cuda.Stream] = {}

    @contextmanager
    def beside(self, device: torch.device) -> Iterator[Callable[[], object]]:
        """On a GPU: on the stream for copies, after all that was asked of the device so far.

        Once the function that it gives is called, what is asked of the device later waits for the copies up to there.
        """
        if device.type != "cuda":
            yield lambda: None
            return
        main = torch.cuda.current_stream(device)
        stream = self._streams.setdefault(device, torch.cuda.Stream(device))
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            yield lambda: main.wait_event(stream.record_event())
