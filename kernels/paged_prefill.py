"""Prefill in chunks: many queries a sequence, over the keys and values before them, which lie in pages.

The batch is flattened, sequences back to back, and no query looks past itself. A program takes a tile of queries of one
sequence with all heads that share a KV head, so that a row of its matrices is one query and one head. It finds its
sequence by bisection, since only the GPU knows the lengths. Tokens that every row sees are taken without a mask first;
the last few tiles, along the diagonal, with one.

Sources: FlashAttention-2 (Dao 2023, section 3), over pages as in PagedAttention (Kwon et al. 2023).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from . import checks
from .arguments import arguments
from .heuristics import PrefillLaunch, prefill_launch

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def sequence_of(query_start, num_seqs, tile, QUERIES: tl.constexpr):
    """The last sequence whose tiles begin at or before `tile`. Each begins at `query_start[s] // QUERIES + s` at least,
    which leaves room for one ragged tile a sequence."""
    low = 0
    high = num_seqs
    while high - low > 1:
        middle = (low + high) // 2
        if tl.load(query_start + middle).to(tl.int32) // QUERIES + middle <= tile:
            low = middle
        else:
            high = middle
    return low


@triton.jit
def add_sink(top, total, mixed, sink):
    """One score more in the softmax's sum, without a value."""
    higher = tl.maximum(top, sink)
    base = tl.where(higher == float("-inf"), 0.0, higher)
    shrink = tl.exp2(top - base)
    return higher, total * shrink + tl.exp2(sink - base), mixed * shrink[:, None]


@triton.jit
def attend(
    top, total, mixed, query, position, table, keys, values, start, stop, scale, softcap, window,
    key_block_stride, key_slot_stride, value_block_stride, value_slot_stride, key_dim, value_dim,
    KEY_DIM: tl.constexpr, VALUE_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr, TILE: tl.constexpr,
    COMPUTE: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """The online softmax over tokens `start` to `stop - 1`: its three running values, brought up to date."""
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
        scores = tl.dot(query, tl.trans(k.to(COMPUTE)), input_precision="ieee") * scale  # fp32 stays fp32: no TF32
        if softcap is not None:  # softcap * tanh(scores / softcap), from exponentials: the interpreter has no tanh
            scores = softcap * (1.0 - 2.0 / (1.0 + tl.exp2(scores * (2.0 * LOG2_E / softcap))))
        scores *= LOG2_E
        if MASKED:
            sees = token[None, :] <= position[:, None]
            if window is not None:
                sees = sees & (token[None, :] > position[:, None] - window)
            scores = tl.where(sees, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        base = tl.where(higher == float("-inf"), 0.0, higher)  # a row that saw nothing yet: -inf - -inf would be NaN
        weights = tl.exp2(scores - base[:, None])
        shrink = tl.exp2(top - base)
        v = tl.load(
            values + (page * value_block_stride + slot * value_slot_stride)[:, None],
            mask=inside[:, None] & (value_dim < VALUE_DIM)[None, :],
            other=0.0,  # a weight of 0 times NaN would be NaN
        )
        total = total * shrink + tl.sum(weights, 1)
        mixed = tl.dot(weights.to(COMPUTE), v.to(COMPUTE), mixed * shrink[:, None], input_precision="ieee")
        top = higher
        page = next_page
    return top, total, mixed


@triton.jit(
    do_not_specialize=["table_stride", "num_seqs"],
    do_not_specialize_on_alignment=["block_tables", "context_lengths", "query_start"],
)
def paged_prefill_kernel(
    output,  # [tokens, heads, value_dim], contiguous
    lse,  # [tokens, heads], contiguous, fp32
    query,  # [tokens, heads, key_dim]
    key_pool,  # [blocks, BLOCK_SIZE, kv_heads, key_dim]
    value_pool,  # [blocks, BLOCK_SIZE, kv_heads, value_dim]
    block_tables,  # [seqs, blocks at most]
    query_start,  # [seqs + 1]: whose tokens lie where
    context_lengths,  # [seqs], the queries included
    sinks,  # [heads] or None
    key_scale,  # of float8 keys: a number, or a pointer if KEY_SCALE_STEP says how far the next KV head's is
    value_scale,
    scale,
    softcap,  # or None
    window,  # or None
    num_seqs,
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
    HEADS: tl.constexpr,  # how many of them this program takes
    QUERIES: tl.constexpr,  # tokens of its query tile; row r is query r // HEADS, head r % HEADS
    ROWS: tl.constexpr,  # at least QUERIES * HEADS
    HEAD_TILES: tl.constexpr,
    TILE: tl.constexpr,
    KEY_TILE: tl.constexpr,  # KEY_DIM padded to a power of two
    VALUE_TILE: tl.constexpr,
    COMPUTE: tl.constexpr,  # the type of the products; sums are fp32
    KEY_SCALE_STEP: tl.constexpr,
    VALUE_SCALE_STEP: tl.constexpr,
):
    """Grid (query tiles, kv_heads * HEAD_TILES). There are more tiles than needed: a program without queries ends."""
    tile = tl.num_programs(0) - 1 - tl.program_id(0)  # late queries see more tokens: the long work starts first
    kv_head = tl.program_id(1) // HEAD_TILES
    seq = sequence_of(query_start, num_seqs, tile, QUERIES)
    begin = tl.load(query_start + seq).to(tl.int32)
    count = tl.load(query_start + seq + 1).to(tl.int32) - begin
    first_query = (tile - (begin // QUERIES + seq)) * QUERIES
    if first_query >= count:
        return

    context = tl.load(context_lengths + seq).to(tl.int32)
    row = tl.arange(0, ROWS)
    local = first_query + row // HEADS
    in_group = tl.program_id(1) % HEAD_TILES * HEADS + row % HEADS
    is_row = (local < count) & (row < QUERIES * HEADS) & (in_group < GROUP)
    head = kv_head * GROUP + in_group
    found = (begin + local).to(tl.int64) * (tl.num_programs(1) // HEAD_TILES * GROUP) + head  # row of `output`, `lse`
    position = context - count + local  # negative if there is less context than queries: such a row sees nothing

    key_dim = tl.arange(0, KEY_TILE)
    value_dim = tl.arange(0, VALUE_TILE)
    where = query + ((begin + local).to(tl.int64) * query_stride + head * query_head_stride)[:, None]
    is_number = is_row[:, None] & (key_dim < KEY_DIM)[None, :]
    q = tl.load(where + key_dim[None, :] * query_dim_stride, mask=is_number, other=0.0)
    if q.dtype != COMPUTE:  # bf16 meets float8 in fp16, which holds every float8 exactly
        q = tl.minimum(tl.maximum(q.to(tl.float32), -65504.0), 65504.0).to(COMPUTE)
    if KEY_SCALE_STEP is not None:
        key_scale = tl.load(key_scale + kv_head * KEY_SCALE_STEP)
    if VALUE_SCALE_STEP is not None:
        value_scale = tl.load(value_scale + kv_head * VALUE_SCALE_STEP)

    # Tokens `start` to `stop - 1`; those before `middle` are seen by every row, so they need no mask.
    oldest = context - count + first_query
    newest = context - count + tl.minimum(first_query + QUERIES, count) - 1
    stop = tl.minimum(newest + 1, context)
    start = 0
    middle = tl.maximum(oldest + 1, 0) // TILE * TILE
    if window is not None:
        start = tl.maximum(oldest - window + 1, 0)  # blocks before it may be released
        middle = start

    top = tl.full([ROWS], float("-inf"), tl.float32)  # the largest score so far
    total = tl.zeros([ROWS], tl.float32)  # the sum of weights relative to it
    mixed = tl.zeros([ROWS, VALUE_TILE], tl.float32)  # weights times values
    table = block_tables + seq.to(tl.int64) * table_stride
    keys = key_pool + kv_head.to(tl.int64) * key_head_stride + key_dim[None, :]
    values = value_pool + kv_head.to(tl.int64) * value_head_stride + value_dim[None, :]
    if window is None:
        top, total, mixed = attend(
            top, total, mixed, q, position, table, keys, values, start, middle, scale * key_scale, softcap,
            window, key_block_stride, key_slot_stride, value_block_stride, value_slot_stride, key_dim, value_dim,
            KEY_DIM, VALUE_DIM, BLOCK_SIZE, TILE, COMPUTE, False,
        )  # fmt: skip
    top, total, mixed = attend(
        top, total, mixed, q, position, table, keys, values, middle, stop, scale * key_scale, softcap,
        window, key_block_stride, key_slot_stride, value_block_stride, value_slot_stride, key_dim, value_dim,
        KEY_DIM, VALUE_DIM, BLOCK_SIZE, TILE, COMPUTE, True,
    )  # fmt: skip

    if sinks is not None:
        sink = tl.load(sinks + head, mask=is_row, other=float("-inf")).to(tl.float32) * LOG2_E
        top, total, mixed = add_sink(top, total, mixed, sink)
    total = tl.where(total == 0.0, 1.0, total)  # nothing was seen: the output is 0, and `top` is still -inf
    mixed = mixed / total[:, None] * value_scale
    tl.store(lse + found, (top + tl.log2(total)) / LOG2_E, mask=is_row)
    where = output + found[:, None] * VALUE_DIM + value_dim[None, :]
    tl.store(where, mixed.to(output.dtype.element_ty), mask=is_row[:, None] & (value_dim < VALUE_DIM)[None, :])


def paged_prefill(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    block_tables: Tensor,
    query_start: Tensor,
    context_lengths: Tensor,
    *,
    scale: float | None = None,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    key_scale: Tensor | float | None = None,
    value_scale: Tensor | float | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Causal attention of a flattened batch: `[tokens, heads, value_dim]`.

    The tokens of sequence s are rows `query_start[s]` to `query_start[s + 1] - 1` of `query` `[tokens, heads, key_dim]`
    and the last of its context. The other arguments are those of `paged_decode`, with the same result for one query a
    sequence; a row that sees no token gives 0 and -inf. ValueError, in a sentence, for what does not fit or cannot run.
    """
    tensors = (query, key_pool, value_pool, block_tables, query_start, context_lengths, sinks)
    scales = [scale for scale in (key_scale, value_scale) if isinstance(scale, Tensor)]
    checks.check_place(paged_prefill_kernel, *tensors, *scales)
    counts = checks.check_query_start(query_start, len(query), len(block_tables))
    checks.check_attention(query, key_pool, value_pool, block_tables, context_lengths, window, softcap, sinks, counts)
    key_dim, value_dim = key_pool.shape[3], value_pool.shape[3]
    launch = prefill_launch(
        len(query),
        len(block_tables),
        query.shape[1] // key_pool.shape[2],
        key_dim,
        value_dim,
        query.element_size(),
        checks.gpu(query.device).capability,
    )
    output = query.new_empty(*query.shape[:2], value_dim)
    lse = query.new_empty(query.shape[:2], dtype=torch.float32)
    if len(query) and len(block_tables):
        scale = key_dim**-0.5 if scale is None else scale
        with checks.current(query):
            _launch(launch, output, lse, *tensors, (key_scale, value_scale), (scale, softcap, window))
    return (output, lse) if return_lse else output


def _launch(
    launch: PrefillLaunch,
    output: Tensor,
    lse: Tensor,
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    tables: Tensor,
    query_start: Tensor,
    lengths: Tensor,
    sinks: Tensor | None,
    scales: tuple[Tensor | float | None, Tensor | float | None],
    options: tuple[float, float | None, int | None],
) -> None:
    given = arguments(launch, query, key_pool, value_pool, tables, scales)
    tiles = len(query) // launch.queries + len(tables)  # each sequence has at most one ragged tile
    paged_prefill_kernel[(tiles, key_pool.shape[2] * launch.head_tiles)](
        *(output, lse, query, key_pool, value_pool, tables, query_start, lengths, sinks),
        *(*given.scales, *options, len(tables), *given.strides),
        QUERIES=launch.queries,
        **given.constants,
    )
