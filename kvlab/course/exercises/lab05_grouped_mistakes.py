"""`grouped_decode_kernel` as beginners write it."""

from __future__ import annotations

from kvlab.course.exercises.lab05_slips import Slip

_WHERE = 'scores = tl.where(seen[None, :], scores, -float("inf"))'
_MASKED = ", mask=seen[:, None], other=0.0"
_PLACE = "((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM"
_ROWS = "(sequence * HEADS + kv_head * GROUP + member)[:, None] * HEAD_DIM + dim[None, :]"
_PAGES = "range(0, length, BLOCK_SIZE)"
_HIGHER = "tl.maximum(largest, tl.max(scores, axis=1))"
_SUM, _ACC = "total * shrink", "acc * shrink[:, None]"
_TABLE = "tl.load(block_tables + sequence * max_blocks + start // BLOCK_SIZE)"
_DOT = 'tl.dot(q, tl.trans(k), input_precision="ieee") * scale'
_SINGLE = "tl.maximum(largest, tl.max(tl.max(scores, axis=1), axis=0))"


def slip(name: str, *changes: tuple[str, str]) -> Slip:
    return Slip("kvlab.kernels.basic_decode", "grouped_decode_kernel", name, *changes)


rows_unmasked = slip("rows_unmasked", ("query + rows, mask=mine, other=0.0", "query + rows"), (", mask=mine)", ")"))
stores_all_rows = slip("stores_all_rows", (", mask=mine)", ")"))
group_is_heads = slip("group_is_heads", ("GROUP: tl.constexpr = HEADS // KV_HEADS", "GROUP: tl.constexpr = HEADS"))
group_is_kv_heads = slip("group_is_kv_heads",
                         ("GROUP: tl.constexpr = HEADS // KV_HEADS", "GROUP: tl.constexpr = KV_HEADS"))
first_group = slip("first_group", (_ROWS, "(sequence * HEADS + member)[:, None] * HEAD_DIM + dim[None, :]"))
steps_by_one = slip("steps_by_one", (_ROWS, "(sequence * HEADS + kv_head + member)[:, None] * HEAD_DIM + dim[None, :]"))
strided_members = slip("strided_members", (_ROWS, "(sequence * HEADS + member * KV_HEADS + kv_head)[:, None] * HEAD_DIM"
                                                  " + dim[None, :]"))
steps_by_tile = slip("steps_by_tile", (_ROWS, "(sequence * HEADS + kv_head * GROUP_TILE + member)[:, None] * HEAD_DIM"
                                              " + dim[None, :]"))
no_sequence = slip("no_sequence", (_ROWS, "(kv_head * GROUP + member)[:, None] * HEAD_DIM + dim[None, :]"))
no_mask = slip("no_mask", (_MASKED, ""), (_WHERE, "pass"))
masks_loads_alone = slip("masks_loads_alone", (_WHERE, "pass"))
masks_scores_alone = slip("masks_scores_alone", (_MASKED, ""))
one_too_many = slip("one_too_many", ("start + offset < length", "start + offset <= length"))
newest_left_out = slip("newest_left_out", ("start + offset < length", "start + offset < length - 1"))
mask_without_start = slip("mask_without_start", ("start + offset < length", "offset < length"))
no_kv_head_stride = slip("no_kv_head_stride", (_PLACE, "(block * BLOCK_SIZE + offset + kv_head) * HEAD_DIM"))
heads_before_slots = slip("heads_before_slots",
                          (_PLACE, "((block * KV_HEADS + kv_head) * BLOCK_SIZE + offset) * HEAD_DIM"))
first_kv_head = slip("first_kv_head", (_PLACE, "(block * BLOCK_SIZE + offset) * KV_HEADS * HEAD_DIM"))
no_int64 = slip("no_int64", (".to(tl.int64)", ""))
no_rescale = slip("no_rescale", (_SUM, "total"), (_ACC, "acc"))
rescales_sum_alone = slip("rescales_sum_alone", (_ACC, "acc"))
rescales_output_alone = slip("rescales_output_alone", (_SUM, "total"))
one_largest = slip("one_largest", (_HIGHER, _SINGLE))
softmax_over_rows = slip("softmax_over_rows",
                         ("tl.sum(weights, axis=1)", "tl.sum(tl.sum(weights, axis=0), axis=0)"))
keeps_no_largest = slip("keeps_no_largest", ("largest = higher", "largest = largest"))
own_largest = slip("own_largest", (_HIGHER, "tl.max(scores, axis=1)"), (_SUM, "total"), (_ACC, "acc"))
largest_falls = slip("largest_falls", (_HIGHER, "tl.max(scores, axis=1)"))
begins_at_zero = slip("begins_at_zero", ('tl.full([GROUP_TILE], -float("inf"), dtype=tl.float32)',
                                         "tl.zeros([GROUP_TILE], dtype=tl.float32)"))
no_largest = slip("no_largest", ("tl.exp(scores - higher[:, None])", "tl.exp(scores)"), (_SUM, "total"), (_ACC, "acc"))
never_divides = slip("never_divides", ("acc / tl.where(total > 0, total, 1.0)[:, None]", "acc"))
no_scale = slip("no_scale", (_DOT, _DOT.removesuffix(" * scale")))
scales_twice = slip("scales_twice", (_DOT, f"{_DOT} * scale"))
own_scale = slip("own_scale", (_DOT, _DOT.removesuffix("* scale") + "/ (HEAD_DIM ** 0.5)"))
first_table = slip("first_table", ("sequence * max_blocks + ", ""))
blocks_in_order = slip("blocks_in_order", (_TABLE, "(start // BLOCK_SIZE + 0 * sequence)"))
whole_table = slip("whole_table", (_PAGES, "range(0, max_blocks * BLOCK_SIZE, BLOCK_SIZE)"))
first_page = slip("first_page", (_PAGES, "range(0, tl.minimum(length, BLOCK_SIZE), BLOCK_SIZE)"))
full_pages = slip("full_pages", (_PAGES, "range(0, length // BLOCK_SIZE * BLOCK_SIZE, BLOCK_SIZE)"))
keys_for_values = slip("keys_for_values", ("value_pool + place", "key_pool + place"))
values_for_keys = slip("values_for_keys", ("key_pool + place", "value_pool + place"))
zero_divides = slip("zero_divides", ("tl.where(total > 0, total, 1.0)", "total"))
_LENGTH = "length = tl.load(context_lengths + sequence)\n"
_EARLY = (_LENGTH, _LENGTH + "    if length == 0:\n        return\n")
returns_early = slip("returns_early", _EARLY)
returns_early_undivided = slip("returns_early_undivided", _EARLY, ("tl.where(total > 0, total, 1.0)", "total"))
members_below_heads = slip("members_below_heads", ("(member < GROUP)", "(kv_head * GROUP + member < HEADS)"))
seen_along_rows = slip("seen_along_rows", (_WHERE, _WHERE.replace("seen[None, :]", "seen[:, None]")))
