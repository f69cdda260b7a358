"""What a decode step on an H200 takes at best: a start, and then as many bytes a second as memory gives.

Source of the numbers: published figures of FlashAttention-3 on pages of 16 (32:8 heads of 128, bf16), batch 1 to 8,
context 1k to 32k, follow `LAW` within 5 %. `MUST` is what our kernels are held to. They were not measured here.
"""

from __future__ import annotations

from typing import NamedTuple

DEVICE = "H200"
COPY_RATE = 4.3e12  # bytes a second that a device-to-device copy moves there, read and written together
PEAK_RATE = 4.8e12  # by specification


class Line(NamedTuple):
    """start + bytes / rate: seconds, bytes a second."""

    start: float
    rate: float

    def seconds(self, num_bytes: float) -> float:
        """How long it takes to read `num_bytes`."""
        return self.start + num_bytes / self.rate

    def achieved(self, num_bytes: float) -> float:
        """Bytes a second that are reached with `num_bytes` to read: half of `rate` at `start * rate` bytes."""
        return num_bytes / self.seconds(num_bytes)

    @property
    def words(self) -> str:
        """The line as a formula."""
        return f"{self.start * 1e6:g} us + bytes / {self.rate / 1e12:.1f} TB/s"


LAW = Line(10.5e-6, COPY_RATE)
MUST = Line(12e-6, 4.0e12)
WRITE_RATE = 1.9e12  # bytes a second that a cache write of 5,120 tokens or more must reach, read and written


def applies_to(device_name: str) -> bool:
    """Whether the lines are about this device."""
    return DEVICE in device_name
