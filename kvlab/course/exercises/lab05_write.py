"""Lab 05: a kernel that writes keys and values into their slots, and one that copies blocks."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake
from kvlab.course.exercises import lab05_write_mistakes as wrong
from kvlab.course.exercises.lab05_write_bench import Copy, Write, copies, writes

_MASK = "compare the columns with width, and mask load and store"
_SLOT = "go by slot * width + column in the pools"
_ROW = "go by token * width + column in key and value"
_PAD = "do everything only if slot >= 0"

WRITE_KV: Any = Exercise(
    name="write_kv_kernel", lab="05", part="kvlab.kernels.basic_write.write_kv_kernel", stars=2, core=True, minutes=15,
    seconds=8.0,
    checks=(
        writes("one token", Write((2,), width=8), Write((0,), width=8), next="copy row 0 into its slot of both pools"),
        writes("several tokens", Write((6, 3, 11), width=8), next=_SLOT),
        writes("rows shorter than a tile", Write((6, 3)), Write((4, 5, 9), tile=16), Write((11, 0), width=3, tile=4),
               next=_MASK),
        writes("slot -1", Write((5, -1, 2)), Write((-1,)), Write((-1, -1, 0)), Write((4, -2)),
               Write((3, 4, -1)), next=_PAD),
        writes("empty pools", Write((7, 2), empty=True), Write((3, -1), empty=True),
               next="overwrite what lies there, whatever it is"),
        writes("other sizes", Write((1, 0, 2), width=1, tile=1, num_slots=3), Write((9, 4), width=20, tile=32),
               next="take width and TILE from the arguments"),
        writes("slots far away", Write((3, 8), far=True), next="keep slots in int64, as they come"),
        writes("float16", Write((8, 1), dtype="float16"), next="copy numbers as they are"),
    ),
    mistakes=(
        Mistake(wrong.pads_write,
                "Slot -1 is written: a row's width before the pool begins, and that is somebody else's memory. "
                "Padding must write nothing.", next=_PAD),
        Mistake(wrong.padding_is_minus_one, "Looks like slot != -1. Any slot below 0 is padding.",
                next="use slot >= 0"),
        Mistake(wrong.clamps, "Slot -1 becomes slot 0, and somebody owns that. Padding must write nothing at all.",
                next=_PAD),
        Mistake(wrong.skips_slot_zero, "Looks like slot > 0. Slot 0 is a slot like any other.", next="use slot >= 0"),
        Mistake(wrong.no_mask,
                "No mask: a tile is TILE numbers long and a row only width. What is left over reads and writes the "
                "next row.", next=_MASK),
        Mistake(wrong.loads_unmasked, "The stores are masked and the loads are not: they read behind the last row.",
                next=_MASK),
        Mistake(wrong.stores_unmasked,
                "The loads are masked and the stores are not: they write over the slot that follows.", next=_MASK),
        Mistake(wrong.stores_unmasked_filled,
                "The loads are masked and the stores are not: they write over the slot that follows.", next=_MASK),
        Mistake(wrong.one_too_many, "Looks like <= in the mask, one number too many: columns count from 0.",
                next="use column < width"),
        Mistake(wrong.steps_by_tile, "Wrong stride: rows are width numbers apart, not TILE.",
                next="step by width in key, value and both pools"),
        Mistake(wrong.source_by_tile, "Wrong stride: rows of key and value are width numbers apart, not TILE.",
                next=_ROW),
        Mistake(wrong.target_by_tile, "Wrong stride: slots are width numbers apart, not TILE.", next=_SLOT),
        Mistake(wrong.slot_without_width, "Wrong stride: slot s begins at number s * width of the pool, not at s.",
                next=_SLOT),
        Mistake(wrong.no_width, "Wrong stride: row r begins at number r * width, not at r.", next=_SLOT),
        Mistake(wrong.by_order, "Token t goes to slot t. Each token has its own slot, slots[t].", next=_SLOT),
        Mistake(wrong.first_row, "Every token writes row 0 of key and value.", next=_ROW),
        Mistake(wrong.reads_the_slot, "Reads key and value at the slot. They lie there in the order of the tokens.",
                next=_ROW),
        Mistake(wrong.first_number, "Fills the slot with the row's first number.", next=_ROW),
        Mistake(wrong.keys_alone, "Writes the keys, and no values.", next="write both pools"),
        Mistake(wrong.keys_twice, "Writes the keys into both pools.", next="write value into value_pool"),
        Mistake(wrong.crossed, "Keys go into the pool of values and values into that of keys.", next="swap the two"),
        Mistake(wrong.over_each_other, "Both land in key_pool, the values over the keys.", next="write both pools"),
        Mistake(wrong.first_token,
                "Every program writes into the slot of token 0. tl.program_id(0) tells which token it has.",
                next="use axis 0 of the grid"),
        Mistake(wrong.narrow,
                "Missing int64: a slot times the width does not fit into 32 bits in a large pool, and wraps around.",
                next="keep slots in int64, as they come"),
        Mistake(wrong.adds, "Adds to what lies in the slot. A freed slot still holds its last owner's numbers.",
                next="store what you loaded, and nothing else"),
    ),
    hints=(
        "Which numbers of key belong to token t, counted from the beginning of the tensor? And which numbers of the "
        "pool to slot s?",
        "One program, one token: token = tl.program_id(0), its slot from slots. If that is not below 0: the columns "
        "are tl.arange(0, TILE), of which those below width count; load a row of key at token * width, store it at "
        "slot * width; the same for value.",
        "column = tl.arange(0, TILE); inside = column < width; row = tl.load(key + token * width + column, "
        "mask=inside); tl.store(key_pool + slot * width + column, row, mask=inside)",
    ),
)

_WIDE = "turn both block ids into tl.int64 as they are loaded"
_TILE = "let program_id(1) * TILE + tl.arange(0, TILE) be the places"

COPY_BLOCKS: Any = Exercise(
    name="copy_blocks_kernel", lab="05", part="kvlab.kernels.basic_copy.copy_blocks_kernel", stars=2, core=False,
    minutes=10, seconds=8.0,
    checks=(
        copies("one tile a block", Copy(((4, 1),), numel=8), Copy(((0, 5), (3, 2)), numel=8),
               next="copy block sources[p] to block targets[p]"),
        copies("several tiles", Copy(((4, 1),)), Copy(((5, 0), (1, 3)), numel=32), next=_TILE),
        copies("a tile that is not full", Copy(((4, 1),), numel=13), Copy(((0, 2), (5, 3)), numel=5),
               Copy(((1, 5),), numel=9, tile=16), next="mask places from block_numel on"),
        copies("blocks far away", Copy(((4, 1), (0, 3)), far=True), next=_WIDE),
    ),
    mistakes=(
        Mistake(wrong.copy_no_mask, "No mask: the last tile of a block reaches into the next one.",
                next="mask load and store by place < block_numel"),
        Mistake(wrong.copy_loads_unmasked, "The store is masked and the load is not: it reads behind the block.",
                next="mask load and store by place < block_numel"),
        Mistake(wrong.copy_stores_unmasked, "The load is masked and the store is not: it writes into the next block.",
                next="mask load and store by place < block_numel"),
        Mistake(wrong.copy_stores_unmasked_filled,
                "The load is masked and the store is not: it writes into the next block.",
                next="mask load and store by place < block_numel"),
        Mistake(wrong.copy_one_too_many, "Looks like <= in the mask, one number too many: places count from 0.",
                next="use place < block_numel"),
        Mistake(wrong.copy_narrow,
                "Missing int64: a block id times block_numel does not fit into 32 bits in a large pool, and wraps "
                "around.", next=_WIDE),
        Mistake(wrong.first_tile, "Only the first tile of each block is copied, by all programs of the pair.",
                next=_TILE),
        Mistake(wrong.tiles_overlap, "Tile t begins at t. It begins at t * TILE.", next=_TILE),
        Mistake(wrong.blocks_by_tile, "Wrong stride: blocks are block_numel numbers apart, not TILE.",
                next="use block id * block_numel"),
        Mistake(wrong.block_alone, "Wrong stride: block b begins at number b * block_numel of the pool, not at b.",
                next="use block id * block_numel"),
        Mistake(wrong.backwards, "Copies from the target to the source.", next="swap the two"),
        Mistake(wrong.pair_is_block, "Looks like block p for pair p. Which block it is stands in sources.",
                next="load sources + pair"),
        Mistake(wrong.first_pair, "Every program copies the first pair.", next="load sources + pair, targets + pair"),
        Mistake(wrong.copy_grid_swapped,
                "Axes 0 and 1 of the grid have changed places: program_id(0) is the pair, program_id(1) the tile.",
                next="swap the two"),
    ),
    hints=(
        "The grid has two axes, pairs and tiles. Which numbers of a block does tile 1 move?",
        "The pair gives two block ids; the tile gives places within a block, of which those below block_numel count. "
        "Load from one block, store into the other.",
        "place = tl.program_id(1) * TILE + tl.arange(0, TILE); x = tl.load(pool + source * block_numel + place, "
        "mask=place < block_numel); tl.store(pool + target * block_numel + place, x, mask=place < block_numel)",
    ),
)
