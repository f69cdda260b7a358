"""Arguments of a launch on their way to another process: whole storages, so that layouts and shared memory survive.

Copying tensor by tensor would make a strided view dense, and two views of one pool two pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class View(NamedTuple):
    """A tensor as a view of a storage: its number, and how it lies in there."""

    storage: int
    dtype: str
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


class Parcel(NamedTuple):
    """storages: the bytes of each. arguments: tensors as `View`s, everything else as it is."""

    storages: list[bytes]
    arguments: list[Any]


def packed(arguments: Sequence[Any]) -> tuple[Parcel, list[Any]]:
    """The parcel, and the storages in it as tensors of bytes, to write to when they come back."""
    bytes_by_storage: dict[int, Any] = {}
    numbers: dict[int, int] = {}
    found: list[Any] = []
    for value in arguments:
        if not hasattr(value, "data_ptr"):
            found.append(value)
            continue
        storage = value.untyped_storage()
        number = numbers.setdefault(storage.data_ptr(), len(numbers))
        bytes_by_storage.setdefault(number, _bytes_of(storage))
        dtype = str(value.dtype).removeprefix("torch.")
        found.append(View(number, dtype, value.storage_offset(), tuple(value.shape), tuple(value.stride())))
    held = list(bytes_by_storage.values())
    return Parcel([one.cpu().numpy().tobytes() for one in held], found), held


def unpacked(parcel: Parcel, device: str) -> tuple[list[Any], list[Any]]:
    """(arguments, storages as tensors of bytes) on a device."""
    import torch

    held = [_tensor(data).to(device) for data in parcel.storages]
    arguments: list[Any] = []
    for value in parcel.arguments:
        if isinstance(value, View):
            empty = torch.empty(0, dtype=getattr(torch, value.dtype), device=device)
            value = empty.set_(held[value.storage].untyped_storage(), value.offset, value.size, value.stride)
        arguments.append(value)
    return arguments, held


def sent_back(held: Sequence[Any]) -> list[bytes]:
    """The storages after the launch."""
    return [one.cpu().numpy().tobytes() for one in held]


def received(held: Sequence[Any], data: Sequence[bytes]) -> None:
    """Writes what came back into the storages it came from."""
    for one, new in zip(held, data, strict=True):
        one.copy_(_tensor(new))


def _bytes_of(storage: Any) -> Any:
    import torch

    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _tensor(data: bytes) -> Any:
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
