"""The sentences of the guard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kvlab.course.interpreter.arguments import POISON, Region
from kvlab.course.interpreter.faults import named
from kvlab.course.interpreter.records import Overflow, Suspect, TableRead

FAR = 2**20  # elements from an argument's end from which on an index cannot be a slip of a mask or a stride
BFLOAT16 = "converts to bfloat16, which Triton's interpreter computes wrongly without a word."
BFLOAT16_NEXT = "use tl.float32 or tl.float16 here"
MIXED = "stores through pointers of several arguments at once, which the guard cannot follow."
OVERFLOW_NEXT = "widen the block id first: block.to(tl.int64) * stride"
RACE_NEXT = "let each program write elements of its own"
UNWRITTEN_NEXT = "mask that load, with other=0.0"


def nowhere(verb: str) -> str:
    """An address made of no argument's pointer."""
    return f"{verb} at an address that belongs to no argument. Was a number used in place of a pointer?"


def next_step(kind: str) -> str:
    """What to do about an access outside its argument."""
    wild = "use a table entry only where the sequence has a block"
    return wild if kind == "wild" else "check the mask and the stride"


def is_far(region: Region, index: int) -> bool:
    """Whether an index is so far off that no missing mask explains it."""
    return index < -FAR or index >= region.start + region.count + FAR


def table_entry(region: Region, ids: set[int], tables: Iterable[TableRead]) -> tuple[int, str] | None:
    """The (number, name of the entry) among the program's loads from integer arguments that is one of `ids`, block ids
    or slots which `region` does not have. None if there is none."""
    for read in reversed(list(tables)):
        if read.region is region:
            continue
        fits = np.isin(read.values, list(ids)) & read.mask
        bad = fits & ((read.values < 0) | (read.values.astype(np.int64) >= _rows(region)))
        if bad.any():
            address = int(np.broadcast_to(read.addresses, bad.shape)[bad][0])
            return int(read.values[bad][0]), read.region.show(read.region.element(address))
    return None


def _rows(region: Region) -> int:
    """The smallest number that cannot name a row of the tensor, nor a row of its rows."""
    return region.start // max(region.strides[0], 1) + region.shape[0] if region.shape else 1


def outside(region: Region, index: int, verb: str, source: tuple[int, str] | None) -> str:
    """An access outside its argument, and the table entry that led there, if one did."""
    place, end = region.coordinates(index), region.start + region.count
    at = f" = {[*place]}" if place else ""
    size = f"{end:,} elements" + (f" of shape {[*region.shape]}" if len(region.shape) > 1 and not region.start else "")
    if source is None and is_far(region, index):
        return (f"{verb} {region.name} at element {index:,}{at}, far outside its {size}: an entry of a table that was "
                "never written may have been used as a block id.")
    side = "before its start" if index < 0 else "past its end" if index >= end else "before the window onto it"
    what = f"{verb} {region.name} {side}: element {index:,}{at}, and it has {size}."
    return f"{what} {_comes_from(*source)}" if source else what


def _comes_from(number: int, entry: str) -> str:
    if number == POISON:
        return f"The block id is {entry}, an entry that was never written."
    return f"The {number:,} comes from {entry}."


def overflow(region: Region, index: int, verb: str, event: Overflow) -> str:
    """An address that left int32 on its way."""
    return (f"missing int64: {event.said} does not fit in int32 and became {event.wrapped:,}, so it {verb} "
            f"{region.name} at element {index:,}.")


def unwritten(suspect: Suspect, region: Region, index: int) -> str:
    """A value that was never written and came out at the end."""
    read = suspect.region.show(suspect.element)
    return f"stores nan in {region.show(index)}, because it read {read}, which was never written."


def race(region: Region, index: int, verb: str, other: Sequence[int], program: Sequence[int]) -> str:
    """Two programs at one element."""
    element = region.show(index)
    if verb == "reads":
        return f"writes {element} in {named(other)} and reads it in {named(program)}: on a GPU either may come first."
    return f"writes {element} in {named(other)} and again in {named(program)}: on a GPU either may come last."
