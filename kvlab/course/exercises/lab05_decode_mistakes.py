"""`paged_decode_kernel` as beginners write it: what the thought changes in the finished kernel's text."""

from __future__ import annotations

from kvlab.course.exercises.lab05_slips import Slip

_WHERE = 'tl.where(seen, tl.sum(k * q[None, :], axis=1), -float("inf"))'
_SCORES = "tl.sum(k * q[None, :], axis=1)"
_MASKED = ", mask=seen[:, None], other=0.0"
_TABLE = "tl.load(block_tables + sequence * max_blocks + start // BLOCK_SIZE)"
_PLACE = "((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM"
_ROW = "row = (sequence * HEADS + head) * HEAD_DIM + dim"
_KV = "head // (HEADS // KV_HEADS)"
_PAGES = "range(0, length, BLOCK_SIZE)"
_HIGHER = "tl.maximum(largest, tl.max(scores, axis=0))"
_SUM, _ACC = "total * shrink", "acc * shrink"
_STORE = "tl.store(output + row, acc / tl.where(total > 0, total, 1.0))"


def slip(name: str, *changes: tuple[str, str]) -> Slip:
    return Slip("kvlab.kernels.basic_decode", "paged_decode_kernel", name, *changes)


no_mask = slip("no_mask", (_MASKED, ""), (_WHERE, _SCORES))
masks_loads_alone = slip("masks_loads_alone", (_WHERE, _SCORES))
masks_scores_alone = slip("masks_scores_alone", (_MASKED, ""))
masks_with_zero = slip("masks_with_zero", (_MASKED, ""), (_WHERE, f"tl.where(seen, {_SCORES}, 0.0)"))
one_too_many = slip("one_too_many", ("start + offset < length", "start + offset <= length"))
newest_left_out = slip("newest_left_out", ("start + offset < length", "start + offset < length - 1"))
mask_without_start = slip("mask_without_start", ("start + offset < length", "offset < length"))
one_kv_head_stride = slip("one_kv_head_stride", (_PLACE, "(block * BLOCK_SIZE + offset + kv_head) * HEAD_DIM"))
no_kv_head = slip("no_kv_head", (_PLACE, "(block * BLOCK_SIZE + offset) * HEAD_DIM"))
heads_before_slots = slip("heads_before_slots",
                          (_PLACE, "((block * KV_HEADS + kv_head) * BLOCK_SIZE + offset) * HEAD_DIM"))
kv_head_without_dim = slip("kv_head_without_dim",
                           (_PLACE, "(block * BLOCK_SIZE + offset) * KV_HEADS * HEAD_DIM + kv_head"))
block_as_slot = slip("block_as_slot", (_PLACE, "((block + offset) * KV_HEADS + kv_head) * HEAD_DIM"))
first_slot_alone = slip("first_slot_alone",
                        (_PLACE, "((block * BLOCK_SIZE + 0 * offset) * KV_HEADS + kv_head) * HEAD_DIM"))
no_int64 = slip("no_int64", (".to(tl.int64)", ""))
no_rescale = slip("no_rescale", (_SUM, "total"), (_ACC, "acc"))
rescales_sum_alone = slip("rescales_sum_alone", (_ACC, "acc"))
rescales_output_alone = slip("rescales_output_alone", (_SUM, "total"))
grows = slip("grows", ("tl.exp(largest - higher)", "tl.exp(higher - largest)"))
keeps_no_largest = slip("keeps_no_largest", ("largest = higher", "largest = largest"))
own_largest = slip("own_largest", (_HIGHER, "tl.max(scores, axis=0)"), (_SUM, "total"), (_ACC, "acc"))
largest_falls = slip("largest_falls", (_HIGHER, "tl.max(scores, axis=0)"))
begins_at_zero = slip("begins_at_zero", ('largest, total, acc = -float("inf")', "largest, total, acc = 0.0"))
no_largest = slip("no_largest", ("tl.exp(scores - higher)", "tl.exp(scores)"), (_SUM, "total"), (_ACC, "acc"))
never_divides = slip("never_divides", (_STORE, "tl.store(output + row, acc)"))
divides_each_time = slip("divides_each_time",
                         ("        largest = higher", "        largest = higher\n        acc = acc / total"))
scores_as_weights = slip("scores_as_weights", ("tl.exp(scores - higher)", "tl.where(seen, scores, 0.0)"))
powers_of_two = slip("powers_of_two", ("tl.exp(", "tl.exp2("))
no_scale = slip("no_scale", (".to(tl.float32) * scale", ".to(tl.float32)"))
scales_twice = slip("scales_twice", (_SCORES, f"{_SCORES} * scale"))
divides_by_scale = slip("divides_by_scale", (".to(tl.float32) * scale", ".to(tl.float32) / scale"))
own_scale = slip("own_scale", (".to(tl.float32) * scale", ".to(tl.float32) / (HEAD_DIM ** 0.5)"))
head_modulo = slip("head_modulo", (_KV, "head % KV_HEADS"))
first_kv_head = slip("first_kv_head", (_KV, "0"))
head_as_it_is = slip("head_as_it_is", (_KV, "head"))
head_over_kv_heads = slip("head_over_kv_heads", (_KV, "head // KV_HEADS"))
first_table = slip("first_table", ("sequence * max_blocks + ", ""))
table_without_width = slip("table_without_width", ("sequence * max_blocks + ", "sequence + "))
blocks_in_order = slip("blocks_in_order", (_TABLE, "(start // BLOCK_SIZE + 0 * sequence)"))
first_block_alone = slip("first_block_alone", ("+ start // BLOCK_SIZE)", ")"))
token_as_entry = slip("token_as_entry", ("+ start // BLOCK_SIZE)", "+ start)"))
whole_table = slip("whole_table", (_PAGES, "range(0, max_blocks * BLOCK_SIZE, BLOCK_SIZE)"), (_MASKED, ""))
whole_table_masked = slip("whole_table_masked", (_PAGES, "range(0, max_blocks * BLOCK_SIZE, BLOCK_SIZE)"))
first_page = slip("first_page", (_PAGES, "range(0, tl.minimum(length, BLOCK_SIZE), BLOCK_SIZE)"))
full_pages = slip("full_pages", (_PAGES, "range(0, length // BLOCK_SIZE * BLOCK_SIZE, BLOCK_SIZE)"))
full_pages_undivided = slip("full_pages_undivided", *full_pages.changes, ("tl.where(total > 0, total, 1.0)", "total"))
stores_nothing = slip("stores_nothing", (_STORE, "pass"))
query_without_heads = slip("query_without_heads", ("query + row", "query + sequence * HEAD_DIM + dim"))
first_length = slip("first_length", ("context_lengths + sequence", "context_lengths"))
blocks_of_sixteen = slip("blocks_of_sixteen", ("tl.arange(0, BLOCK_SIZE)", "tl.arange(0, 16)"))
block_without_kv_heads = slip("block_without_kv_heads",
                              (_PLACE, "block * BLOCK_SIZE * HEAD_DIM + (offset * KV_HEADS + kv_head) * HEAD_DIM"))
mean_of_pages = slip("mean_of_pages", (_HIGHER, "tl.max(scores, axis=0)"),
                     ("total * shrink + tl.sum(weights, axis=0)", "total + 1.0"),
                     ("acc * shrink + tl.sum(weights[:, None] * v, axis=0)",
                      "acc + tl.sum(weights[:, None] * v, axis=0) / tl.sum(weights, axis=0)"))
one_page_too_many = slip("one_page_too_many", (_PAGES, "range(0, length + 1, BLOCK_SIZE)"))
keys_for_values = slip("keys_for_values", ("value_pool + place", "key_pool + place"))
values_for_keys = slip("values_for_keys", ("key_pool + place", "value_pool + place"))
zero_divides = slip("zero_divides", ("tl.where(total > 0, total, 1.0)", "total"))
heads_share_a_row = slip("heads_share_a_row", (_ROW, "row = sequence * HEAD_DIM + dim"))
first_row = slip("first_row", (_ROW, "row = head * HEAD_DIM + dim"))
first_query = slip("first_query", ("query + row", "query + sequence * HEADS * HEAD_DIM + dim"))
grid_swapped = slip("grid_swapped", ("tl.program_id(0), tl.program_id(1)", "tl.program_id(1), tl.program_id(0)"))
_LENGTH = "length = tl.load(context_lengths + sequence)\n"
_EARLY = (_LENGTH, _LENGTH + "    if length == 0:\n        return\n")
returns_early = slip("returns_early", _EARLY)
returns_early_undivided = slip("returns_early_undivided", _EARLY, ("tl.where(total > 0, total, 1.0)", "total"))
hides_little = slip("hides_little", (_WHERE, _WHERE.replace('-float("inf")', "-100.0")))
_TWICE = ("start + offset < length", "start + start + offset < length")
start_twice = slip("start_twice", _TWICE)
start_twice_everywhere = slip("start_twice_everywhere", _TWICE,
                              (_PLACE, "((block * BLOCK_SIZE + start + offset) * KV_HEADS + kv_head) * HEAD_DIM"))
start_in_block = slip("start_in_block",
                      (_PLACE, "((block * BLOCK_SIZE + start + offset) * KV_HEADS + kv_head) * HEAD_DIM"))
