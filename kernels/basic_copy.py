"""Lab 05's copy kernel: whole blocks of a pool, source to target, as a fork's copy-on-write asks for."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def copy_blocks_kernel(pool, sources, targets, block_numel, TILE: tl.constexpr):
    """Copy block `sources[p]` of `pool` to block `targets[p]`, for each pair p.

    Grid: (num_pairs, tiles), where tiles * TILE >= block_numel. pool: contiguous, block_numel numbers a block. sources,
    targets: int32 or int64; no block is named twice, since programs run in any order. TILE: a power of two.
    """
    pair = tl.program_id(0)
    source = tl.load(sources + pair).to(tl.int64)  # 2 ** 31 numbers are 4 GiB in fp16: pools are larger
    target = tl.load(targets + pair).to(tl.int64)
    place = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = place < block_numel
    numbers = tl.load(pool + source * block_numel + place, mask=inside)
    tl.store(pool + target * block_numel + place, numbers, mask=inside)


def basic_copy(
    pool: torch.Tensor,
    sources: torch.Tensor,
    targets: torch.Tensor,
    *,
    tile: int = 1024,
    kernel: Any = copy_blocks_kernel,
) -> None:
    """Copy blocks `sources` of `pool` `[num_blocks, ...]` to blocks `targets`, `[num_pairs]` each, in place.

    tile: numbers one program moves. kernel: a stand-in for `copy_blocks_kernel`. A pool that is not contiguous is
    refused with ValueError.
    """
    if not pool.is_contiguous() or len(sources) != len(targets):
        raise ValueError(f"a contiguous pool and pairs, not {len(sources)} sources and {len(targets)} targets")
    numel = pool[0].numel()
    if len(sources):
        kernel[(len(sources), triton.cdiv(numel, tile))](pool, sources, targets, numel, tile)
