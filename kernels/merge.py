"""Merge: what the same queries found in separate parts of the tokens, joined by their log-sum-exps.

A part that saw nothing has -inf and is not even read, whatever lies there. Source: Flash-Decoding (Dao et al. 2023).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from . import checks
from .heuristics import power_of_two


@triton.jit(do_not_specialize=["num_parts"])
def merge_kernel(
    output,  # [rows, DIM]
    lse,  # [rows], fp32
    partials,  # [parts, rows, DIM]
    lses,  # [parts, rows], fp32
    num_parts,
    partial_stride,  # from one part to the next
    lse_stride,
    DIM: tl.constexpr,
    DIM_TILE: tl.constexpr,
    PARTS: tl.constexpr,  # parts a turn
):
    """Grid (rows): one program joins the parts of one row."""
    row = tl.program_id(0).to(tl.int64)
    dim = tl.arange(0, DIM_TILE)
    top = float("-inf")
    total = 0.0
    mixed = tl.zeros([DIM_TILE], tl.float32)
    for first in range(0, num_parts, PARTS):
        part = (first + tl.arange(0, PARTS)).to(tl.int64)
        logs = tl.load(lses + part * lse_stride + row, mask=part < num_parts, other=float("-inf"))
        saw = logs != float("-inf")
        rows = tl.load(
            partials + part[:, None] * partial_stride + row * DIM + dim[None, :],
            mask=saw[:, None] & (dim < DIM)[None, :],
            other=0.0,
        ).to(tl.float32)
        higher = tl.maximum(top, tl.max(logs, 0))
        base = tl.where(higher == float("-inf"), 0.0, higher)  # nothing yet: -inf - -inf would be NaN
        weights = tl.exp(logs - base)
        shrink = tl.exp(top - base)
        total = total * shrink + tl.sum(weights, 0)
        mixed = mixed * shrink + tl.sum(weights[:, None] * rows, 0)
        top = higher
    total = tl.where(total == 0.0, 1.0, total)
    tl.store(output + row * DIM + dim, (mixed / total).to(output.dtype.element_ty), mask=dim < DIM)
    tl.store(lse + row, top + tl.log(total))


def merge(partials: Tensor, lses: Tensor, *, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
    """Join `partials` `[parts, ..., dim]`, each normalised within its part, by `lses` `[parts, ...]` (fp32).

    Returns the output `[..., dim]`, in `dtype` or else that of `partials`, and its log-sum-exp `[...]`. A part of -inf
    counts for nothing, whatever its output holds; if all are, the output is 0 and the log-sum-exp -inf.
    """
    fits = partials.dim() >= 2 and partials.shape[:-1] == lses.shape and len(partials) > 0
    fits = fits and lses.dtype is torch.float32
    says = f"merging takes [parts, ..., dim] and float32 [parts, ...], not {tuple(partials.shape)}, {tuple(lses.shape)}"
    checks.require(fits, says)
    checks.check_place(merge_kernel, partials, lses)
    dense = partials[0].is_contiguous() and lses[0].is_contiguous()
    checks.require(dense, "the rows of a part lie in one piece")
    output = torch.empty_like(partials[0], dtype=dtype or partials.dtype)
    lse = torch.empty_like(lses[0])
    dim = partials.shape[-1]
    if lse.numel() and dim:
        with checks.current(partials):
            merge_kernel[(lse.numel(),)](
                *(output, lse, partials, lses, len(partials), partials.stride(0), lses.stride(0)),
                DIM=dim,
                DIM_TILE=power_of_two(dim, 16),
                PARTS=min(32, power_of_two(len(partials))),
                num_warps=4,
            )
    return output, lse
