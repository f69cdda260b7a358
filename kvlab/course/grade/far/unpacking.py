"""From JSON to objects, which are of known kinds only, and neither too many nor too deep."""

from __future__ import annotations

import base64
import builtins
import random
from typing import Any

import numpy as np

from kvlab.course.grade.far.wire import Opaque, Unreadable, Wire, torch

DEEP = 40  # levels of lists in lists
MANY = 400_000  # values in one message


class Unpacker:
    """Reads one message of a `Wire`."""

    def __init__(self, wire: Wire, message: Any) -> None:
        self.wire, self.contents, self.root = wire, message["contents"], message["value"]
        self.done: set[int] = set()
        self.count = self.depth = 0

    def value(self) -> Any:
        """What was packed; everything with a number has the contents that the message says."""
        for number in list(self.contents):
            self._numbered(int(number))
        return self.read(self.root)

    def _numbered(self, number: int) -> Any:
        if number in self.done or str(number) not in self.contents:
            return self.wire.known[number]
        self.done.add(number)
        kind, *rest = self.contents[str(number)]
        thing = self.wire.known.get(number)
        if thing is None:
            thing = self._made(kind, rest)
            self.wire.know(number, thing)
        self._filled(thing, kind, rest)
        return thing

    def _made(self, kind: str, rest: list[Any]) -> Any:
        if kind in ("list", "dict", "set"):
            return {"list": list, "dict": dict, "set": set}[kind]()
        if kind == "array":
            return np.empty(rest[1], _dtype(rest[0]))
        if kind == "generator":
            return random.Random(0)
        if kind == "numpy generator":
            name = self.read(rest[0])["bit_generator"]
            return np.random.Generator({"PCG64": np.random.PCG64, "MT19937": np.random.MT19937,
                                        "Philox": np.random.Philox, "SFC64": np.random.SFC64}[name](0))
        if kind == "storage":
            return _storage(base64.b64decode(rest[0]))
        if kind == "tensor":
            return self._view(rest)
        return object.__new__(self.wire.kinds[rest[0]])

    def _filled(self, thing: Any, kind: str, rest: list[Any]) -> None:
        """Writes contents into a thing of their kind."""
        if kind == "list":
            thing[:] = [self.read(one) for one in rest[0]]
        elif kind == "set":
            items = [self.read(one) for one in rest[0]]
            thing.clear()
            thing.update(items)
        elif kind == "dict":
            pairs = [(self.read(key), self.read(value)) for key, value in rest[0]]
            thing.clear()
            thing.update(pairs)
        elif kind == "array":
            thing[...] = np.frombuffer(base64.b64decode(rest[2]), _dtype(rest[0])).reshape(rest[1])
        elif kind == "generator":
            thing.setstate((rest[0], tuple(rest[1]), rest[2]))
        elif kind == "numpy generator":
            thing.bit_generator.state = self.read(rest[0])
        elif kind == "storage":
            _bytes_into(thing, base64.b64decode(rest[0]))
        elif kind == "tensor":
            view = self._view(rest)
            if (view.shape, view.stride(), view.storage_offset()) != (
                    thing.shape, thing.stride(), thing.storage_offset()):
                thing.data = view
        elif kind == "object":
            vars(thing).update({str(name): self.read(value) for name, value in rest[1].items()})

    def _view(self, rest: list[Any]) -> Any:
        storage, dtype, offset, size, stride = rest
        kind = getattr(torch(), dtype)
        if not isinstance(kind, torch().dtype):
            raise Unreadable(f"no dtype: {dtype}")
        return torch().empty(0, dtype=kind).set_(self.read(storage), offset, size, stride)

    def read(self, text: Any) -> Any:
        """One value. Unreadable if there are too many."""
        self.count, self.depth = self.count + 1, self.depth + 1
        if self.count > MANY or self.depth > DEEP:
            raise Unreadable("too much, or too deep")
        try:
            return text if text is None or isinstance(text, (bool, float, str, int)) else self._read(*text)
        finally:
            self.depth -= 1

    def _read(self, kind: str, *rest: Any) -> Any:
        if kind == "#":
            return self._numbered(rest[0])
        if kind == "int":
            return int(rest[0], 16)
        if kind == "bytes":
            return base64.b64decode(rest[0])
        if kind == "scalar":
            return np.frombuffer(base64.b64decode(rest[1]), _dtype(rest[0]))[0]
        if kind == "range":
            return range(*rest)
        if kind == "dtype":
            found = getattr(torch(), rest[0])
            return found if isinstance(found, torch().dtype) else Opaque("dtype")
        if kind == "error":
            return self._error(*rest)
        if kind == "opaque":
            return Opaque(str(rest[0])[:60])
        if kind in ("tuple", "frozenset"):
            items = [self.read(one) for one in rest[0]]
            return tuple(items) if kind == "tuple" else frozenset(items)
        if kind == "named":
            return self.wire.kinds[rest[0]](*[self.read(one) for one in rest[1]])
        return self.wire.native([kind, *rest])

    def _error(self, names: list[str], args: list[Any], more: dict[str, Any]) -> BaseException:
        kind = next((found for name in names if (found := self._known_error(name))), Exception)
        error = kind.__new__(kind)
        error.args = tuple(self.read(one) for one in args)
        for name, value in more.items():
            if not name.startswith("_"):
                error.__dict__[name] = self.read(value)
        return error

    def _known_error(self, name: str) -> type[Exception] | None:
        found = self.wire.errors.get(name) or getattr(builtins, str(name), None)
        return found if isinstance(found, type) and issubclass(found, Exception) else None


def _dtype(text: str) -> np.dtype:
    found = np.dtype(str(text))
    if found.kind not in "biufc":
        raise Unreadable(f"an array of {text}")
    return found


def _storage(data: bytes) -> Any:
    return torch().from_numpy(np.frombuffer(bytearray(data), np.uint8)).untyped_storage() if data else (
        torch().empty(0, dtype=torch().uint8).untyped_storage())


def _bytes_into(storage: Any, data: bytes) -> None:
    """Writes bytes into a memory of that size."""
    if storage.nbytes() != len(data):
        raise Unreadable("a tensor's memory has changed its size")
    if data:
        torch().empty(0, dtype=torch().uint8).set_(storage).numpy()[:] = np.frombuffer(data, np.uint8)
