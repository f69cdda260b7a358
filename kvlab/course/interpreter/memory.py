"""Loads and stores of a kernel under guard: every active lane is looked at before the memory is touched."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvlab.course.interpreter import wording
from kvlab.course.interpreter.addresses import Addresses, fit
from kvlab.course.interpreter.arguments import Region
from kvlab.course.interpreter.faults import NOWHERE, KernelFault
from kvlab.course.interpreter.records import Suspect, TableRead


class Memory(Addresses):
    """Stands in for the module in C with which Triton's interpreter reads and writes. `shared`: arguments of which
    several programs may write the same element."""

    def __init__(self, raw: Any, regions: dict[int, Region], shared: tuple[str, ...], fn: Any = None) -> None:
        super().__init__(regions, fn)
        self.raw, self.shared = raw, shared
        self.unfilled = NOWHERE  # the last load without `other` of which some lanes were masked
        self.number = 0  # of the program, from 1
        self.programs: list[tuple[int, ...]] = [()]
        self.suspects: dict[str, Suspect] = {}
        self.written: set[tuple[int, int]] = set()  # storages to which something was stored

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)

    def start(self, program: tuple[int, ...]) -> None:
        """A program begins: what the one before read is forgotten."""
        self.program, self.number = program, self.number + 1
        self.programs.append(program)
        self.tables.clear()
        self.suspects.clear()

    def load(self, addresses: np.ndarray, mask: np.ndarray, other: np.ndarray, dtype: Any) -> np.ndarray:
        """Reads the active lanes; the others get `other`."""
        mask = _lanes(mask)
        active = addresses if mask.all() else addresses[fit(mask, addresses)]
        if not active.size:
            return self.raw.load(addresses, mask, other, dtype)
        region = self.find(addresses, mask, active, "reads")
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
        active = addresses if whole else addresses[fit(mask, addresses)]
        if not active.size:
            return None
        region = self.find_one(addresses, mask, active, "writes")
        places = region.places(active)
        if self.suspects and value.dtype.kind == "f":
            self._nothing_unwritten(region, places, value if whole else value[fit(mask, value)])
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
        active = addresses[fit(mask, addresses)]
        if not active.size:
            return addresses
        region = self.find_one(addresses, mask, active, "updates")
        region.stored += active.size
        return addresses + region.delta

    def _by_lane(self, addresses: np.ndarray, mask: np.ndarray, other: np.ndarray, dtype: Any) -> np.ndarray:
        """A load whose pointers were chosen among several arguments: one load for each of them."""
        values, mask = other.astype(dtype, copy=True), fit(mask, addresses)
        spaces = self.spaces(addresses)
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
                self.suspects[region.name] = Suspect(region, index, self.line())

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
                              index=index, program=self.program, line=self.line(), next=wording.RACE_NEXT)


def _lanes(mask: Any) -> np.ndarray:
    """A mask as booleans. Some come as 0 and 1, which would index, and that of a block pointer as its bare memory."""
    lanes = np.asarray(mask)
    return lanes if lanes.dtype == bool else lanes.astype(bool)
