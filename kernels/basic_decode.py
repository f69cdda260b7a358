"""Lab 05's decode kernels: one new token a sequence attends over its pages, with an online softmax.

The first has a program for each query head; the second one for each KV head, with the query heads that share it as the
rows of one matrix product, so that each key is read once. Both are written to be read: `paged_decode` is the fast one.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def paged_decode_kernel(
    output, query, key_pool, value_pool, block_tables, context_lengths, scale, max_blocks,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """One query head of one sequence attends over the sequence's pages; context length 0 gives 0.

    Grid: (num_seqs, HEADS). query, output: [num_seqs, HEADS, HEAD_DIM]; pools: [num_blocks, BLOCK_SIZE, KV_HEADS,
    HEAD_DIM]; block_tables: [num_seqs, max_blocks] int32; context_lengths: [num_seqs] int32; all contiguous. Table
    entries and slots beyond a length are never read. HEAD_DIM and BLOCK_SIZE: powers of two.
    """
    sequence, head = tl.program_id(0), tl.program_id(1)
    kv_head = head // (HEADS // KV_HEADS)
    length = tl.load(context_lengths + sequence)
    dim, offset = tl.arange(0, HEAD_DIM), tl.arange(0, BLOCK_SIZE)
    row = (sequence * HEADS + head) * HEAD_DIM + dim
    q = tl.load(query + row).to(tl.float32) * scale
    largest, total, acc = -float("inf"), 0.0, tl.zeros([HEAD_DIM], dtype=tl.float32)
    for start in range(0, length, BLOCK_SIZE):
        block = tl.load(block_tables + sequence * max_blocks + start // BLOCK_SIZE).to(tl.int64)
        place = ((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM
        seen = start + offset < length
        k = tl.load(key_pool + place[:, None] + dim[None, :], mask=seen[:, None], other=0.0).to(tl.float32)
        scores = tl.where(seen, tl.sum(k * q[None, :], axis=1), -float("inf"))
        higher = tl.maximum(largest, tl.max(scores, axis=0))
        shrink, weights = tl.exp(largest - higher), tl.exp(scores - higher)
        v = tl.load(value_pool + place[:, None] + dim[None, :], mask=seen[:, None], other=0.0).to(tl.float32)
        total = total * shrink + tl.sum(weights, axis=0)
        acc = acc * shrink + tl.sum(weights[:, None] * v, axis=0)
        largest = higher
    tl.store(output + row, acc / tl.where(total > 0, total, 1.0))


@triton.jit
def grouped_decode_kernel(
    output, query, key_pool, value_pool, block_tables, context_lengths, scale, max_blocks,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
):  # fmt: skip
    """The query heads of one KV head attend over the sequence's pages together, as the rows of one matrix product.

    Grid: (num_seqs, KV_HEADS). Arguments as for `paged_decode_kernel`; GROUP_TILE: a power of two, at least 16 and at
    least HEADS // KV_HEADS; rows beyond the group are neither read nor written. HEAD_DIM and BLOCK_SIZE: powers of two,
    at least 16, which `tl.dot` needs.
    """
    sequence, kv_head = tl.program_id(0), tl.program_id(1)
    GROUP: tl.constexpr = HEADS // KV_HEADS
    length = tl.load(context_lengths + sequence)
    dim, offset, member = tl.arange(0, HEAD_DIM), tl.arange(0, BLOCK_SIZE), tl.arange(0, GROUP_TILE)
    rows = (sequence * HEADS + kv_head * GROUP + member)[:, None] * HEAD_DIM + dim[None, :]
    mine = (member < GROUP)[:, None]
    q = tl.load(query + rows, mask=mine, other=0.0)
    largest = tl.full([GROUP_TILE], -float("inf"), dtype=tl.float32)
    total = tl.zeros([GROUP_TILE], dtype=tl.float32)
    acc = tl.zeros([GROUP_TILE, HEAD_DIM], dtype=tl.float32)
    for start in range(0, length, BLOCK_SIZE):
        block = tl.load(block_tables + sequence * max_blocks + start // BLOCK_SIZE).to(tl.int64)
        place = ((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM
        seen = start + offset < length
        k = tl.load(key_pool + place[:, None] + dim[None, :], mask=seen[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(seen[None, :], scores, -float("inf"))
        higher = tl.maximum(largest, tl.max(scores, axis=1))
        shrink, weights = tl.exp(largest - higher), tl.exp(scores - higher[:, None])
        v = tl.load(value_pool + place[:, None] + dim[None, :], mask=seen[:, None], other=0.0)
        total = total * shrink + tl.sum(weights, axis=1)
        acc = acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        largest = higher
    tl.store(output + rows, acc / tl.where(total > 0, total, 1.0)[:, None], mask=mine)


def basic_decode(
    query: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    block_tables: torch.Tensor,
    context_lengths: torch.Tensor,
    *,
    scale: float | None = None,
    kernel: Any = paged_decode_kernel,
) -> torch.Tensor:
    """Attention of one query a sequence, `[num_seqs, heads, head_dim]`.

    key_pool, value_pool: `[num_blocks, block_size, kv_heads, head_dim]`, one shape, contiguous. block_tables:
    `[num_seqs, max_blocks]` int32; context_lengths: `[num_seqs]` int32. scale: head_dim ** -0.5 if None. kernel: a
    stand-in for `paged_decode_kernel`, or the grouped one or a stand-in for it, told by its parameter GROUP_TILE. Sizes
    that the kernel cannot do are refused with ValueError.
    """
    (num_seqs, heads, dim), (block_size, kv_heads) = query.shape, key_pool.shape[1:3]
    grouped = "GROUP_TILE" in kernel.arg_names
    refuse_sizes(key_pool, value_pool, heads, 16 if grouped else 1)
    scale = dim**-0.5 if scale is None else scale
    query, block_tables = query.contiguous(), block_tables.contiguous()
    output = torch.empty_like(query)
    tile = (max(16, triton.next_power_of_2(heads // kv_heads)),) if grouped else ()
    if num_seqs:
        kernel[(num_seqs, kv_heads if grouped else heads)](
            output, query, key_pool, value_pool, block_tables, context_lengths, scale, block_tables.shape[1],
            heads, kv_heads, dim, block_size, *tile,
        )  # fmt: skip
    return output


def refuse_sizes(key_pool: torch.Tensor, value_pool: torch.Tensor, heads: int, least: int) -> None:
    """ValueError if a kernel whose tiles have at least `least` rows and columns cannot read these pools."""
    block_size, kv_heads, dim = key_pool.shape[1:]
    if key_pool.shape != value_pool.shape or not (key_pool.is_contiguous() and value_pool.is_contiguous()):
        raise ValueError(f"pools must be contiguous and of one shape, not {key_pool.shape} and {value_pool.shape}")
    if heads % kv_heads or any(size < least or size & (size - 1) for size in (block_size, dim)):
        raise ValueError(
            f"{heads} heads over {kv_heads} must come out even, and block_size {block_size} and head_dim {dim} be "
            f"powers of two, at least {least}"
        )
