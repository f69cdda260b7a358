"""Loads and stores of a kernel under guard: every active lane is looked at before the memory is touched."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from kvlab.course.interpreter import origins, wording
from kvlab.course.interpreter.arguments import SPACE, Region
from kvlab.course.interpreter.faults import NOWHERE, KernelFault, Line, current_line
from kvlab.course.interpreter.records import Overflow, Suspect, TableRead

_HALF = np.uint64(1 << (SPACE - 1))
_BITS = np.uint64(SPACE)
_KEPT = 16  # loads of integers that are remembered, to say which table entry a wild address came from


class Memory:
    """Stands in for the module in C with which Triton's interpreter reads and writes. `shared`: arguments of which
    several programs may write the same element."""

    def __init__(self, raw: Any, regions: dict[int, Region], shared: tuple[str, ...], fn: Any = None) -> None:
        self.raw, self.regions, self.shared, self.fn = raw, regions, shared, fn
        self.kernel: str = getattr(fn, "__name__", "")
        self.unfilled = NOWHERE  # the last load without `other` of which some lanes were masked
        self.program: tuple[int, ...] = ()
        self.number = 0  # of the program, from 1
        self.programs: list[tuple[int, ...]] = [()]
        self.tables: deque[TableRead] = deque(maxlen=_KEPT)
        self.suspects: dict[str, Suspect] = {}
        self.written: set[tuple[int, int]] = set()  # storages to which something was stored
        self.overflow: Overflow | None = None  # in which the pointers of the current access originate

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)

    def _line(self) -> Line:
        return current_line(self.kernel)

    def start(self, program: tuple[int, ...]) -> None:
        """A program begins: what the one before read is forgotten."""
        self.program, self.number = program, self.number + 1
        self.programs.append(program)
        self.tables.clear()
        self.suspects.clear()

    def load(self, addresses: np.ndarray, mask: np.ndarray, other: np.ndarray, dtype: Any) -> np.ndarray:
        """Reads the active lanes; the others get `other`."""
        mask = _lanes(mask)
        active = addresses if mask.all() else addresses[_fit(mask, addresses)]
        if not active.size:
            return self.raw.load(addresses, mask, other, dtype)
        region = self._region(active, "reads") if self.overflow is None else self._overflown(addresses, mask, "reads")
        if region is None:
            return self._by_lane(addresses, mask, other, dtype)
        region.loaded += active.size
        places = None
        if region.poison is not None:
            places = region.places(active)
            self._note_poison(region, places)
        if region.storage in self.written:
            self._same_program(region, region.places(active) if places is None else places, "reads")
        values = self.raw.load(addresses + region.delta, mask, other, dtype)
        if region.is_table:
            self.tables.append(TableRead(region, addresses, values, mask))
        return values

    def store(self, addresses: np.ndarray, value: np.ndarray, mask: np.ndarray) -> Any:
        """Writes the active lanes."""
        mask = _lanes(mask)
        whole = mask.all()
        active = addresses if whole else addresses[_fit(mask, addresses)]
        if not active.size:
            return None
        region = self._target(addresses, mask, active, "writes")
        places = region.places(active)
        if self.suspects and value.dtype.kind == "f":
            self._nothing_unwritten(region, places, value if whole else value[_fit(mask, value)])
        if region.name not in self.shared:
            self._same_program(region, places, "writes")
        assert region.writers is not None
        region.writers[places + region.offset] = self.number
        if region.poison is not None:
            region.poison[places] = False
        region.stored += active.size
        self.written.add(region.storage)
        return self.raw.store(addresses + region.delta, value, mask)

    def atomic_rmw(self, op: Any, addresses: np.ndarray, value: np.ndarray, mask: np.ndarray, sem: Any) -> np.ndarray:
        """An atomic update: any number of programs may meet in it."""
        return self.raw.atomic_rmw(op, self._atomic(addresses, mask), value, mask, sem)

    def atomic_cas(self, addresses: np.ndarray, expected: np.ndarray, value: np.ndarray, sem: Any) -> np.ndarray:
        """An atomic compare-and-swap, of every lane."""
        return self.raw.atomic_cas(self._atomic(addresses, np.ones_like(addresses, dtype=bool)), expected, value, sem)

    def _atomic(self, addresses: np.ndarray, mask: np.ndarray) -> np.ndarray:
        mask = _lanes(mask)
        active = addresses[_fit(mask, addresses)]
        if not active.size:
            return addresses
        region = self._target(addresses, mask, active, "updates")
        region.stored += active.size
        return addresses + region.delta

    def _target(self, addresses: np.ndarray, mask: np.ndarray, active: np.ndarray, verb: str) -> Region:
        """The one argument that is written."""
        region = self._region(active, verb) if self.overflow is None else self._overflown(addresses, mask, verb)
        if region is None:
            raise KernelFault("range", wording.MIXED, program=self.program, line=self._line())
        return region

    def _region(self, active: np.ndarray, verb: str) -> Region | None:
        """The argument in which all active addresses lie; None if they lie in several. KernelFault if one is
        outside."""
        low, high = int(active.min()), int(active.max())
        space = (low + (1 << (SPACE - 1))) >> SPACE
        region = self.regions.get(space)
        if region is not None and region.first <= low and high <= region.last:
            return region
        spaces = np.unique((active + _HALF) >> _BITS)
        if len(spaces) > 1 and all(int(one) in self.regions for one in spaces):
            for one in spaces:
                self._inside(self.regions[int(one)], active[(active + _HALF) >> _BITS == one], verb)
            return None
        if region is None:
            raise KernelFault("wild", wording.nowhere(verb), program=self.program, line=self._line())
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
                           program=self.program, line=self._line(), next=wording.next_step(kind))

    def _tables_in_address(self, verb: str) -> list[TableRead]:
        """The loads of integers from which the address of this access can have been made."""
        made = origins.tables_in(self.fn, self._line(), verb) if self.fn is not None else None
        return [read for read in self.tables if made is None or read.region.name in made]

    def _overflown(self, addresses: np.ndarray, mask: np.ndarray, verb: str) -> Region | None:
        """As `_region`, for pointers of which some lanes left int32 on their way."""
        event, mask = self.overflow, _fit(mask, addresses)
        assert event is not None
        lanes = mask if event.lanes is None else mask & _fit(event.lanes, addresses)
        region = self.regions.get((int(addresses[mask][0]) + (1 << (SPACE - 1))) >> SPACE)
        if region is None or not lanes.any():
            return self._region(addresses[mask], verb)
        facts: dict[str, Any] = {"argument": region.name, "program": self.program, "index": event.exact}
        if 0 <= event.exact < region.start + region.count:
            wrapped = region.element(int(addresses[lanes][0]))
            raise KernelFault("overflow", wording.overflow(region, wrapped, verb, event), line=event.line,
                              next=wording.OVERFLOW_NEXT, **facts)
        source = wording.table_entry(region, set(event.operands), self.tables)
        raise KernelFault("wild", wording.outside(region, event.exact, verb, source), line=self._line(),
                          next=wording.next_step("wild"), **facts)

    def _by_lane(self, addresses: np.ndarray, mask: np.ndarray, other: np.ndarray, dtype: Any) -> np.ndarray:
        """A load whose pointers were chosen among several arguments: one load for each of them."""
        values, mask = other.astype(dtype, copy=True), _fit(mask, addresses)
        spaces = (addresses + _HALF) >> _BITS
        for number, region in self.regions.items():
            lanes = mask & (spaces == number)
            if lanes.any():
                region.loaded += int(lanes.sum())
                values = self.raw.load(addresses + region.delta, lanes, values, dtype)
        return values

    def _note_poison(self, region: Region, places: np.ndarray) -> None:
        assert region.poison is not None
        if region.name not in self.suspects:
            hit = region.poison[places]
            if hit.any():
                index = int(places[hit][0]) + region.start
                self.suspects[region.name] = Suspect(region, index, self._line())

    def _nothing_unwritten(self, region: Region, places: np.ndarray, value: np.ndarray) -> None:
        bad = np.isnan(np.broadcast_to(value, places.shape))
        suspects = [one for one in self.suspects.values() if not one.region.is_table]
        if suspects and bad.any():
            first = suspects[0]
            index = int(places[bad][0]) + region.start
            raise KernelFault("uninitialised", wording.unwritten(first, region, index), argument=first.region.name,
                              index=first.element, program=self.program, line=first.line, next=wording.UNWRITTEN_NEXT)

    def _same_program(self, region: Region, places: np.ndarray, verb: str) -> None:
        """KernelFault if another program wrote one of these elements."""
        assert region.writers is not None
        before = region.writers[places + region.offset]
        if not before.any():
            return
        clash = (before != 0) & (before != self.number)
        if clash.any() and region.name not in self.shared:
            index = int(places[clash][0]) + region.start
            other = self.programs[int(before[clash][0])]
            raise KernelFault("race", wording.race(region, index, verb, other, self.program), argument=region.name,
                              index=index, program=self.program, line=self._line(), next=wording.RACE_NEXT)


def _lanes(mask: Any) -> np.ndarray:
    """A mask as booleans. Some come as 0 and 1, which would index, and that of a block pointer as its bare memory."""
    lanes = np.asarray(mask)
    return lanes if lanes.dtype == bool else lanes.astype(bool)


def _fit(mask: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    return mask if mask.shape == lanes.shape else np.broadcast_to(mask, lanes.shape)
