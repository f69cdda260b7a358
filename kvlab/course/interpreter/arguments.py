"""The tensors of a launch, each in an address space of its own.

A kernel under guard gets made-up addresses: argument k starts at (k + 1) * 2^56. So the address alone says from which
argument a pointer was made, however far it went astray, and the guard turns it into the real address only once it is
known to lie inside. Pointer arithmetic in a kernel is exact in 64 bits and notices nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kvlab.errors import UsageError

SPACE = 56  # bits of one argument's address space
POISON = -(2**30)  # stands in integer tables for an entry that was never written
_WRAP = 2**64


class Window:
    """The end of a tensor too large to exist: `tensor` holds its elements from `start` on, the ones before are absent.

    A kernel sees a pool that begins `start` elements earlier, so that an index beyond 2^31 can be tried with a few KB
    of memory. `start` is a number of elements of `tensor`, at least 0.
    """

    def __init__(self, tensor: Any, start: int) -> None:
        if start < 0:
            raise UsageError(f"a window starts at element 0 or later, got {start}")
        self.tensor, self.start = tensor, start


class Region:
    """One tensor argument: where it seems to lie, where it lies, and what is known of its elements."""

    def __init__(self, name: str, tensor: Any, number: int, start: int = 0) -> None:
        self.name, self.start = name, start
        self.shape, self.strides = tuple(tensor.shape), tuple(tensor.stride())
        self.itemsize = tensor.element_size()
        empty = 0 in self.shape
        self.count = 0 if empty else 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        real = tensor.data_ptr()
        self.base = ((number + 1) << SPACE) + real % 4096  # alignment is as it was
        self.first = self.base + start * self.itemsize
        self.last = self.first + (self.count - 1) * self.itemsize
        self.delta = np.uint64((real - self.first) % _WRAP)
        self.first_address = np.uint64(self.first)
        self.is_table = not tensor.dtype.is_floating_point and self.itemsize >= 4
        self.poison: np.ndarray | None = None
        self.tensor = tensor
        self.storage = (tensor.untyped_storage().data_ptr(), self.itemsize)
        self.offset = (real - self.storage[0]) // self.itemsize
        self.writers: np.ndarray | None = None  # by element of the storage: 1 + the number of the program that wrote it
        self.loaded = self.stored = 0

    def poisoned(self) -> None:
        """Looks for elements that were never written: NaN, and `POISON` in tables."""
        flat = self.tensor.detach().as_strided((self.count,), (1,))
        if self.tensor.dtype.is_floating_point and self.itemsize == 1:  # float8, which is stored as bytes
            return
        where = flat.isnan() if self.tensor.dtype.is_floating_point else flat == POISON
        if bool(where.any()):
            self.poison = where.numpy()

    def written(self) -> np.ndarray:
        """Which elements were stored to, in memory order."""
        assert self.writers is not None
        return self.writers[self.offset : self.offset + self.count] != 0

    def element(self, address: int) -> int:
        """The offset of an address in elements, negative before the start."""
        return (address - self.base) // self.itemsize

    def places(self, addresses: np.ndarray) -> np.ndarray:
        """Offsets, in elements of what exists, of addresses inside."""
        return ((addresses - self.first_address) // np.uint64(self.itemsize)).astype(np.int64)

    def coordinates(self, index: int) -> tuple[int, ...] | None:
        """An offset as an index of the tensor, whose first number may be out of bounds. None if no index fits."""
        if len(self.shape) < 2 or list(self.strides) != sorted(self.strides, reverse=True) or 0 in self.strides:
            return None
        found = []
        for stride in self.strides:
            place, index = divmod(index, stride)
            found.append(place)
        return None if index or any(not 0 <= place < size for place, size in
                                    zip(found[1:], self.shape[1:], strict=True)) else tuple(found)

    def show(self, index: int) -> str:
        """An element in words: "block_tables[0, 2]", or "source[7]"."""
        place = self.coordinates(index)
        return f"{self.name}[{', '.join(f'{number}' for number in place or (index,))}]"


def regions_of(arguments: dict[str, Any], poisoned: tuple[str, ...] | None) -> dict[int, Region]:
    """The tensors among the arguments, by the number of their address space. Tensors in a tuple are named k[0], k[1].

    `poisoned`: the arguments in which NaN and `POISON` mean "never written"; None for all.
    """
    found: dict[int, Region] = {}
    writers: dict[tuple[int, int], np.ndarray] = {}
    for name, value in flattened(arguments):
        tensor, start = (value.tensor, value.start) if isinstance(value, Window) else (value, 0)
        refuse(name, tensor)
        region = Region(name, tensor, len(found), start)
        if (poisoned is None or name in poisoned) and region.count:
            region.poisoned()
        length = tensor.untyped_storage().nbytes() // region.itemsize
        region.writers = writers.setdefault(region.storage, np.zeros(length, dtype=np.int32))
        found[len(found) + 1] = region
    return found


def flattened(arguments: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every tensor and window, with its name."""
    pairs: list[tuple[str, Any]] = []
    for name, value in arguments.items():
        if isinstance(value, tuple):
            pairs += flattened({f"{name}[{place}]": item for place, item in enumerate(value)})
        elif isinstance(value, Window) or hasattr(value, "data_ptr"):
            pairs.append((name, value))
        elif is_descriptor(value):
            pairs.append((name, value.base))
    return pairs


def is_descriptor(value: Any) -> bool:
    """Whether `value` is Triton's TensorDescriptor, which stands for its tensor `base`."""
    return type(value).__name__ == "TensorDescriptor"


def refuse(name: str, tensor: Any) -> None:
    """UsageError for a tensor that the interpreter cannot read, or reads wrongly."""
    dtype = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
    if dtype == "bfloat16":
        raise UsageError(f"{name} is bfloat16, which Triton's interpreter computes wrongly without a word: "
                         f"use float32 or float16 here, as in {name}.float()")
    device = getattr(getattr(tensor, "device", None), "type", "cpu")
    if device != "cpu":
        raise UsageError(f"{name} lies on {device}, and the bounds guard reads the memory of the CPU: "
                         f"pass {name}.cpu() to it, and launch the kernel itself on {device}")
