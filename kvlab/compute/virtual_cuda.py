"""Virtual memory on an NVIDIA GPU: addresses reserved once, physical pages mapped and unmapped by the CUDA driver.

The six calls of the paper (arXiv 2405.04437) in their order: `cuMemAddressReserve` sets addresses aside; `cuMemCreate`
makes a physical page, which nobody can reach yet; `cuMemMap` puts it behind an address and `cuMemSetAccess` lets
kernels in; `cuMemUnmap` takes it away again and `cuMemRelease` gives it back to the device. Pages are made, kept and
given back in `kvlab.compute.cuda_pages`.

The driver names the smallest page (`cuMemGetAllocationGranularity`): 2 MiB on the GPUs of today. The paper's 64, 128
and 256 KiB are not to be had from it: its authors replaced the driver's part for unified memory (UVM) by one of their
own. So `page_sizes` offers those that the driver which is there takes, and slices (`VirtualKV(sliced=True)`) are the
way to few tokens a page without another driver.

Needs the extra `gpu` (cuda-python, https://nvidia.github.io/cuda-python) and a GPU that torch sees.
"""

from __future__ import annotations

from typing import Any

import torch

from kvlab.errors import UsageError
from kvlab.memory.spaces import MakeSpace, Space

from .cuda_pages import DevicePages, load_driver

SIZES = (64 << 10, 128 << 10, 256 << 10, 2 << 20)
"""The page sizes of the paper, in bytes."""


def page_sizes(device: torch.device | str = "cuda") -> list[int]:
    """Those of the paper's page sizes that this device's driver takes, in bytes: most likely 2 MiB alone."""
    smallest = DevicePages(load_driver(), _index(torch.device(device))).smallest
    return [size for size in SIZES if size % smallest == 0]


def cuda_spaces(device: torch.device) -> MakeSpace:
    """Makes `CudaSpace`s on `device` that share their physical pages; see `load_driver` for what is refused."""
    pages = DevicePages(load_driver(), _index(device))
    return lambda size, page_bytes: CudaSpace(size, page_bytes, pages)


class CudaSpace:
    """`size` bytes of a device's addresses in pages of `page_bytes`: a `Space`.

    A page is a multiple of the smallest that the driver takes; another, or a space of no whole pages, is refused with
    `UsageError`, and what the driver refuses (no memory left) with `DriverRefused`. A kernel that reads beyond the
    pages that are mapped ends with an illegal address, and the CUDA context with it. The calls are the driver's and
    wait for the device before an address loses its page.
    """

    def __init__(self, size: int, page_bytes: int, pages: DevicePages) -> None:
        if page_bytes < 1 or page_bytes % pages.smallest:
            raise UsageError(f"this driver takes pages of multiples of {pages.smallest} bytes, not {page_bytes}")
        if size < 1 or size % page_bytes:
            raise UsageError(f"a space has whole pages of {page_bytes} bytes, at least 1, not {size} bytes")
        self.size, self.page_bytes, self.pages = size, page_bytes, pages
        (pointer,) = pages.call("cuMemAddressReserve", size, 0, 0, 0)
        self.pointer = int(pointer)
        pages.spaces += 1
        self._handles: dict[int, Any] = {}  # page -> what is mapped there

    def map(self, first: int, stop: int) -> None:
        """See `Space.map`."""
        handles = self.pages.take(stop - first, self.page_bytes)
        done: list[int] = []
        try:
            for page, handle in zip(range(first, stop), handles, strict=True):
                self.pages.call("cuMemMap", self._address(page), self.page_bytes, 0, handle, 0)
                done.append(page)
            whole = (stop - first) * self.page_bytes
            self.pages.call("cuMemSetAccess", self._address(first), whole, [self.pages.access], 1)
        except BaseException:
            for page in done:
                self.pages.call("cuMemUnmap", self._address(page), self.page_bytes)
            self.pages.give(handles, self.page_bytes)
            raise
        self._handles.update(zip(range(first, stop), handles, strict=True))

    def unmap(self, first: int, stop: int) -> None:
        """See `Space.unmap`. One call a page, since a mapping can be taken away only as it was made."""
        if first < stop:
            self.pages.wait()
        for page in range(first, stop):
            self.pages.call("cuMemUnmap", self._address(page), self.page_bytes)
            self.pages.give([self._handles.pop(page)], self.page_bytes)

    def resident(self, first: int, stop: int) -> list[int]:
        """Bytes of memory in each page. The driver cannot be asked, so these are the mappings that it agreed to."""
        return [self.page_bytes * (page in self._handles) for page in range(first, stop)]

    def buffer(self) -> torch.Tensor:
        """The whole space as a tensor of bytes, by the CUDA array interface.

        torch asks CUDA whose memory the first address is before it makes a tensor, so page 0 is mapped for as long as
        that takes. A tensor must not be used after `close`.
        """
        mapped = 0 in self._handles
        if not mapped:
            self.map(0, 1)
        try:
            return torch.as_tensor(_Bytes(self.pointer, self.size), device=torch.device("cuda", self.pages.index))
        finally:
            if not mapped:
                self.unmap(0, 1)

    def close(self) -> None:
        """See `Space.close`; the last space of its pages gives them back to the device."""
        for page in sorted(self._handles):
            self.unmap(page, page + 1)
        self.pages.call("cuMemAddressFree", self.pointer, self.size)
        self.pages.spaces -= 1
        if not self.pages.spaces:
            self.pages.close()

    def _address(self, page: int) -> int:
        return self.pointer + page * self.page_bytes


class _Bytes:
    """Bytes of a device, as `torch.as_tensor` takes them: version 3 of the CUDA array interface."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (pointer, False),
            "strides": None,
        }


def _index(device: torch.device) -> int:
    return torch.cuda.current_device() if device.index is None else device.index


_SPACE: type[Space] = CudaSpace
"""What a type checker is to see: this is a `Space`."""
