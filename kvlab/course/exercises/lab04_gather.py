"""Lab 04: a conversation is read back through its block table."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab04_gather_mistakes as wrong
from kvlab.course.exercises.lab04_gather_bench import Read, random_reads, render, run
from kvlab.course.exercises.lab04_tensors import STALE
from kvlab.course.exercises.scenarios import corners, scenarios


def reads(name: str, *values: Read, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)

_BLOCKS = "Takes the table's entries for slots. They are blocks, and each block holds block_size slots."
_WHOLE = "index whole blocks, pool[blocks], then join and cut"
_COUNT = "Cuts to the number of blocks. The result has a row for each token."
_NOT_FULL = "The last block is not full: only what is left of `length` belongs into the result."
_LEFT = "copy only what is left of `length`, or join whole blocks and cut"
_FOUR = "Right for blocks of 4 only. Blocks of 2 here: block_size is pool.shape[1]."

GATHER_KV: Any = Exercise(
    name="gather_kv", lab="04", part="kvlab.compute.gather_kv", stars=2, core=True, minutes=10,
    checks=(
        reads("one block", Read((5,), 4), Read((2,), 4), next="read the block that the table names"),
        reads("order of the table", Read((5, 1, 6), 12), Read((7, 0), 8),
                next="go through the table from its first entry on, wherever the blocks lie"),
        reads("cut to the length", Read((5,), 3), Read((5, 1, 6), 10), Read((3, 1), 5), invariant="I6",
                next="cut what lies behind the last token: it is somebody's past"),
        reads("stale entries", Read((5, 1, *STALE), 6), Read((2, *STALE), 1), Read((5, 1, 3), 6), invariant="I6",
                next="count the blocks that hold `length` tokens, and read no entry behind them"),
        reads("exact multiple", Read((5, 1, *STALE), 8), Read((6, STALE[0]), 4), invariant="I3",
                next="treat the exact multiple"),
        corners("no tokens", run, render, Read((), 0), Read(STALE, 0),
                next="treat length 0: a tensor with no row, and the same other sizes"),
        reads("other sizes", Read((4, 0, 2), 5, blocks=5, block_size=2, kv_heads=3, dim=5),
                Read((1, 0, 2, 3), 4, blocks=4, block_size=1, kv_heads=1, dim=2),
                Read((1, 0), 17, blocks=2, block_size=16, dim=1), Read((1, 0), 40, blocks=3, block_size=32, dim=1),
                next="take every size from pool.shape"),
        Traces("random tables", random_reads, run, render=render, next="go through this table by hand"),
    ),
    mistakes=(
        Mistake(wrong.not_cut, "Gives all slots of the blocks. Behind the last token lies another conversation's past.",
                invariant="I6", next="cut the result to length"),
        Mistake(wrong.whole_table,
                "Reads the whole table. Behind the blocks that are needed stands what an earlier sequence left there.",
                invariant="I6", next="keep the first ceil(length / block_size) entries"),
        Mistake(wrong.whole_table_not_cut,
                "Reads every block of the table, whole. Neither the table nor the last block ends where the tokens do.",
                invariant="I6", next="count the blocks that hold length tokens, and cut the rest"),
        Mistake(wrong.rounds_down, "Looks like length // B, which forgets the last block when it is not full.",
                invariant="I3", next="round up"),
        Mistake(wrong.rounds_down_joined, "Looks like length // B, which forgets the last block when it is not full.",
                invariant="I3", next="round up"),
        Mistake(wrong.one_block_too_many,
                "Looks like length // B + 1, which reads one entry more when the last block is exactly full.",
                invariant="I3", next="treat the exact multiple"),
        Mistake(wrong.contiguous,
                "Looks like one piece from the first block on. The next block may be anywhere; only the table knows.",
                invariant="I4", next="look up the table for every block"),
        Mistake(wrong.positions, "Takes the pool's first slots. Where the tokens lie stands in the table.",
                invariant="I4", next="use the table"),
        Mistake(wrong.sorted_blocks,
                "Reads the right blocks, lowest first. The table's order is the order of the tokens.",
                next="keep the table's order: sorting or a mask of blocks loses it"),
        Mistake(wrong.boolean_mask,
                "Reads the right blocks, lowest first. The table's order is the order of the tokens.",
                next="keep the table's order: sorting or a mask of blocks loses it"),
        Mistake(wrong.blocks_as_slots,
                "Takes a block's number for its first slot. Block 5 begins at slot 5 * block_size.",
                next="multiply by block_size, or index whole blocks"),
        Mistake(wrong.table_of_slots, _BLOCKS, next=_WHOLE),
        Mistake(wrong.needed_table_of_slots, _BLOCKS, next=_WHOLE),
        Mistake(wrong.cut_at_blocks, _COUNT, next="cut to `length`"),
        Mistake(wrong.whole_table_cut_at_blocks, _COUNT, next="cut to `length`"),
        Mistake(wrong.last_block_is_full, _NOT_FULL, invariant="I6", next=_LEFT),
        Mistake(wrong.last_block_is_full_too, _NOT_FULL, invariant="I6", next=_LEFT),
        Mistake(wrong.not_flattened,
                "The blocks are there, one after another, and still apart: [blocks, block_size, ...].",
                next="join the first two dimensions, then cut to length"),
        Mistake(wrong.list_of_blocks, "Gives a list of blocks. Attention wants one tensor of tokens.",
                next="join them with torch.cat, or index the pool with all blocks at once"),
        Mistake(wrong.offsets_first,
                "Takes the first slot of each block, then the second. Blocks come whole, one by one.",
                next="join the dimensions block and offset, in this order"),
        Mistake(wrong.cats_nothing, "Right for every length but 0: torch does not join an empty list of tensors.",
                next="treat length 0, or index with a tensor of blocks, which may be empty"),
        Mistake(wrong.stacks_nothing, "Right for every length but 0: torch does not join an empty list of tensors.",
                next="treat length 0, or index with a tensor of blocks, which may be empty"),
        Mistake(wrong.float_table,
                "Right for every length but 0: torch.tensor([]) is a tensor of floats, and a float is no index.",
                next="say what the tensor holds: dtype=torch.int64"),
        Mistake(wrong.one_short, "Cuts one token too much: the first `length` tokens are [:length].",
                next="cut at length"),
        Mistake(wrong.cuts_every_block, "Cuts every block as the last one. All others are full.",
                next="join the blocks first, then cut once"),
        Mistake(wrong.blocks_of_sixteen, "Right for blocks of 16 only. The block size is pool.shape[1].",
                next="take every size from pool.shape"),
        Mistake(wrong.blocks_of_four, _FOUR, next="take every size from pool.shape"),
        Mistake(wrong.slots_of_four, _FOUR, next="take every size from pool.shape"),
        Mistake(wrong.pops_the_table,
                "Takes the blocks out of the table. It belongs to the sequence, which is still running.",
                next="read the entries and leave them there"),
        Mistake(wrong.one_head, "Gives one head of each token. A token has kv_heads of them.", next="keep all heads"),
        Mistake(wrong.flattens_all, "Joins the heads of each token too. They stay apart: [length, kv_heads, head_dim].",
                next="join the first two dimensions alone"),
    ),
    hints=(
        "How many blocks hold 10 tokens at 4 a block, and what lies in the last two slots of the third?",
        "Index the pool with a tensor of the blocks that are needed: the result has them side by side, in that order. "
        "Then join block and offset to one dimension.",
        "blocks = torch.tensor(table[: -(-length // pool.shape[1])], dtype=torch.int64); pool[blocks].flatten(0, "
        "1)[...]",
    ),
)
