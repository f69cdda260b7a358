"""Lab 03: a sequence grows, and takes a block only when its last one is full."""

from __future__ import annotations

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab03_append_mistakes as wrong
from kvlab.course.exercises.append_model import random_arrivals, render, run
from kvlab.course.exercises.scenarios import scenarios

APPEND_TOKENS = Exercise(
    name="append_tokens", lab="03", part="kvlab.memory.append_tokens", stars=3, core=True, minutes=15,
    checks=(
        scenarios("first tokens", run, render, (4, (7, 2, 5), (3,)), (4, (7, 2, 5), (1,)),
                  next="take the blocks that are missing and extend the table in place"),
        scenarios("partly filled block", run, render,
                  (4, (7, 2, 5), (3, 1)), (4, (7, 2, 5), (2, 1)), (4, (7, 2, 5), (3, 2)),
                  next="fill the last block before you take a new one"),
        scenarios("exact multiple", run, render, (4, (7, 2, 5), (4,)),
                  (4, (7, 2, 5), (4, 1)), (4, (7, 2, 5), (4, 4)), (2, (6, 3, 1), (1, 1, 1, 1)),
                  next="treat the exact multiple"),
        scenarios("several blocks", run, render, (4, (7, 2, 5), (10,)), (4, (9, 0, 6), (3, 6)), (1, (4, 0, 2), (2, 1)),
                  next="look up the table for every token"),
        scenarios("no new tokens", run, render, (4, (7, 2), (0,)), (4, (7, 2), (3, 0, 1)), (4, (7, 2), (4, 0, 4)),
                  next="treat 0 new tokens"),
        scenarios("refusal", run, render,
                  (4, (7, 2), (9,)), (4, (7, 2), (3, 6)), (4, (7, 2), (5, 4, 3)), (4, (7, 2), (8, 1)),
                  next="let the pool refuse before you change the table"),
        Traces("random arrivals", random_arrivals, run, render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(wrong.contiguous,
                "Looks like previous slot + 1. At the end of a block the next token is in another block, anywhere.",
                invariant="I4", next="look up the table for every token"),
        Mistake(wrong.new_blocks_each_time,
                "Takes blocks for the new tokens alone. The last block may have room for some of them.",
                next="count the blocks for old and new tokens together"),
        Mistake(wrong.one_block_a_token, "Takes a block for every token. A block has room for block_size of them.",
                next="count blocks, not tokens"),
        Mistake(wrong.one_too_early,
                "Looks like n // B + 1: it takes a block although the last one is exactly full and nothing needs it "
                "yet.",
                next="treat the exact multiple"),
        Mistake(wrong.one_too_late, "Looks like n // B: the tokens after the last full block have no block.",
                next="round up"),
        Mistake(wrong.new_list, "Makes a new list. The caller keeps the old one, and the blocks are lost.",
                next="use table.extend(...) or +="),
        Mistake(wrong.nested, "Appends the list of blocks as one entry. The table is a flat list of block numbers.",
                next="use extend in place of append"),
        Mistake(wrong.one_by_one, "Takes blocks one by one. When the pool refuses, the table has grown already.",
                next="take all missing blocks in one call"),
        Mistake(wrong.one_by_one_kept_aside,
                "Takes blocks one by one. When the pool refuses, those it got are in nobody's table.",
                next="take all missing blocks in one call"),
        Mistake(wrong.swallows,
                "Catches OutOfBlocks and returns an empty list. The caller would believe that all went well.",
                next="let the exception pass"),
        Mistake(wrong.returns_none_on_refusal,
                "Catches OutOfBlocks and returns None. The caller would believe that all went well.",
                next="let the exception pass"),
        Mistake(wrong.returns_table, "Returns the table. The question is for the slots of the new tokens.",
                next="return slots"),
        Mistake(wrong.returns_new_blocks,
                "Returns the blocks it took. The question is for the slots of the new tokens.", next="return slots"),
        Mistake(wrong.all_slots, "Returns the slots of all tokens. The question is for the new ones.",
                next="begin at num_tokens"),
        Mistake(wrong.from_slot_zero,
                "Returns the slots of the first tokens. The new ones come after num_tokens others.",
                next="begin at num_tokens"),
        Mistake(wrong.positions,
                "Returns the tokens' positions. Their slots depend on where the table puts their blocks.",
                invariant="I4", next="use the table"),
        Mistake(wrong.last_slot, "Returns one slot. Several tokens may arrive at once, and each has a slot.",
                next="return one slot a token"),
        Mistake(wrong.front, "Puts the new blocks at the front. The table goes from the first token to the last.",
                next="add at the end"),
    ),
    hints=(
        "Blocks of 4, 3 tokens in the table, and 2 more arrive: how many blocks must there be afterwards, and how "
        "many are there?",
        "Missing blocks = blocks for old and new tokens together, less the entries of the table. Take them in one "
        "call, extend the table, "
        "and then look up the slots.",
        "missing = blocks_needed(num_tokens + new_tokens, block_size) - len(table); table.extend(pool.take(...)); "
        "return slot_mapping(table, num_tokens, ..., block_size)",
    ),
)
