"""Decode: one query a sequence, over all keys and values that its block table names.

A program takes one sequence, one KV head and one part (split) of the tokens. The query heads that share the KV head are
the rows of one small matrix, so each key and value is read once and met by all of them in a `tl.dot`. A turn of the
loop gathers a tile of tokens, which may lie in several pages: a vector load of the block table says where. The softmax
is the online one, in powers of two. What the splits found is joined by `merge`.

Sources: PagedAttention (Kwon et al. 2023, section 4.3), online softmax (Milakov and Gimelshein 2018), split-KV
(Flash-Decoding, Dao et al. 2023).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from . import checks
from .arguments import arguments
from .heuristics import DecodeLaunch, decode_launch
from .merge import merge

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def score(query, key, scale, softcap):
    """Scores of a tile, `[rows, tokens]`, in units of log 2, so that `exp2` gives the weights."""
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale  # fp32 stays fp32: no TF32
    if softcap is not None:
        # softcap * tanh(scores / softcap), from exponentials: the interpreter has no tanh
        scores = softcap * (1.0 - 2.0 / (1.0 + tl.exp2(scores * (2.0 * LOG2_E / softcap))))
    return scores * LOG2_E


@triton.jit
def tokens_of(split, context, window, TILE: tl.constexpr, MIN_TILES: tl.constexpr):
    """The tokens of a split, `start` to `stop - 1`: whole tiles, but for the last. `used`: how many splits have any.

    Each sequence is cut by its own length, into no more parts than are worth it.
    """
    oldest = 0
    if window is not None:
        oldest = tl.maximum(context - window, 0)
    tiles = (context - oldest + TILE - 1) // TILE
    used = tl.maximum(tl.minimum(tl.num_programs(1), tiles // MIN_TILES), 1)
    start = oldest + split * tiles // used * TILE
    stop = tl.minimum(oldest + (split + 1) * tiles // used * TILE, context)
    return start, stop, used


@triton.jit
def add_sink(top, total, mixed, sink):
    """One score more in the softmax's sum, without a value."""
    higher = tl.maximum(top, sink)
    base = tl.where(higher == float("-inf"), 0.0, higher)
    shrink = tl.exp2(top - base)
    return higher, total * shrink + tl.exp2(sink - base), mixed * shrink[:, None]


@triton.jit(do_not_specialize=["table_stride"], do_not_specialize_on_alignment=["block_tables", "context_lengths"])
def paged_decode_kernel(
    output,  # [splits, seqs, heads, value_dim], contiguous: fp32 parts to merge, or the result if there is one split
    lse,  # [splits, seqs, heads], contiguous, fp32
    query,  # [seqs, heads, key_dim]
    key_pool,  # [blocks, BLOCK_SIZE, kv_heads, key_dim]
    value_pool,  # [blocks, BLOCK_SIZE, kv_heads, value_dim]
    block_tables,  # [seqs, blocks at most]
    context_lengths,  # [seqs]
    sinks,  # [heads] or None
    key_scale,  # of float8 keys: a number, or a pointer if KEY_SCALE_STEP says how far the next KV head's is
    value_scale,
    scale,
    softcap,  # or None
    window,  # or None
    query_stride,
    query_head_stride,
    query_dim_stride,
    key_block_stride,
    key_slot_stride,
    key_head_stride,
    value_block_stride,
    value_slot_stride,
    value_head_stride,
    table_stride,
    KEY_DIM: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    GROUP: tl.constexpr,  # query heads of a KV head
    HEADS: tl.constexpr,  # how many of them this program takes; ROWS is that, padded to what tl.dot can do
    ROWS: tl.constexpr,
    HEAD_TILES: tl.constexpr,
    TILE: tl.constexpr,
    MIN_TILES: tl.constexpr,
    KEY_TILE: tl.constexpr,  # KEY_DIM padded to a power of two
    VALUE_TILE: tl.constexpr,
    COMPUTE: tl.constexpr,  # the type of the products; sums are fp32
    KEY_SCALE_STEP: tl.constexpr,
    VALUE_SCALE_STEP: tl.constexpr,
):
    """Grid (kv_heads * HEAD_TILES, splits, seqs): neighbours read the same pages, at the same time."""
    kv_head = tl.program_id(0) // HEAD_TILES
    split = tl.program_id(1)
    seq = tl.program_id(2).to(tl.int64)
    num_heads = tl.num_programs(0) // HEAD_TILES * GROUP

    row = tl.program_id(0) % HEAD_TILES * HEADS + tl.arange(0, ROWS)
    is_head = (row < GROUP) & (tl.arange(0, ROWS) < HEADS)  # a padded row must not be the next KV head's first
    head = kv_head * GROUP + row
    found = (split.to(tl.int64) * tl.num_programs(2) + seq) * num_heads + head  # row of `output` and `lse`

    context = tl.load(context_lengths + seq).to(tl.int32)
    start, stop, used = tokens_of(split, context, window, TILE, MIN_TILES)
    if split >= used:
        tl.store(lse + found, tl.full([ROWS], float("-inf"), tl.float32), mask=is_head)
        return

    key_dim = tl.arange(0, KEY_TILE)
    value_dim = tl.arange(0, VALUE_TILE)
    where = query + seq * query_stride + head[:, None] * query_head_stride + key_dim[None, :] * query_dim_stride
    q = tl.load(where, mask=is_head[:, None] & (key_dim < KEY_DIM)[None, :], other=0.0)
    if q.dtype != COMPUTE:  # bf16 meets float8 in fp16, which holds every float8 exactly
        q = tl.minimum(tl.maximum(q.to(tl.float32), -65504.0), 65504.0).to(COMPUTE)
    if KEY_SCALE_STEP is not None:
        key_scale = tl.load(key_scale + kv_head * KEY_SCALE_STEP)
    if VALUE_SCALE_STEP is not None:
        value_scale = tl.load(value_scale + kv_head * VALUE_SCALE_STEP)

    # The pages are found by numbers of 64 bits: a pool may have more than 2**31 elements.
    table = block_tables + seq * table_stride
    keys = key_pool + kv_head.to(tl.int64) * key_head_stride + key_dim[None, :]
    values = value_pool + kv_head.to(tl.int64) * value_head_stride + value_dim[None, :]

    top = tl.full([ROWS], float("-inf"), tl.float32)  # the largest score so far
    total = tl.zeros([ROWS, TILE], tl.float32)  # sums of weights relative to it, column by column: added up at the end
    mixed = tl.zeros([ROWS, VALUE_TILE], tl.float32)  # weights times values
    token = start + tl.arange(0, TILE)
    page = tl.load(table + token // BLOCK_SIZE, mask=token < stop, other=0).to(tl.int64)
    for first in range(start, stop, TILE):
        token = first + tl.arange(0, TILE)
        inside = token < stop
        ahead = token + TILE  # asked for a turn early, so that no load of keys waits for one of the table
        next_page = tl.load(table + ahead // BLOCK_SIZE, mask=ahead < stop, other=0).to(tl.int64)
        slot = token % BLOCK_SIZE
        k = tl.load(
            keys + (page * key_block_stride + slot * key_slot_stride)[:, None],
            mask=inside[:, None] & (key_dim < KEY_DIM)[None, :],
            other=0.0,
        )
        scores = score(q, k.to(COMPUTE), scale * key_scale, softcap)
        scores = tl.where(inside[None, :], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(top - higher)  # what was summed so far is relative to the old maximum
        v = tl.load(
            values + (page * value_block_stride + slot * value_slot_stride)[:, None],
            mask=inside[:, None] & (value_dim < VALUE_DIM)[None, :],
            other=0.0,  # a weight of 0 times NaN would be NaN
        )
        total = total * shrink[:, None] + weights
        mixed = tl.dot(weights.to(COMPUTE), v.to(COMPUTE), mixed * shrink[:, None], input_precision="ieee")
        top = higher
        page = next_page

    summed = tl.sum(total, 1)
    if sinks is not None:  # counted by the first split alone
        sink = tl.load(sinks + head, mask=is_head, other=float("-inf")).to(tl.float32) * LOG2_E
        sink = tl.where(split == 0, sink, float("-inf"))
        top, summed, mixed = add_sink(top, summed, mixed, sink)
    summed = tl.where(summed == 0.0, 1.0, summed)  # nothing was seen: the output is 0, and `top` is still -inf
    mixed = mixed / summed[:, None] * value_scale
    tl.store(lse + found, (top + tl.log2(summed)) / LOG2_E, mask=is_head)
    where = output + found[:, None] * VALUE_DIM + value_dim[None, :]
    tl.store(where, mixed.to(output.dtype.element_ty), mask=is_head[:, None] & (value_dim < VALUE_DIM)[None, :])


def paged_decode(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    block_tables: Tensor,
    context_lengths: Tensor,
    *,
    scale: float | None = None,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    key_scale: Tensor | float | None = None,
    value_scale: Tensor | float | None = None,
    return_lse: bool = False,
    num_splits: int | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of the last token of each sequence: `[seqs, heads, value_dim]`.

    query: `[seqs, heads, key_dim]`, float32, float16 or bfloat16; pools: `[num_blocks, block_size, kv_heads, dim]` of
    the same type or float8, dims 1 to 256, the two may differ. block_tables: `[seqs, max_blocks]`, entries after a
    sequence's last block are never read. context_lengths: `[seqs]`, 0 gives output 0 and log-sum-exp -inf. scale,
    window, softcap, sinks: as in `kvlab.compute.paged_attention`. key_scale, value_scale: what float8 numbers are
    multiplied by, one for all or one a KV head (float32 tensor). num_splits: parts at most that a sequence is cut into;
    by default chosen from shapes and SM count, without waiting for the GPU. return_lse: also `[seqs, heads]` fp32.

    ValueError, in a sentence, for what does not fit or cannot run here.
    """
    tensors = (query, key_pool, value_pool, block_tables, context_lengths, sinks)
    scales = [scale for scale in (key_scale, value_scale) if isinstance(scale, Tensor)]
    checks.check_place(paged_decode_kernel, *tensors, *scales)
    checks.check_attention(query, key_pool, value_pool, block_tables, context_lengths, window, softcap, sinks)
    fits = len(query) == len(block_tables) <= 65535 and (num_splits is None or 1 <= num_splits <= 65535)
    checks.require(fits, f"{len(query)} queries, {len(block_tables)} tables, {num_splits} splits; each at most 65535")
    (num_seqs, heads, key_dim), (_, block_size, kv_heads, value_dim) = query.shape, value_pool.shape
    launch = decode_launch(
        num_seqs,
        kv_heads,
        heads // kv_heads,
        key_dim,
        value_dim,
        4 if query.dtype is torch.float32 else key_pool.element_size(),
        max_tokens=block_tables.shape[1] * block_size,
        sm_count=checks.gpu(query.device).sm_count,
        splits=num_splits,
    )
    dtype = torch.float32 if launch.splits > 1 else query.dtype
    parts = query.new_empty(launch.splits, num_seqs, heads, value_dim, dtype=dtype)
    lses = query.new_empty(launch.splits, num_seqs, heads, dtype=torch.float32)
    if num_seqs:
        scale = key_dim**-0.5 if scale is None else scale
        with checks.current(query):
            _launch(launch, parts, lses, *tensors, (key_scale, value_scale), (scale, softcap, window))
    output, lse = (parts[0], lses[0]) if launch.splits == 1 else merge(parts, lses, dtype=query.dtype)
    return (output, lse) if return_lse else output


def _launch(
    launch: DecodeLaunch,
    parts: Tensor,
    lses: Tensor,
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    tables: Tensor,
    lengths: Tensor,
    sinks: Tensor | None,
    scales: tuple[Tensor | float | None, Tensor | float | None],
    options: tuple[float, float | None, int | None],
) -> None:
    given = arguments(launch, query, key_pool, value_pool, tables, scales)
    paged_decode_kernel[(key_pool.shape[2] * launch.head_tiles, launch.splits, len(query))](
        *(parts, lses, query, key_pool, value_pool, tables, lengths, sinks),
        *(*given.scales, *options, *given.strides),
        MIN_TILES=launch.min_tiles,
        **given.constants,
    )
