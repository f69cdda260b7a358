"""Reserved addresses on Linux: memory comes when a page is first touched, goes by `madvise`, and is measured."""

from __future__ import annotations

import mmap
import os
import sys
from contextlib import suppress

import numpy as np

from kvlab.errors import UsageError

from .spaces import own_spaces

_PAGEMAP = "/proc/self/pagemap"
_MAP_NORESERVE = 0x4000  # mmap.MAP_NORESERVE, which Python names from 3.13 on; the same on x86-64 and arm64


class LinuxSpace:
    """`size` bytes of private, anonymous addresses (`mmap`), in pages of `page_bytes`: a `Space`.

    The system promises no memory for them (`MAP_NORESERVE`). A page, here a multiple of the system's own, has memory
    once each of its parts has been written to, and loses it by `madvise(MADV_DONTNEED)`; it reads as zeros from then
    on. Huge pages are declined, since they would bring memory that nobody touched. What there is, is read from
    `/proc/self/pagemap`, in which a page that was swapped out counts, and so does one that was only read, although the
    system then lends one page of zeros to all: nobody has business there, and `check()` finds who looked.

    Other systems than Linux, other page sizes, and more addresses than there are: `UsageError`.
    """

    def __init__(self, size: int, page_bytes: int) -> None:
        if sys.platform != "linux" or not os.access(_PAGEMAP, os.R_OK):
            raise UsageError(
                f"this needs Linux with {_PAGEMAP}, which gives single pages back and says which are there; elsewhere "
                "a VirtualCache without a backing keeps the same accounts"
            )
        if page_bytes % mmap.PAGESIZE or page_bytes < 1:
            raise UsageError(f"a page is a multiple of the system's {mmap.PAGESIZE} bytes, not {page_bytes}")
        if size < 1 or size % page_bytes:
            raise UsageError(f"a space has whole pages of {page_bytes} bytes, at least 1, not {size} bytes")
        self.page_bytes = page_bytes
        try:
            self._map = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE)
        except (OSError, OverflowError) as error:
            raise UsageError(f"the system has no {size} bytes of addresses to give: {error}") from None
        with suppress(OSError):  # a kernel without huge pages has nothing to decline
            self._map.madvise(mmap.MADV_NOHUGEPAGE)

    def map(self, first: int, stop: int) -> None:
        """Touch each of the system's pages in these: that is when memory comes."""
        start, end = first * self.page_bytes, stop * self.page_bytes
        np.frombuffer(self._map, np.uint8)[start : end : mmap.PAGESIZE] = 0

    def unmap(self, first: int, stop: int) -> None:
        """Give the memory of these pages back to the system."""
        self._map.madvise(mmap.MADV_DONTNEED, first * self.page_bytes, (stop - first) * self.page_bytes)

    def resident(self, first: int, stop: int) -> list[int]:
        """Bytes of memory in each page: those of the system's pages in it that are present or swapped out."""
        parts = self.page_bytes // mmap.PAGESIZE
        start = np.frombuffer(self._map, np.uint8).ctypes.data // mmap.PAGESIZE + first * parts
        with open(_PAGEMAP, "rb", buffering=0) as pagemap:
            pagemap.seek(8 * start)  # one entry of 64 bits for each page; the two highest: present, swapped
            entries = np.frombuffer(pagemap.read(8 * parts * (stop - first)), np.uint64)
        there = entries.reshape(stop - first, parts) >> np.uint64(62) != 0
        return (there.sum(1) * mmap.PAGESIZE).tolist()

    def buffer(self) -> mmap.mmap:
        """The addresses as a writable buffer, for `numpy.frombuffer` and `torch.frombuffer`."""
        return self._map

    def close(self) -> None:
        """Give up the addresses; while a tensor still looks at them, they stay until it goes."""
        with suppress(BufferError):
            self._map.close()


linux_addresses = own_spaces(LinuxSpace)
"""The `backing` of a `VirtualCache` that has real memory on Linux, without a GPU."""
