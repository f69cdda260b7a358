"""Copy whole blocks within a pool, `sources[i]` to `targets[i]`: what copy-on-write needs.

Programs run in any order, so a block that is the target of one pair and the source of another could be read too late.
Unless the caller knows that there is none, the sources are first copied aside.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from . import checks
from .heuristics import row_launch


@triton.jit
def copy_blocks_kernel(
    target,  # [.., numel]
    source,  # [.., numel]
    targets,  # [pairs], or None: pair i goes to block i
    sources,  # [pairs], or None: pair i comes from block i
    numel,  # elements of a block, which lie in one piece
    target_stride,  # from one block to the next
    source_stride,
    TILE: tl.constexpr,
):
    """Grid (pairs, tiles of a block)."""
    to = tl.program_id(0).to(tl.int64)  # 64 bits: a pool may have more than 2**31 elements
    come = tl.program_id(0).to(tl.int64)
    if targets is not None:
        to = tl.load(targets + tl.program_id(0)).to(tl.int64)
    if sources is not None:
        come = tl.load(sources + tl.program_id(0)).to(tl.int64)
    element = tl.program_id(1) * TILE + tl.arange(0, TILE)
    numbers = tl.load(source + come * source_stride + element, mask=element < numel)
    tl.store(target + to * target_stride + element, numbers, mask=element < numel)


def copy_blocks(pool: Tensor, sources: Tensor, targets: Tensor, *, overlapping: bool = True) -> None:
    """Copy blocks `sources[i]` to `targets[i]` of `pool` `[num_blocks, ...]`, in place; sources are read first (F13).

    sources, targets: `[pairs]` int64, targets all different. overlapping: False if no block is both source and target,
    which saves the copy aside. ValueError for what does not fit; unknown blocks are seen on the CPU only.
    """
    fits = sources.dim() == 1 and sources.shape == targets.shape and sources.dtype == targets.dtype == torch.int64
    says = f"copying takes as many sources as targets, int64: not {tuple(sources.shape)} and {tuple(targets.shape)}"
    checks.require(fits, says)
    checks.check_place(copy_blocks_kernel, pool, sources, targets, computes=False)
    checks.require(pool.dim() > 1 and pool[:1].is_contiguous(), "a block of the pool lies in one piece")
    for blocks in (sources, targets):
        checks.check_block_ids(blocks, len(pool))
    pairs, numel = len(sources), pool[:1].numel()
    if not pairs or not numel:
        return
    launch = row_launch(numel, pool.element_size())
    grid, options = (pairs, launch.tiles), {"TILE": launch.tile, "num_warps": launch.warps}
    with checks.current(pool):
        if overlapping:
            aside = pool.new_empty(pairs, numel)
            copy_blocks_kernel[grid](aside, pool, None, sources, numel, numel, pool.stride(0), **options)
            copy_blocks_kernel[grid](pool, aside, targets, None, numel, pool.stride(0), numel, **options)
        else:
            copy_blocks_kernel[grid](pool, pool, targets, sources, numel, pool.stride(0), pool.stride(0), **options)
