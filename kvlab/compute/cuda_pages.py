"""The CUDA driver, called from Python, and the physical pages of a device that it makes.

A page that was made is kept for the next request, as the code of the paper (arXiv 2405.04437) keeps a pool of them, so
that few steps wait for one to be made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from kvlab.errors import KVLabError, UsageError


class DriverRefused(KVLabError):
    """The CUDA driver did not do what it was asked: `call` and the reason it gave."""

    def __init__(self, call: str, reason: str) -> None:
        super().__init__(f"{call} was refused by the CUDA driver: {reason}")
        self.call, self.reason = call, reason

    def __reduce__(self):
        return type(self), (self.call, self.reason)


def load_driver() -> Any:
    """cuda-python's module of the driver's functions. `UsageError` names all that is missing, in one sentence."""
    missing = [] if torch.cuda.is_available() else ["an NVIDIA GPU that torch sees"]
    try:
        driver = importlib.import_module("cuda.bindings.driver")
    except ImportError:
        missing.append("cuda-python (pip install 'kvlab[gpu]')")
    if missing:
        raise UsageError(
            f"virtual memory on a GPU needs {' and '.join(missing)}; the same runs with device='cpu' on Linux"
        )
    torch.cuda.init()
    return driver


class DevicePages:
    """Physical pages of one device: made when they are wanted, kept when they are given back, until `close`.

    driver: cuda-python's module. index: of the device. wait: called before a page loses its address, since a kernel may
    still read it; None: waits for all that the device does. A device without virtual memory management: `UsageError`.
    """

    def __init__(self, driver: Any, index: int, wait: Callable[[], None] | None = None) -> None:
        self.driver, self.index = driver, index
        self.wait = wait or (lambda: torch.cuda.synchronize(index))
        self._kept: dict[int, list[Any]] = {}  # bytes of a page -> handles
        self.spaces = 0
        """Spaces that are open; when the last one is closed, so are these pages."""
        self.call("cuInit", 0)
        (number,) = self.call("cuDeviceGet", index)
        attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
        if self.call("cuDeviceGetAttribute", attribute, number) == (0,):
            raise UsageError(f"device {index} has no virtual memory management")
        location = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        self.kind = driver.CUmemAllocationProp()
        self.kind.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        self.kind.location.type, self.kind.location.id = location, index
        self.access = driver.CUmemAccessDesc()
        self.access.location.type, self.access.location.id = location, index
        self.access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        least = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        (self.smallest,) = self.call("cuMemGetAllocationGranularity", self.kind, least)

    def call(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        """What the driver's function `name` returns, without its status. Another than success: `DriverRefused`."""
        status, *found = getattr(self.driver, name)(*arguments)
        if status != self.driver.CUresult.CUDA_SUCCESS:
            raise DriverRefused(name, getattr(status, "name", str(status)))
        return tuple(found)

    def take(self, count: int, page_bytes: int) -> list[Any]:
        """Handles of `count` pages, kept ones first; all of them or, with `DriverRefused`, none."""
        kept = self._kept.setdefault(page_bytes, [])
        taken = [kept.pop() for _ in range(min(count, len(kept)))]
        try:
            while len(taken) < count:
                taken += self.call("cuMemCreate", page_bytes, self.kind, 0)
        except DriverRefused as refused:
            kept += taken
            counts = f"needed {count} pages of {page_bytes} bytes, there were {len(taken)}"
            raise DriverRefused("cuMemCreate", f"{counts} ({refused.reason})") from None
        return taken

    def give(self, handles: list[Any], page_bytes: int) -> None:
        """Keep these for the next who wants some."""
        self._kept.setdefault(page_bytes, []).extend(handles)

    def close(self) -> None:
        """Give the pages that are kept back to the device."""
        for kept in self._kept.values():
            while kept:
                self.call("cuMemRelease", kept.pop())
