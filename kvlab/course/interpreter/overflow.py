"""Arithmetic that a GPU and the interpreter do differently: int32 addresses, and bfloat16.

int32: results that do not fit are remembered until they are used as an address. Wrapping around is no fault by itself:
hash functions live by it. So an overflow only marks its result, and from then on every operation passes the mark on,
but for those that cut a number down on purpose (%, &, >>). A mark that arrives at an active lane of a load or store is
a fault. bfloat16: the interpreter cuts digits off where a GPU rounds, so a conversion to it is a fault at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvlab.course.interpreter import wording
from kvlab.course.interpreter.faults import KernelFault, current_line
from kvlab.course.interpreter.memory import Memory
from kvlab.course.interpreter.records import Overflow

KEY = "kvlab.overflow"
_SIGNS = {"create_add": "+", "create_sub": "-", "create_mul": "*", "create_shl": "<<"}
_EXACT: dict[str, Callable[..., np.ndarray]] = {"create_add": np.add, "create_sub": np.subtract,
                                                "create_mul": np.multiply, "create_shl": np.left_shift}
_CUTS = {"create_srem", "create_urem", "create_and", "create_lshr", "create_ashr", "create_xor"}

class Arithmetic:
    """Watches the builder of Triton's interpreter. `install` puts functions into the instance, `remove` takes them
    out."""

    def __init__(self, builder: Any, memory: Memory) -> None:
        self.builder, self.memory = builder, memory
        self.marking = False
        self.installed: list[str] = []

    def install(self) -> None:
        """Watches the operations on whole numbers, and conversions."""
        for name in _SIGNS:
            self._put(name, self._watched(name, getattr(self.builder, name)))
        for name in ("cast_impl", "create_fp_to_fp"):
            if hasattr(self.builder, name):
                self._put(name, self._converting(getattr(self.builder, name)))

    def _converting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(source: Any, target: Any, *rest: Any) -> Any:
            if getattr(target.scalar, "name", "") == "bf16":
                raise KernelFault("bfloat16", wording.BFLOAT16, program=self.memory.program,
                                  line=current_line(self.memory.kernel), next=wording.BFLOAT16_NEXT)
            return original(source, target, *rest)

        return operation

    def remove(self) -> None:
        """Leaves the builder as it was."""
        while self.installed:
            vars(self.builder).pop(self.installed.pop(), None)

    def _put(self, name: str, function: Callable[..., Any]) -> None:
        setattr(self.builder, name, function)
        self.installed.append(name)

    def _watched(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        exact = _EXACT[name]

        def operation(lhs: Any, rhs: Any) -> Any:
            result = original(lhs, rhs)
            if result.data.dtype == np.int32:
                wide = exact(lhs.data, rhs.data, dtype=np.int64)
                wrong = wide != result.data
                if wrong.any():
                    self._mark(name, lhs, rhs, result, wide, wrong)
            return result

        return operation

    def _mark(self, name: str, lhs: Any, rhs: Any, result: Any, wide: np.ndarray, wrong: np.ndarray) -> None:
        first = [int(np.broadcast_to(one, wrong.shape)[wrong][0]) for one in (lhs.data, rhs.data, wide, result.data)]
        said = f"{first[0]:,} {_SIGNS[name]} {first[1]:,} = {first[2]:,}"
        line = current_line(self.memory.kernel)
        result.attr[KEY] = Overflow(said, (first[0], first[1]), first[2], first[3], wrong, line)
        if not self.marking:
            self.marking = True
            for other in dir(self.builder):
                if other.startswith("create_") and other not in _CUTS:
                    self._put(other, self._passing(other, getattr(self.builder, other)))

    def _passing(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        access = "load" in name or "store" in name or "atomic" in name

        def operation(*arguments: Any, **named: Any) -> Any:
            mark = _marked(arguments[:1] if access else arguments)
            if access and mark is not None:
                self.memory.overflow = mark
            try:
                result = original(*arguments, **named)
            finally:
                if access:
                    self.memory.overflow = None
            if mark is not None and not access and hasattr(result, "attr"):
                result.attr.setdefault(KEY, mark._replace(lanes=_lanes(name, mark.lanes, arguments, result)))
            return result

        return operation


def _marked(arguments: Any) -> Overflow | None:
    return next((mark for one in arguments if (mark := getattr(one, "attr", {}).get(KEY)) is not None), None)


def _lanes(name: str, lanes: np.ndarray | None, arguments: Any, result: Any) -> np.ndarray | None:
    """Where the overflown lanes are after an operation; None if that cannot be said."""
    shape = np.shape(result.data)
    if lanes is not None and name == "create_expand_dims":
        lanes = np.expand_dims(lanes, arguments[1])
    elif lanes is not None and name == "create_select":
        chosen = np.broadcast_to(arguments[0].data, shape)
        lanes = np.broadcast_to(lanes, shape) & (chosen if _marked(arguments[1:2]) is not None else ~chosen)
    elif lanes is not None and name == "create_reshape":
        lanes = lanes.reshape(shape)
    elif lanes is not None and name == "create_trans":
        lanes = np.transpose(lanes, arguments[1])
    try:
        return None if lanes is None else np.broadcast_to(lanes, shape)
    except ValueError:
        return None
