"""Lab 05: the query heads of one KV head attend together, as the rows of one matrix product."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake
from kvlab.course.exercises import lab05_grouped_mistakes as wrong
from kvlab.course.exercises.lab05_decode_bench import Decode, grouped

_MASK = "give -inf to scores where start + offset >= length, and mask both loads"
_STRIDE = "go by the pool's shape [block, offset, kv_head, dim]"
_SHRINK = "multiply old sum and old output by exp(old largest - new largest)"
_ROWS = "let kv_head * GROUP + member be the head, for members below GROUP"
_MINE = "mask the query's load and the output's store by member < GROUP"
_TABLE = "load block_tables + sequence * max_blocks + page"
_WIDE = "turn the block id into tl.int64 as soon as it is loaded"
_ZERO = "store zeros before you return"
_ENTRIES = "walk over ceil(length / BLOCK_SIZE) entries"
_AXIS = "keep one largest score and one sum a row: axis=1"

GROUPED_DECODE: Any = Exercise(
    name="grouped_decode_kernel", lab="05", part="kvlab.kernels.basic_decode.grouped_decode_kernel", stars=3, core=True,
    minutes=20, seconds=8.0,
    checks=(
        grouped("full groups", Decode((16,), heads=16), Decode((16,), heads=32, kv_heads=2), next=_ROWS),
        grouped("groups smaller than a tile", Decode((16,), heads=2), Decode((16,), heads=6, kv_heads=2), next=_MINE),
        grouped("several pages", Decode((48,), heads=2), Decode((32,), heads=2, scores="rising"),
                Decode((40,), heads=3, scores="falling"), next=_SHRINK),
        grouped("partly filled page", Decode((17,), heads=2), Decode((9,), heads=2, fill="0"),
                Decode((33,), heads=2, fill="1e4"), invariant="I6", next=_MASK),
        grouped("sequences side by side", Decode((17, 32, 3), heads=4, kv_heads=2), next=_TABLE),
        grouped("other sizes", Decode((33,), heads=3, dim=64), Decode((5,), heads=2, block_size=32, scale=1.25),
                next="take every size from the arguments"),
        grouped("blocks far away", Decode((18,), heads=2, far=True), next=_WIDE),
        grouped("scores far from 0", Decode((20,), heads=3, scores="high"), Decode((20,), heads=3, scores="low"),
                Decode((32,), heads=2, scores="plunging"), next="take each row's largest score off before every exp"),
        grouped("length 0", Decode((0,), heads=2), Decode((3, 0), heads=2),
                next="treat length 0: nothing is summed, and the output is 0"),
        grouped("float16", Decode((21, 3), heads=4, kv_heads=2, dtype="float16"),
                next="give both sides of tl.dot the type of the pools: weights.to(v.dtype)"),
    ),
    mistakes=(
        Mistake(wrong.rows_unmasked,
                "The tile has GROUP_TILE rows, and the group HEADS // KV_HEADS heads. No mask says so: the rows left "
                "over "
                "are the next KV head's, or nobody's.",
                next=_MINE),
        Mistake(wrong.stores_all_rows,
                "Stores every row of the tile. Rows beyond the group belong to the next KV head, or to nobody.",
                next=_MINE),
        Mistake(wrong.group_is_heads, "Takes all query heads into each group. A group is HEADS // KV_HEADS of them.",
                next=_ROWS),
        Mistake(wrong.group_is_kv_heads, "Takes KV_HEADS for the group. A group is HEADS // KV_HEADS heads.",
                next=_ROWS),
        Mistake(wrong.first_group, "Every KV head takes the first group of query heads.", next=_ROWS),
        Mistake(wrong.steps_by_one, "Wrong stride: group g begins at head g * GROUP, not at head g.", next=_ROWS),
        Mistake(wrong.strided_members,
                "Looks like h % kv_heads: takes every KV_HEADS-th query head. Neighbours share one KV head.",
                next=_ROWS),
        Mistake(wrong.steps_by_tile, "Wrong stride: group g begins at head g * GROUP, not at g * GROUP_TILE.",
                next=_ROWS),
        Mistake(wrong.no_sequence, "All sequences read and write the rows of the first.",
                next="put sequence * HEADS before the head"),
        Mistake(wrong.no_mask,
                "Reads the last page whole, as if lengths were rounded up to pages. Behind the last token lies "
                "whatever "
                "was there before: the mask is missing.",
                invariant="I6", next=_MASK),
        Mistake(wrong.masks_loads_alone,
                "The loads are masked and the scores are not. A key of zeros has the score 0, and exp(0) is 1: it "
                "takes "
                "weight.",
                invariant="I6", next=_MASK),
        Mistake(wrong.masks_scores_alone,
                "The scores are masked and the loads are not: a weight of 0 times nan is nan.",
                invariant="I6", next=_MASK),
        Mistake(wrong.one_too_many, "Looks like <= in the mask, one token too many: tokens count from 0.",
                invariant="I6", next="use start + offset < length"),
        Mistake(wrong.newest_left_out,
                "The newest token is left out. Its key is in the pool already, and it sees itself.",
                next="use start + offset < length"),
        Mistake(wrong.mask_without_start,
                "The mask compares the place in the page with the length. A token's position is start + offset.",
                invariant="I6", next="use start + offset < length"),
        Mistake(wrong.no_kv_head_stride,
                "Wrong stride: one slot holds KV_HEADS * HEAD_DIM numbers, and this steps by HEAD_DIM.", next=_STRIDE),
        Mistake(wrong.heads_before_slots,
                "Wrong stride: looks like a pool [block, kv_head, offset, dim]. This one has offset before kv_head.",
                next=_STRIDE),
        Mistake(wrong.first_kv_head, "Every group reads KV head 0: kv_head * HEAD_DIM is not in the address.",
                next=_STRIDE),
        Mistake(wrong.no_int64,
                "Missing int64: block ids are int32, and so is their product with the page's size, which wraps around. "
                "Widening the product comes too late.",
                next=_WIDE),
        Mistake(wrong.no_rescale,
                "No rescale: the largest score moves on, and what was summed before stays as large as it was.",
                next=_SHRINK),
        Mistake(wrong.rescales_sum_alone, "The sum is rescaled with a new largest score, and the output is not.",
                next=_SHRINK),
        Mistake(wrong.rescales_output_alone, "The output is rescaled with a new largest score, and the sum is not.",
                next=_SHRINK),
        Mistake(wrong.one_largest,
                "Looks like one largest score for all rows. In a head whose scores are far lower every exp is 0.",
                next=_AXIS),
        Mistake(wrong.softmax_over_rows, "The sum runs over all heads. Each head's weights must add up to 1.",
                next=_AXIS),
        Mistake(wrong.keeps_no_largest,
                "The largest score is not carried over to the next page: each page throws away what was summed before.",
                next="set largest to the new one at the end of the loop"),
        Mistake(wrong.own_largest,
                "Takes each page's own largest score. Sums relative to different scores cannot be added.",
                next=_SHRINK),
        Mistake(wrong.largest_falls,
                "The largest score may fall again from page to page, and exp(old - new) overflows then.",
                next="keep the maximum of old and new"),
        Mistake(wrong.begins_at_zero,
                "Looks like a largest score that begins at 0. When all are far below, every exp is 0.",
                next="begin with -inf"),
        Mistake(wrong.no_largest, "Looks like exp() of the scores as they are. Above 88 that is inf in float32.",
                next="take each row's largest score off before every exp"),
        Mistake(wrong.never_divides, "The output is never divided by the sum: its weights do not add up to 1.",
                next="divide once, before you store"),
        Mistake(wrong.no_scale, "The scale is forgotten: scores must be multiplied by it.",
                next="multiply the query or the scores by scale"),
        Mistake(wrong.scales_twice, "Looks like the scale is there twice.", next="multiply once"),
        Mistake(wrong.own_scale, "Looks like HEAD_DIM ** -0.5 always. Some models pass a scale of their own.",
                next="use scale"),
        Mistake(wrong.first_table, "Looks like table 0 for everybody. Row s of block_tables begins at s * max_blocks.",
                next=_TABLE),
        Mistake(wrong.blocks_in_order,
                "Reads blocks 0, 1, 2 of the pool. Which are this sequence's stands in the table.",
                invariant="I4", next=_TABLE),
        Mistake(wrong.whole_table,
                "Reads the padding of the table. Behind a sequence's own blocks its entries mean nothing.",
                invariant="I6", next=_ENTRIES),
        Mistake(wrong.first_page, "Reads the first page only.", next=_ENTRIES),
        Mistake(wrong.full_pages, "Looks like length // BLOCK_SIZE pages: the tokens of the last one are left out.",
                invariant="I3", next="round up"),
        Mistake(wrong.keys_for_values, "Looks like key_pool twice. The output is a mean of values.",
                next="load the values from value_pool"),
        Mistake(wrong.values_for_keys, "Looks like value_pool twice. The scores are of query and keys.",
                next="load the keys from key_pool"),
        Mistake(wrong.returns_early,
                "Length 0 writes nothing, and the output keeps what lay there.", next=_ZERO),
        Mistake(wrong.returns_early_undivided,
                "Length 0 writes nothing, and the output keeps what lay there.", next=_ZERO),
        Mistake(wrong.members_below_heads,
                "The mask lets the next group's rows through: there are HEADS heads, of which GROUP are this group's.",
                next=_MINE),
        Mistake(wrong.seen_along_rows,
                "The mask of the scores lies along the wrong axis: scores are [GROUP_TILE, BLOCK_SIZE].",
                next="mask scores by seen[None, :]"),
        Mistake(wrong.zero_divides, "Length 0 gives nan: nothing was summed, and 0 / 0 is nan.",
                next="divide by tl.where(total > 0, total, 1.0)"),
    ),
    hints=(
        "With 6 query heads and 2 KV heads: which rows of the query does the program of KV head 1 need? And what is in "
        "the other rows of its tile of 16?",
        "Everything that was one number a program is one number a row now: largest and total are [GROUP_TILE], the "
        "output [GROUP_TILE, HEAD_DIM]. Scores are tl.dot(q, tl.trans(k)), the sum of values is tl.dot(weights, v), "
        "and "
        "max and sum run over axis 1.",
        "rows = (sequence * HEADS + kv_head * GROUP + member)[:, None] * HEAD_DIM + dim[None, :]; mask=(member < "
        "GROUP)[:, None] for load and store; scores = tl.dot(q, tl.trans(k)) * scale, -inf where seen[None, :] is not; "
        "acc = acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v)",
    ),
)
