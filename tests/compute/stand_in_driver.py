"""A stand-in for the CUDA driver's virtual memory where there is no GPU: it keeps the documented rules, no memory.

Every call that the documentation forbids fails the test that made it: a mapping over another or outside a reservation,
access to what is not mapped, half of a mapping taken away, addresses freed with something in them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

SUCCESS, OUT_OF_MEMORY = SimpleNamespace(name="CUDA_SUCCESS"), SimpleNamespace(name="CUDA_ERROR_OUT_OF_MEMORY")
MIB = 1 << 20


def _names(*names: str) -> SimpleNamespace:
    return SimpleNamespace(**{name: name for name in names})


class StandInDriver:
    """A device with `memory` bytes, whose smallest page has `smallest` bytes."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=SUCCESS)
    CUdevice_attribute = _names("CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED")
    CUmemLocationType = _names("CU_MEM_LOCATION_TYPE_DEVICE")
    CUmemAllocationType = _names("CU_MEM_ALLOCATION_TYPE_PINNED")
    CUmemAccess_flags = _names("CU_MEM_ACCESS_FLAGS_PROT_READWRITE")
    CUmemAllocationGranularity_flags = _names("CU_MEM_ALLOC_GRANULARITY_MINIMUM")

    def __init__(self, memory: int = 64 * MIB, smallest: int = 2 * MIB, supported: int = 1) -> None:
        self.memory, self.smallest, self.supported = memory, smallest, supported
        self.reserved: dict[int, int] = {}  # pointer -> size
        self.made: dict[int, int] = {}  # handle -> size
        self.mapped: dict[int, tuple[int, int]] = {}  # pointer -> (size, handle)
        self.open_to_kernels: set[int] = set()
        self.next, self.refuse = 1, ""
        self.calls: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name.startswith("cu"):
            self.calls.append(name)
            if name == self.refuse:
                return lambda *_: (SimpleNamespace(name="CUDA_ERROR_INVALID_VALUE"),)
        return found

    def CUmemAllocationProp(self) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(location=SimpleNamespace())

    CUmemAccessDesc = CUmemAllocationProp

    def cuInit(self, flags: int) -> tuple[Any, ...]:  # noqa: N802
        return (SUCCESS,)

    def cuDeviceGet(self, index: int) -> tuple[Any, ...]:  # noqa: N802
        return SUCCESS, index

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> tuple[Any, ...]:  # noqa: N802
        return SUCCESS, self.supported

    def cuMemGetAllocationGranularity(self, kind: Any, which: str) -> tuple[Any, ...]:  # noqa: N802
        assert kind.type == "CU_MEM_ALLOCATION_TYPE_PINNED" and kind.location.type == "CU_MEM_LOCATION_TYPE_DEVICE"
        return SUCCESS, self.smallest

    def cuMemAddressReserve(self, size: int, alignment: int, hint: int, flags: int) -> tuple[Any, ...]:  # noqa: N802
        assert size % self.smallest == 0 and size > 0 and (alignment, hint, flags) == (0, 0, 0)
        pointer = (1 << 44) + (self.next << 34)
        self.next += 1
        self.reserved[pointer] = size
        return SUCCESS, pointer

    def cuMemCreate(self, size: int, kind: Any, flags: int) -> tuple[Any, ...]:  # noqa: N802
        assert size % self.smallest == 0 and kind.location.id == 0 and flags == 0
        if sum(self.made.values()) + size > self.memory:
            return OUT_OF_MEMORY, None
        self.next += 1
        self.made[self.next] = size
        return SUCCESS, self.next

    def cuMemMap(self, pointer: int, size: int, offset: int, handle: int, flags: int) -> tuple[Any, ...]:  # noqa: N802
        assert pointer % self.smallest == 0 and (offset, flags) == (0, 0) and self.made[handle] == size
        assert any(start <= pointer and pointer + size <= start + there for start, there in self.reserved.items())
        assert all(pointer + size <= start or start + there <= pointer for start, (there, _) in self.mapped.items())
        assert handle not in {used for _, used in self.mapped.values()}, "a page lies behind two addresses"
        self.mapped[pointer] = size, handle
        return (SUCCESS,)

    def cuMemSetAccess(self, pointer: int, size: int, access: list[Any], count: int) -> tuple[Any, ...]:  # noqa: N802
        assert count == len(access) == 1 and access[0].flags == "CU_MEM_ACCESS_FLAGS_PROT_READWRITE"
        stop = pointer + size
        while pointer < stop:
            self.open_to_kernels.add(pointer)
            pointer += self.mapped[pointer][0]
        assert pointer == stop
        return (SUCCESS,)

    def cuMemUnmap(self, pointer: int, size: int) -> tuple[Any, ...]:  # noqa: N802
        assert self.mapped.pop(pointer)[0] == size
        self.open_to_kernels.discard(pointer)
        return (SUCCESS,)

    def cuMemRelease(self, handle: int) -> tuple[Any, ...]:  # noqa: N802
        assert handle not in {used for _, used in self.mapped.values()}
        del self.made[handle]
        return (SUCCESS,)

    def cuMemAddressFree(self, pointer: int, size: int) -> tuple[Any, ...]:  # noqa: N802
        assert self.reserved.pop(pointer) == size
        assert not any(pointer <= start < pointer + size for start in self.mapped)
        return (SUCCESS,)
