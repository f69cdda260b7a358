"""Lab 04: keys and values go into their slots."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab04_write_mistakes as wrong
from kvlab.course.exercises.lab04_write_bench import Write, random_writes, render, run
from kvlab.course.exercises.scenarios import corners, scenarios


def writes(name: str, *values: Write, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


_FILTER = "keep the rows with slots >= 0, of the slots and of key and value"
_TWICE = "`pool[blocks]` is a copy, and `[offsets]` then picks blocks from it, not places in them."
_ONCE = "index once: pool[block, offset]"

WRITE_KV: Any = Exercise(
    name="write_kv", lab="04", part="kvlab.compute.write_kv", stars=2, core=True, minutes=10,
    checks=(
        writes("in their slots", Write((6,)), Write((9, 2, 14)), Write((4, 5, 6, 7)),
                next="write to block slot // block_size, at offset slot % block_size"),
        writes("first and last slot", Write((0,)), Write((19, 0)), Write((19,)), next="treat slot 0 and the last slot"),
        writes("slot -1", Write((5, -1)), Write((-1, 5, -1, 2)), Write((-1,)), Write((3, -1, 1), empty=True),
                next=_FILTER),
        writes("other sizes", Write((5, 1, 2), blocks=3, block_size=2, kv_heads=1, key_dim=4, value_dim=4),
                Write((6, 0), blocks=7, block_size=1, kv_heads=3, key_dim=2, value_dim=2),
                next="take every size from the tensors' shapes"),
        corners("values of another size", run, render, Write((9, 2), key_dim=3, value_dim=2),
                Write((1, -1, 8), key_dim=2, value_dim=4), next="treat the two pools apart: head_dim may differ"),
        writes("empty pools", Write((9, 2), empty=True), next="overwrite what lies there, whatever it is"),
        corners("rows from a transpose", run, render, Write((9, 2, 14), strided=True), Write((5, -1, 2), strided=True),
                next="index the rows as they are, or use reshape on them in place of view"),
        corners("no tokens", run, render, Write(()), next="treat a step without new tokens"),
        Traces("random slots", random_writes, run, render=render, next="go through these slots by hand"),
    ),
    mistakes=(
        Mistake(wrong.pads_write_last,
                "To torch, index -1 is the last slot, and somebody owns it. Padding must write nothing at all.",
                next=_FILTER),
        Mistake(wrong.clamps, "Slot -1 becomes slot 0, and somebody owns that too. Padding must write nothing at all.",
                next=_FILTER),
        Mistake(wrong.zeroes_padding,
                "The rows of padding are zeros now, but they are still written, into the last slot.", next=_FILTER),
        Mistake(wrong.rows_not_filtered,
                "The slots of padding are left out and its rows are not, so later tokens get the rows of others.",
                next=_FILTER),
        Mistake(wrong.slots_alone_filtered,
                "The slots of padding are left out and its rows are not, so there are more rows than slots.",
                next=_FILTER),
        Mistake(wrong.skips_slot_zero, "Looks like slots > 0. Slot 0 is a slot like any other.", next="use slots >= 0"),
        Mistake(wrong.stops_at_padding, "Stops at the first -1. Rows behind it are real tokens.", next=_FILTER),
        Mistake(wrong.gives_up_at_padding, "One -1 keeps all tokens from being written. The others have their slots.",
                next=_FILTER),
        Mistake(wrong.never_the_last, "Never writes the last slot. Padding is slot -1; the last slot is a real one.",
                next="use slots >= 0 and nothing else"),
        Mistake(wrong.by_order,
                "Writes the tokens in the order in which they come, from slot 0 on. Each has its own slot.",
                next="write to slots"),
        Mistake(wrong.previous_plus_one,
                "Looks like previous slot + 1. The next token may be another conversation's, or in another block.",
                next="write to slots, each token to its own"),
        Mistake(wrong.to_a_copy,
                "The pool that was passed in stays as it was: the writes went to a copy. clone() makes one, and so "
                "does pool[blocks], if blocks is a tensor.", next="assign to pool[block, offset] in one step"),
        Mistake(wrong.indexes_twice, _TWICE, next=_ONCE),
        Mistake(wrong.indexes_twice_with_padding, _TWICE, next=_ONCE),
        Mistake(wrong.swapped_parts, "Looks like // and % have changed places: // finds the block, % the place in it.",
                next="swap // and %"),
        Mistake(wrong.other_size,
                "Divides by the number of blocks. A slot is block * block_size + offset, and block_size is shape[1].",
                next="use key_pool.shape[1]"),
        Mistake(wrong.blocks_of_sixteen, "Right for blocks of 16 only. The block size is key_pool.shape[1].",
                next="take every size from the tensors' shapes"),
        Mistake(wrong.blocks_of_four, "Right for blocks of 4 only. The block size is key_pool.shape[1].",
                next="take every size from the tensors' shapes"),
        Mistake(wrong.values_as_keys, "Takes the keys' sizes for both. Values may have another head_dim than keys.",
                next="use value_pool.shape[2:] for value_pool"),
        Mistake(wrong.whole_block, "Writes the token into every slot of its block. It has one of them.",
                next="use the offset too: slot % block_size"),
        Mistake(wrong.keys_alone, "Writes the keys, and no values.", next="write both pools"),
        Mistake(wrong.values_over_keys, "Both land in key_pool, the values over the keys.", next="write both pools"),
        Mistake(wrong.keys_twice, "Writes the keys into both pools.", next="write value into value_pool"),
        Mistake(wrong.adds, "Adds to what lies in the slot. A freed slot still holds its last owner's numbers.",
                next="use = in place of +="),
        Mistake(wrong.views_rows,
                "view() needs rows that lie in memory in order. A model computes head by head, and hands over a "
                "transpose.", next="index the rows as they are, or use reshape on them in place of view"),
        Mistake(wrong.clears_slots,
                "Changes slots itself. The same tensor goes to every layer, and the next one would write the padding.",
                next="make a new tensor: slots[slots >= 0]"),
    ),
    hints=(
        "With blocks of 4 tokens, which block and which place in it is slot 14? And what does pool[-1] mean in Python?",
        "Choose the rows that are to be written first, real = slots >= 0, and use it on slots, key and value alike. A "
        "tensor of blocks and one of offsets together index one slot each.",
        "real = slots >= 0; block, offset = slots[real] // key_pool.shape[1], slots[real] % ...; key_pool[block, "
        "offset] = key[real]; the same for the values",
    ),
)
