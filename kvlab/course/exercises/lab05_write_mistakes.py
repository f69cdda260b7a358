"""`write_kv_kernel` and `copy_blocks_kernel` as beginners write them."""

from __future__ import annotations

from kvlab.course.exercises.lab05_slips import Slip

_INDICES = "source, target = token * width + column, slot * width + column"
_KEYS = "tl.store(key_pool + target, tl.load(key + source, mask=inside), mask=inside)"
_VALUES = "tl.store(value_pool + target, tl.load(value + source, mask=inside), mask=inside)"
_LOADS = (("key + source, mask=inside", "key + source"), ("value + source, mask=inside", "value + source"))
_STORES = ((_KEYS, _KEYS[: -len(", mask=inside)")] + ")"), (_VALUES, _VALUES[: -len(", mask=inside)")] + ")"))


def slip(name: str, *changes: tuple[str, str]) -> Slip:
    return Slip("kvlab.kernels.basic_write", "write_kv_kernel", name, *changes)


pads_write = slip("pads_write", ("if slot >= 0:", "if slot == slot:"))
clamps = slip("clamps", ("tl.load(slots + token)", "tl.maximum(tl.load(slots + token), 0)"))
skips_slot_zero = slip("skips_slot_zero", ("slot >= 0", "slot > 0"))
no_mask = slip("no_mask", *_STORES, *_LOADS)
loads_unmasked = slip("loads_unmasked", *_LOADS)
stores_unmasked = slip("stores_unmasked", *_STORES)
stores_unmasked_filled = slip("stores_unmasked_filled", *_STORES, *((old, old + ", other=0.0") for old, _ in _LOADS))
one_too_many = slip("one_too_many", ("column < width", "column <= width"))
steps_by_tile = slip("steps_by_tile", (_INDICES, "source, target = token * TILE + column, slot * TILE + column"))
source_by_tile = slip("source_by_tile", (_INDICES, "source, target = token * TILE + column, slot * width + column"))
target_by_tile = slip("target_by_tile", (_INDICES, "source, target = token * width + column, slot * TILE + column"))
padding_is_minus_one = slip("padding_is_minus_one", ("slot >= 0", "slot != -1"))
slot_without_width = slip("slot_without_width", (_INDICES, "source, target = token * width + column, slot + column"))
no_width = slip("no_width", (_INDICES, "source, target = token + column, slot + column"))
by_order = slip("by_order", (_INDICES, "source = token * width + column\n        target = source"))
first_row = slip("first_row", (_INDICES, "source, target = column, slot * width + column"))
reads_the_slot = slip("reads_the_slot", (_INDICES, "source = slot * width + column\n        target = source"))
first_number = slip("first_number", (_INDICES, "source, target = token * width + 0 * column, slot * width + column"))
keys_alone = slip("keys_alone", (_VALUES, "pass"))
keys_twice = slip("keys_twice", ("tl.load(value + source", "tl.load(key + source"))
crossed = slip("crossed", ("key_pool + target", "XX"), ("value_pool + target", "key_pool + target"),
               ("XX", "value_pool + target"))
over_each_other = slip("over_each_other", ("value_pool + target", "key_pool + target"))
first_token = slip("first_token", ("tl.program_id(0)", "tl.program_id(1)"))
narrow = slip("narrow", ("tl.load(slots + token)", "tl.load(slots + token).to(tl.int32)"))
adds = slip("adds", ("tl.load(key + source, mask=inside)",
                     "tl.load(key_pool + target, mask=inside) + tl.load(key + source, mask=inside)"),
            ("tl.load(value + source, mask=inside)",
             "tl.load(value_pool + target, mask=inside) + tl.load(value + source, mask=inside)"))
_PLACE = "tl.program_id(1) * TILE + tl.arange(0, TILE)"
_BOTH = ("tl.load(pool + source * block_numel + place, mask=inside)",
         "tl.store(pool + target * block_numel + place, numbers, mask=inside)")


def copy_slip(name: str, *changes: tuple[str, str]) -> Slip:
    return Slip("kvlab.kernels.basic_copy", "copy_blocks_kernel", name, *changes)


copy_no_mask = copy_slip("copy_no_mask", *((text, text.replace(", mask=inside", "")) for text in _BOTH))
copy_loads_unmasked = copy_slip("copy_loads_unmasked", (_BOTH[0], _BOTH[0].replace(", mask=inside", "")))
copy_stores_unmasked = copy_slip("copy_stores_unmasked", (_BOTH[1], _BOTH[1].replace(", mask=inside", "")))
copy_stores_unmasked_filled = copy_slip(
    "copy_stores_unmasked_filled", (_BOTH[1], _BOTH[1].replace(", mask=inside", "")),
    (_BOTH[0], _BOTH[0].replace("mask=inside", "mask=inside, other=0.0")))
copy_narrow = copy_slip("copy_narrow", (".to(tl.int64)", ""))
first_tile = copy_slip("first_tile", (_PLACE, "tl.arange(0, TILE)"))
tiles_overlap = copy_slip("tiles_overlap", (_PLACE, "tl.program_id(1) + tl.arange(0, TILE)"))
blocks_by_tile = copy_slip("blocks_by_tile", ("source * block_numel", "source * TILE"),
                           ("target * block_numel", "target * TILE"))
backwards = copy_slip("backwards", ("tl.load(sources", "XX"), ("tl.load(targets", "tl.load(sources"),
                      ("XX", "tl.load(targets"))
pair_is_block = copy_slip("pair_is_block", ("tl.load(sources + pair).to(tl.int64)", "pair"))
first_pair = copy_slip("first_pair", ("sources + pair", "sources"), ("targets + pair", "targets"))
block_alone = copy_slip("block_alone", ("source * block_numel", "source"), ("target * block_numel", "target"))
copy_one_too_many = copy_slip("copy_one_too_many", ("place < block_numel", "place <= block_numel"))
copy_grid_swapped = copy_slip("copy_grid_swapped", ("tl.program_id(1)", "XX"), ("tl.program_id(0)", "tl.program_id(1)"),
                              ("XX", "tl.program_id(0)"))
