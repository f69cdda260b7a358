"""Lab 05: one query head attends over its sequence's pages."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake
from kvlab.course.exercises import lab05_decode_mistakes as wrong
from kvlab.course.exercises.lab05_decode_bench import Decode, launches

_MASK = "give -inf to scores where start + offset >= length, and mask both loads"
_PLACE = "((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM + dim"
_STRIDE = "go by the pool's shape [block, offset, kv_head, dim]"
_SHRINK = "multiply old sum and old output by exp(old largest - new largest)"
_HEADS = "let head // (HEADS // KV_HEADS) be the KV head"
_TABLE = "load block_tables + sequence * max_blocks + page"
_ROW = "put row sequence * HEADS + head, of HEAD_DIM numbers, through"
_WIDE = "turn the block id into tl.int64 as soon as it is loaded"
_ZERO = "store zeros before you return"
_ONCE = "let offset be tl.arange(0, BLOCK_SIZE), and start + offset a position"
_SEEN = "use start + offset < length"
_DIVIDE = "divide once, before you store"
_ENTRIES = "walk over ceil(length / BLOCK_SIZE) entries"

_SLOT = "Wrong stride: one slot holds KV_HEADS * HEAD_DIM numbers, and this steps by HEAD_DIM."
_PADDING = "Reads the padding of the table. Behind a sequence's own blocks its entries mean nothing."
_LAST = "Looks like length // BLOCK_SIZE pages: the tokens of the last one are left out."
_NOTHING = "Length 0 writes nothing, and the output keeps what lay there."

PAGED_DECODE: Any = Exercise(
    name="paged_decode_kernel", lab="05", part="kvlab.kernels.basic_decode.paged_decode_kernel", stars=3, core=True,
    minutes=25, seconds=8.0,
    checks=(
        launches("one page", Decode((4,)), next="start with one page: softmax of its scores, times its values"),
        launches("several pages", Decode((12,)), Decode((8,), scores="rising"), Decode((12,), scores="falling"),
                 next=_SHRINK),
        launches("partly filled page", Decode((5,)), Decode((2,), fill="0"), Decode((9,), fill="1e4"), invariant="I6",
                 next=_MASK),
        launches("sequences side by side", Decode((5, 8, 2)), Decode((4, 4), heads=2, kv_heads=2), next=_TABLE),
        launches("shared KV heads", Decode((7,), heads=4, kv_heads=2), Decode((6,), heads=6, kv_heads=2),
                 Decode((6,), heads=3, kv_heads=1), next=_HEADS),
        launches("other sizes", Decode((9,), dim=4, block_size=2),
                 Decode((3,), heads=2, kv_heads=2, dim=2, block_size=8), Decode((5,), scale=1.25),
                 next="take every size from the arguments"),
        launches("blocks far away", Decode((6,), far=True), next=_WIDE),
        launches("scores far from 0", Decode((10,), scores="high"), Decode((10,), scores="low"),
                 Decode((8,), scores="low"), Decode((8,), scores="plunging"),
                 next="take the largest score off before every exp"),
        launches("length 0", Decode((0,)), Decode((3, 0), heads=2),
                 next="treat length 0: nothing is summed, and the output is 0"),
        launches("float16", Decode((11, 3), heads=2, dtype="float16"),
                 next="turn what you load into float32 before you sum"),
    ),
    mistakes=(
        Mistake(wrong.no_mask,
                "Reads the last page whole, as if lengths were rounded up to pages. Behind the last token lies "
                "whatever was there before: the mask is missing.", invariant="I6", next=_MASK),
        Mistake(wrong.masks_loads_alone,
                "The loads are masked and the scores are not. A key of zeros has the score 0, and exp(0) is 1: it "
                "takes weight.", invariant="I6", next=_MASK),
        Mistake(wrong.masks_scores_alone,
                "The scores are masked and the loads are not: a weight of 0 times nan is nan.", invariant="I6",
                next=_MASK),
        Mistake(wrong.masks_with_zero, "Sets hidden scores to 0. exp(0) is 1, so they still take weight.",
                invariant="I6", next=_MASK),
        Mistake(wrong.one_too_many, "Looks like <= in the mask, one token too many: tokens count from 0.",
                invariant="I6", next=_SEEN),
        Mistake(wrong.newest_left_out,
                "The newest token is left out. Its key is in the pool already, and it sees itself.", next=_SEEN),
        Mistake(wrong.mask_without_start,
                "The mask compares the place in the page with the length. A token's position is start + offset.",
                invariant="I6", next=_SEEN),
        Mistake(wrong.one_kv_head_stride, _SLOT, next=_STRIDE),
        Mistake(wrong.no_kv_head, _SLOT, next=_STRIDE),
        Mistake(wrong.heads_before_slots,
                "Wrong stride: looks like a pool [block, kv_head, offset, dim]. This one has offset before kv_head.",
                next=_STRIDE),
        Mistake(wrong.kv_head_without_dim,
                "Wrong stride: KV heads lie HEAD_DIM numbers apart, and this adds kv_head as it is.", next=_STRIDE),
        Mistake(wrong.block_as_slot,
                "Wrong stride: the block id is used as a slot. Block b begins at slot b * BLOCK_SIZE.", next=_STRIDE),
        Mistake(wrong.first_slot_alone,
                "Reads the first slot of each page again and again: offset is not in the address.", next=_STRIDE),
        Mistake(wrong.block_without_kv_heads,
                "Wrong stride: from block to block it is BLOCK_SIZE * KV_HEADS * HEAD_DIM numbers.", next=_STRIDE),
        Mistake(wrong.blocks_of_sixteen, "Right for blocks of 16 only.", next="use BLOCK_SIZE"),
        Mistake(wrong.no_int64,
                "Missing int64: block ids are int32, and so is their product with the page's size, which wraps "
                "around. Widening the product comes too late.", next=_WIDE),
        Mistake(wrong.no_rescale,
                "No rescale: the largest score moves on, and what was summed before stays as large as it was.",
                next=_SHRINK),
        Mistake(wrong.rescales_sum_alone, "The sum is rescaled with a new largest score, and the output is not.",
                next=_SHRINK),
        Mistake(wrong.rescales_output_alone, "The output is rescaled with a new largest score, and the sum is not.",
                next=_SHRINK),
        Mistake(wrong.grows,
                "Looks like exp(new - old) for what was summed; in the first page that is infinite. Old numbers must "
                "become smaller.", next=_SHRINK),
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
                next="take the largest score off before every exp"),
        Mistake(wrong.mean_of_pages,
                "Looks like a softmax for each page, and their mean. A page with small scores must count less.",
                next="keep one sum over all pages"),
        Mistake(wrong.never_divides, "The output is never divided by the sum: its weights do not add up to 1.",
                next=_DIVIDE),
        Mistake(wrong.divides_each_time, "Divides by the sum in every page, so what was divided once is divided again.",
                next=_DIVIDE),
        Mistake(wrong.scores_as_weights,
                "Weighs the values with the scores themselves. A weight is exp(score - largest).", next="use tl.exp"),
        Mistake(wrong.powers_of_two,
                "Looks like exp2 for exp. It is what fast kernels use, after multiplying the scores by log2(e).",
                next="use tl.exp"),
        Mistake(wrong.no_scale, "The scale is forgotten: scores must be multiplied by it.",
                next="multiply the query or the scores by scale"),
        Mistake(wrong.scales_twice, "Looks like the scale is there twice, on the query and on the scores.",
                next="multiply once"),
        Mistake(wrong.divides_by_scale, "Divides by the scale. It is a factor: 0.5 makes scores smaller.",
                next="multiply by scale"),
        Mistake(wrong.own_scale, "Looks like HEAD_DIM ** -0.5 always. Some models pass a scale of their own.",
                next="use scale"),
        Mistake(wrong.head_modulo,
                "Looks like head % KV_HEADS: query heads 0 and 1 read different KV heads. Neighbours share one.",
                next=_HEADS),
        Mistake(wrong.first_kv_head, "All query heads read KV head 0. Each group of neighbours has its own.",
                next=_HEADS),
        Mistake(wrong.head_as_it_is,
                "Right while there are as many KV heads as query heads. Several query heads share one KV head.",
                next=_HEADS),
        Mistake(wrong.head_over_kv_heads,
                "Looks like head // KV_HEADS. A KV head is shared by HEADS // KV_HEADS query heads: divide by that.",
                next=_HEADS),
        Mistake(wrong.first_length, "Every program takes the length of sequence 0.",
                next="load context_lengths + sequence"),
        Mistake(wrong.first_table, "Looks like table 0 for everybody. Row s of block_tables begins at s * max_blocks.",
                next=_TABLE),
        Mistake(wrong.table_without_width, "Wrong stride: rows of block_tables are max_blocks entries long.",
                next=_TABLE),
        Mistake(wrong.blocks_in_order,
                "Reads blocks 0, 1, 2 of the pool. Which are this sequence's stands in the table.", invariant="I4",
                next=_TABLE),
        Mistake(wrong.first_block_alone, "Every page is read from the table's first entry.", next=_TABLE),
        Mistake(wrong.token_as_entry, "Looks for token n in entry n of the table. It is in entry n // BLOCK_SIZE.",
                next=_TABLE),
        Mistake(wrong.whole_table, _PADDING, invariant="I6", next=_ENTRIES),
        Mistake(wrong.whole_table_masked, _PADDING, invariant="I6", next=_ENTRIES),
        Mistake(wrong.first_page, "Reads the first page only.", next=_ENTRIES),
        Mistake(wrong.full_pages, _LAST, invariant="I3", next="round up"),
        Mistake(wrong.full_pages_undivided, _LAST, invariant="I3", next="round up"),
        Mistake(wrong.one_page_too_many,
                "Looks like length // BLOCK_SIZE + 1 pages, one too many when the last one is exactly full.",
                invariant="I3", next=_ENTRIES),
        Mistake(wrong.keys_for_values, "Looks like key_pool twice. The output is a mean of values.",
                next="load the values from value_pool"),
        Mistake(wrong.values_for_keys, "Looks like value_pool twice. The scores are of query and keys.",
                next="load the keys from key_pool"),
        Mistake(wrong.returns_early, _NOTHING, next=_ZERO),
        Mistake(wrong.returns_early_undivided, _NOTHING, next=_ZERO),
        Mistake(wrong.hides_little,
                "Hidden scores are -100, not -inf. Where real scores are lower, what is hidden takes all the weight.",
                next="hide with -inf"),
        Mistake(wrong.start_twice, "The page's start is counted twice in the mask.", next=_ONCE),
        Mistake(wrong.start_twice_everywhere,
                "The page's start is counted twice: what begins at start is added to start again.", next=_ONCE),
        Mistake(wrong.start_in_block,
                "The page's start is in the address. The block id has led there already: add the place in the page.",
                next=_ONCE),
        Mistake(wrong.zero_divides, "Length 0 gives nan: nothing was summed, and 0 / 0 is nan.",
                next="divide by tl.where(total > 0, total, 1.0)"),
        Mistake(wrong.heads_share_a_row, "All heads of a sequence read and write one row. Each has its own.",
                next=_ROW),
        Mistake(wrong.first_row, "All sequences read and write the rows of the first.", next=_ROW),
        Mistake(wrong.query_without_heads, "Takes row s of the query for sequence s. It has HEADS rows there.",
                next=_ROW),
        Mistake(wrong.stores_nothing,
                "Nothing is stored. A kernel returns nothing: its result is what it writes into output.",
                next="store the result into output with tl.store"),
        Mistake(wrong.first_query, "All heads of a sequence take the query of its first head.", next=_ROW),
        Mistake(wrong.grid_swapped,
                "Axes 0 and 1 of the grid have changed places: program_id(0) is the sequence, program_id(1) the head.",
                next="swap the two"),
    ),
    hints=(
        "What does one program need to know, before its loop, to find every key of its head? And which of the "
        "numbers it loads in the last page belong to nobody?",
        "Before the loop: the query's HEAD_DIM numbers, times scale; largest = -inf, total = 0, acc = zeros. For each "
        "page: its block id, as int64; a tile [BLOCK_SIZE, HEAD_DIM] of keys, masked; scores, -inf where masked; then "
        "lab 04's step: higher, shrink, weights, and the same tile of values.",
        "place = ((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM; k = tl.load(key_pool + place[:, "
        "None] + dim[None, :], mask=seen[:, None], other=0.0); scores = tl.where(seen, tl.sum(k * q[None, :], axis=1), "
        "-float('inf')); shrink, weights = tl.exp(largest - higher), tl.exp(scores - higher); at last acc / total",
    ),
)
