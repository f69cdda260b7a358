"""Which argument an access means: the one in whose space its addresses lie. Else a fault says where they came from."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from kvlab.course.interpreter import origins, wording
from kvlab.course.interpreter.arguments import SPACE, Region
from kvlab.course.interpreter.faults import KernelFault, Line, current_line
from kvlab.course.interpreter.records import Overflow, TableRead

_HALF = np.uint64(1 << (SPACE - 1))
_BITS = np.uint64(SPACE)
_KEPT = 16  # loads of integers that are remembered, to say which table entry a wild address came from


class Addresses:
    """The arguments of a kernel by the spaces that their addresses lie in, and what a program has done to find its own.

    regions: by number of the space. fn: the kernel's function, by which loads of tables are followed to addresses.
    """

    def __init__(self, regions: dict[int, Region], fn: Any = None) -> None:
        self.regions, self.fn = regions, fn
        self.kernel: str = getattr(fn, "__name__", "")
        self.program: tuple[int, ...] = ()
        self.tables: deque[TableRead] = deque(maxlen=_KEPT)
        self.overflow: Overflow | None = None  # in which the pointers of the current access originate

    def line(self) -> Line:
        """Where the kernel is."""
        return current_line(self.kernel)

    def spaces(self, addresses: np.ndarray) -> np.ndarray:
        """The number of the space that each address lies in."""
        return (addresses + _HALF) >> _BITS

    def find(self, addresses: np.ndarray, mask: np.ndarray, active: np.ndarray, verb: str) -> Region | None:
        """The argument in which all active addresses lie; None if they lie in several. `KernelFault` if one is
        outside, or came about by an overflow."""
        return self._region(active, verb) if self.overflow is None else self._overflown(addresses, mask, verb)

    def find_one(self, addresses: np.ndarray, mask: np.ndarray, active: np.ndarray, verb: str) -> Region:
        """The same for an access that must have one argument alone, such as a store."""
        region = self.find(addresses, mask, active, verb)
        if region is None:
            raise KernelFault("range", wording.MIXED, program=self.program, line=self.line())
        return region

    def _region(self, active: np.ndarray, verb: str) -> Region | None:
        low, high = int(active.min()), int(active.max())
        space = (low + (1 << (SPACE - 1))) >> SPACE
        region = self.regions.get(space)
        if region is not None and region.first <= low and high <= region.last:
            return region
        spaces = np.unique(self.spaces(active))
        if len(spaces) > 1 and all(int(one) in self.regions for one in spaces):
            for one in spaces:
                self._inside(self.regions[int(one)], active[self.spaces(active) == one], verb)
            return None
        if region is None:
            raise KernelFault("wild", wording.nowhere(verb), program=self.program, line=self.line())
        self._inside(region, active, verb)
        return region

    def _inside(self, region: Region, active: np.ndarray, verb: str) -> None:
        end = np.uint64(region.first + region.count * region.itemsize)
        outside = (active < region.first_address) | (active >= end)
        if outside.any():
            raise self._outside(region, int(active[outside][0]), verb)

    def _outside(self, region: Region, address: int, verb: str) -> KernelFault:
        index = region.element(address)
        ids = {index, *(index // stride for stride in region.strides if stride > 1)}
        source = wording.table_entry(region, ids, self._tables_in_address(verb))
        kind = "wild" if source or wording.is_far(region, index) else "range"
        return KernelFault(kind, wording.outside(region, index, verb, source), argument=region.name, index=index,
                           program=self.program, line=self.line(), next=wording.next_step(kind))

    def _tables_in_address(self, verb: str) -> list[TableRead]:
        """The loads of integers from which the address of this access can have been made."""
        made = origins.tables_in(self.fn, self.line(), verb) if self.fn is not None else None
        return [read for read in self.tables if made is None or read.region.name in made]

    def _overflown(self, addresses: np.ndarray, mask: np.ndarray, verb: str) -> Region | None:
        """As `_region`, for pointers of which some lanes left int32 on their way."""
        event, mask = self.overflow, fit(mask, addresses)
        assert event is not None
        lanes = mask if event.lanes is None else mask & fit(event.lanes, addresses)
        region = self.regions.get((int(addresses[mask][0]) + (1 << (SPACE - 1))) >> SPACE)
        if region is None or not lanes.any():
            return self._region(addresses[mask], verb)
        facts: dict[str, Any] = {"argument": region.name, "program": self.program, "index": event.exact}
        if 0 <= event.exact < region.start + region.count:
            wrapped = region.element(int(addresses[lanes][0]))
            raise KernelFault("overflow", wording.overflow(region, wrapped, verb, event), line=event.line,
                              next=wording.OVERFLOW_NEXT, **facts)
        source = wording.table_entry(region, set(event.operands), self.tables)
        raise KernelFault("wild", wording.outside(region, event.exact, verb, source), line=self.line(),
                          next=wording.next_step("wild"), **facts)


def fit(mask: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """A mask in the shape of what it masks."""
    return mask if mask.shape == lanes.shape else np.broadcast_to(mask, lanes.shape)
