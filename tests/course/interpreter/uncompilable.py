"""Kernels that the interpreter runs and no GPU could: each does what MASKED_COPY asks."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def breaks(source, target, n, TILE: tl.constexpr):
    lane = tl.program_id(0) * TILE + tl.arange(0, TILE)
    for _ in range(2):
        tl.store(target + lane, tl.load(source + lane, mask=lane < n), mask=lane < n)
        break


@triton.jit
def goes_on(source, target, n, TILE: tl.constexpr):
    lane = tl.program_id(0) * TILE + tl.arange(0, TILE)
    for turn in range(2):
        if turn == 1:
            continue
        tl.store(target + lane, tl.load(source + lane, mask=lane < n), mask=lane < n)


@triton.jit
def changes_its_type(source, target, n, TILE: tl.constexpr):
    lane = tl.program_id(0) * TILE + tl.arange(0, TILE)
    total = 0
    for _ in range(n):
        total += 0.5
    tl.store(target + lane, tl.load(source + lane, mask=lane < n) + total * 0.0, mask=lane < n)


@triton.jit
def collects(source, target, n, TILE: tl.constexpr):
    lane = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tiles = [tl.load(source + lane, mask=lane < n) for _ in range(2)]
    tl.store(target + lane, tiles[-1], mask=lane < n)
