"""A small kernel exercise: the finished part, how it is launched, and five mistakes."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from kvlab.course.declare import Exercise, Mistake
from kvlab.course.interpreter import later
from kvlab.course.launches import Launch, launched


@triton.jit
def masked_copy(source, target, n, TILE: tl.constexpr):
    """target[:n] = source[:n]."""
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(source + i, mask=i < n, other=0.0)
    tl.store(target + i, x, mask=i < n)


@later.kernel
def loads_unmasked(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(source + i)
    tl.store(target + i, x, mask=i < n)


@later.kernel
def stores_unmasked(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(source + i, mask=i < n, other=0.0)
    tl.store(target + i, x)


@later.kernel
def forgets_the_program(source, target, n, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    tl.store(target + i, tl.load(source + i, mask=i < n), mask=i < n)


@later.kernel
def off_by_one(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + i, tl.load(source + i, mask=i < n - 1, other=0.0), mask=i < n)


@later.kernel
def drops_the_last_tile(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    if tl.program_id(0) * TILE + TILE <= n:
        tl.store(target + i, tl.load(source + i))


class Copy(NamedTuple):
    """`n` numbers in tiles of `tile`."""

    n: int
    tile: int = 64


def copied(value: Copy) -> Launch:
    source = torch.arange(1.0, value.n + 1)
    return Launch((-(-value.n // value.tile),), outputs={"target": source},
                  arguments={"source": source, "target": torch.full((value.n,), math.nan), "n": value.n,
                             "TILE": value.tile})


MASKED_COPY = Exercise(
    "masked_copy", "97", "tests.course.interpreter.masked_copy.masked_copy",
    checks=(launched("whole tiles", copied, Copy(64), Copy(128), next="give every program its own tile"),
            launched("a ragged end", copied, Copy(100), Copy(5), Copy(65), next="mask what lies beyond n")),
    mistakes=(Mistake(loads_unmasked, "The load has no mask: the last tile reads what lies behind source."),
              Mistake(stores_unmasked, "The store has no mask: the last tile writes over what lies behind target."),
              Mistake(forgets_the_program, "Every program copies the first tile. tl.program_id(0) tells them apart."),
              Mistake(off_by_one, "The load stops one short of n."),
              Mistake(drops_the_last_tile, "The last tile is left out when it is not full.")),
    hints=("Which elements belong to program 1?", "Compare the indices with n.", "mask=i < n, twice"),
)
