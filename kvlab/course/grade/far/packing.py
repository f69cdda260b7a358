"""From objects to JSON."""

from __future__ import annotations

import base64
import random
from typing import Any

import numpy as np

from kvlab.course.grade.far.wire import Wire, torch


class Packer:
    """Makes one message of a `Wire`."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.contents = wire, dict[str, Any]()

    def message(self, value: Any) -> dict[str, Any]:
        """`value`, and the contents of everything that has a number."""
        root = self.pack(value)
        for number, thing in list(self.wire.known.items()):
            self._content(number, thing)
        return {"value": root, "contents": self.contents}

    def _content(self, number: int, thing: Any) -> None:
        if str(number) not in self.contents:
            self.contents[str(number)] = None  # in case it holds itself
            self.contents[str(number)] = self._inside(thing)

    def _numbered(self, thing: Any) -> list[Any]:
        number = self.wire.number(thing)
        self._content(number, thing)
        return ["#", number]

    def pack(self, value: Any) -> Any:
        """One value: itself, or a list that begins with its kind."""
        if value is None or type(value) in (bool, float, str):
            return value
        if isinstance(value, int):
            return ["int", hex(int.__index__(value))] if type(value) is not bool else bool(value)
        if type(value).__name__ in self.wire.kinds and isinstance(value, tuple):
            return ["named", type(value).__name__, [self.pack(one) for one in value]]
        if isinstance(value, (tuple, frozenset)):
            return ["tuple" if isinstance(value, tuple) else "frozenset", [self.pack(one) for one in value]]
        if isinstance(value, (bytes, bytearray)):
            return ["bytes", _text(bytes(value))]
        if isinstance(value, np.generic):
            return ["scalar", value.dtype.str, _text(value.tobytes())]
        if isinstance(value, range):
            return ["range", value.start, value.stop, value.step]
        if isinstance(value, (float, str)):
            return float(value) if isinstance(value, float) else str.__str__(value)
        if isinstance(value, BaseException):
            return self._error(value)
        if torch() is not None and isinstance(value, torch().dtype):
            return ["dtype", str(value).removeprefix("torch.")]
        kinds = (list, dict, set, np.ndarray, np.random.Generator)
        if isinstance(value, kinds) or type(value) is random.Random or _is_tensor(value):
            return self._numbered(value)
        if type(value).__name__ in self.wire.kinds:
            return self._numbered(value)
        return self.wire.foreign(value) or ["opaque", type(value).__name__[:60]]

    def _error(self, error: BaseException) -> list[Any]:
        names = [kind.__name__ for kind in type(error).__mro__]
        more = {name: self.pack(value) for name, value in vars(error).items() if not name.startswith("_")}
        return ["error", names, [self.pack(one) for one in error.args], more]

    def _inside(self, thing: Any) -> list[Any]:
        if isinstance(thing, (list, set)):
            return ["list" if isinstance(thing, list) else "set", [self.pack(one) for one in list(thing)]]
        if isinstance(thing, dict):
            return ["dict", [[self.pack(key), self.pack(value)] for key, value in list(thing.items())]]
        if isinstance(thing, np.ndarray):
            return ["array", thing.dtype.str, list(thing.shape), _text(np.ascontiguousarray(thing).tobytes())]
        if isinstance(thing, random.Random):
            version, inner, gauss = thing.getstate()
            return ["generator", version, list(inner), gauss]
        if isinstance(thing, np.random.Generator):
            return ["numpy generator", self.pack(thing.bit_generator.state)]
        if _is_tensor(thing):
            return self._tensor(thing)
        if type(thing).__name__ == "UntypedStorage":
            return ["storage", _text(_bytes_of(thing))]
        return ["object", type(thing).__name__, {name: self.pack(value) for name, value in vars(thing).items()}]

    def _tensor(self, tensor: Any) -> list[Any]:
        tensor = tensor.detach()
        if tensor.is_conj() or tensor.is_neg() or tensor.layout is not torch().strided:
            tensor = tensor.to_dense().clone()
        dtype = str(tensor.dtype).removeprefix("torch.")
        return ["tensor", self._numbered(tensor.untyped_storage()), dtype, tensor.storage_offset(),
                list(tensor.shape), list(tensor.stride())]


def _is_tensor(value: Any) -> bool:
    return torch() is not None and isinstance(value, torch().Tensor)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes_of(storage: Any) -> bytes:
    return torch().empty(0, dtype=torch().uint8).set_(storage.cpu()).numpy().tobytes()
