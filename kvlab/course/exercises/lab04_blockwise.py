"""Lab 04: the online softmax, block by block."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Property, Traces
from kvlab.course.exercises import lab04_blockwise_mistakes as wrong
from kvlab.course.exercises import lab04_blockwise_slips as slip
from kvlab.course.exercises.lab04_blockwise_bench import Walk, a_block_at_a_time, random_walks, render, run
from kvlab.course.exercises.scenarios import corners, scenarios


def walks(name: str, *values: Walk, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


_SHRINK = "multiply old sum and old output by exp(old largest - new largest)"
_LOG = "return largest + log(total)"
_HEADS = "let h // (heads // kv_heads) decide, as repeat_interleave does"

ATTEND_BLOCKWISE: Any = Exercise(
    name="attend_blockwise", lab="04", part="kvlab.compute.attend_blockwise", stars=3, core=True, minutes=20,
    checks=(
        walks("one block", Walk(4), Walk(1, block_size=1),
                next="start with one block: softmax of its scores, times its values"),
        walks("several blocks", Walk(8), Walk(12, key_dim=5, value_dim=5), Walk(8, scores="rising"),
                Walk(12, scores="falling"), next=_SHRINK),
        walks("partly filled block", Walk(3), Walk(10), Walk(6, fill="1e4"), Walk(9, fill="inf"), invariant="I6",
                next="read min(block_size, what is left) slots of the last block"),
        walks("stale entries", Walk(5, stale=True), Walk(8, stale=True), Walk(12, block_size=2, stale=True),
                invariant="I6", next="walk over ceil(length / block_size) entries, and no further"),
        walks("shared KV heads", Walk(7, heads=6, kv_heads=2), Walk(7, heads=4, kv_heads=1), Walk(5, heads=4),
                Walk(6, heads=3, kv_heads=3), next=_HEADS),
        walks("scale", Walk(7, scale=1.0), Walk(6, scale=0.25),
                next="multiply the scores by scale, by head_dim ** -0.5 if None"),
        corners("scores that fall far", run, render, Walk(8, scale=0.5, scores="plunging"),
                next="let the largest score never fall from block to block"),
        corners("scores far above 0", run, render, Walk(10, scale=0.5, scores="high"),
                next="take the largest score off before every exp"),
        corners("scores far below 0", run, render, Walk(10, scale=0.5, scores="low"),
                Walk(3, heads=4, scale=0.5, scores="low"), next="take the largest score off before every exp"),
        corners("length 0", run, render, Walk(0), Walk(0, stale=True, heads=4),
                next="treat length 0: output 0, log of the sum -inf"),
        corners("values of another size", run, render, Walk(7, heads=4, value_dim=5),
                next="take the output's size from value_pool.shape[-1]"),
        Property("a block at a time", a_block_at_a_time, next="use up each block before you read the next"),
        Traces("random lengths", random_walks, run, render=render, next="go through this walk by hand"),
    ),
    mistakes=(
        Mistake(wrong.no_rescale, "The largest score moves on, and what was summed before stays as large as it was.",
                next=_SHRINK),
        Mistake(wrong.rescales_sum_alone, "The sum shrinks with a new largest score, and the output does not.",
                next=_SHRINK),
        Mistake(wrong.rescales_output_alone, "The output shrinks with a new largest score, and the sum does not.",
                next=_SHRINK),
        Mistake(wrong.rescales_new_too,
                "The new block shrinks too. Its weights are relative to the new largest score already.", next=_SHRINK),
        Mistake(wrong.grows,
                "The factor for what was summed is exp(old - new), 0 in the first block. Without the exp, or as "
                "exp(new - old), it is infinite there. Old numbers must become smaller.", next=_SHRINK),
        Mistake(wrong.no_exp, "Multiplies by old - new as it is. The factor is exp(old - new): the exp is missing.",
                next=_SHRINK),
        Mistake(wrong.largest_falls,
                "The largest score may fall again from block to block, and exp(old - new) is infinite then.",
                next="keep the maximum of old and new"),
        Mistake(wrong.forgets_the_largest,
                "Takes each block's own largest score. Sums relative to different scores cannot be added.",
                next="take the larger of the largest so far and the block's"),
        Mistake(wrong.divides_in_the_loop,
                "Divides by the sum in every round, so what was divided once is divided again.",
                next="divide once, after the last block"),
        Mistake(wrong.divides_in_the_loop_too,
                "Divides by the sum in every round, so what was divided once is divided again.",
                next="divide once, after the last block"),
        Mistake(wrong.never_moves_the_largest,
                "The largest score so far stays -inf: each block throws away what was summed before it.",
                next="keep the new largest score for the next block"),
        Mistake(wrong.never_divides, "The output is never divided by the sum: its weights do not add up to 1.",
                next="divide once, after the last block"),
        Mistake(wrong.mean_of_blocks,
                "Looks like a softmax for each block, and their mean. A block with small scores must count less.",
                next="keep one sum over all blocks"),
        Mistake(wrong.largest_begins_at_zero,
                "Looks like a largest score that begins at 0. When all are far below, every exp is 0.",
                next="begin with -inf"),
        Mistake(wrong.no_largest, "Looks like exp() of the scores as they are. Above 88 that is inf in float32.",
                next="take the largest score off before every exp"),
        Mistake(wrong.one_largest_for_all,
                "Looks like one largest score for all heads. In a head whose scores are far lower every exp is 0.",
                next="keep one largest score a head"),
        Mistake(wrong.nan_for_nothing, "For length 0 the output is 0 / 0.",
                next="treat length 0: output 0, log of the sum -inf"),
        Mistake(wrong.zero_for_nothing,
                "For length 0 the log of the sum is not 0: the sum is 0, and the log of 0 is -inf.",
                next="give -inf for every head"),
        Mistake(slip.sum_without_log, "The second result is largest + sum. The log of the sum is asked.", next=_LOG),
        Mistake(slip.log_without_largest,
                "Gives log(total), and total is relative to the largest score. The log of the sum of exp(score) over "
                "all scores is largest + log(total).", next=_LOG),
        Mistake(slip.zeros_for_lse,
                "The second result is 0 everywhere. The log of the sum of exp(score) over all scores is largest + "
                "log(total).", next=_LOG),
        Mistake(slip.like_the_query,
                "Makes the output as large as the query. Values may have another head_dim than keys.",
                next="take the output's size from value_pool.shape[-1]"),
        Mistake(slip.largest_alone, "The second result is the largest score. Its sum is missing.", next=_LOG),
        Mistake(slip.sum_alone, "The second result is the sum relative to the largest score, and no log.", next=_LOG),
        Mistake(slip.log_of_largest_less, "The largest score has the wrong sign in the log of the sum.", next=_LOG),
        Mistake(slip.output_alone, "Gives the output alone. Lab 05 needs the log of the sum to join parts.", next=_LOG),
        Mistake(slip.lse_first, "Gives the log of the sum first. The output comes first.", next="turn the two around"),
        Mistake(slip.lse_kept_apart, "The log of the sum still has a dimension of size 1 at its end.",
                next="return one number a head: [heads]"),
        Mistake(slip.reads_whole_blocks,
                "Reads the last block whole. Behind the last token lies whatever was there before.", invariant="I6",
                next="read min(block_size, what is left) slots of the last block"),
        Mistake(slip.all_entries, "Walks over the whole table. Behind the blocks that are needed it means nothing.",
                invariant="I6", next="walk over ceil(length / block_size) entries"),
        Mistake(slip.drops_the_rest, "Looks like length // B blocks: the tokens of the last one are left out.",
                invariant="I3", next="round up"),
        Mistake(slip.one_block_too_many,
                "Looks like length // B + 1 blocks, one too many when the last block is exactly full.", invariant="I3",
                next="treat the exact multiple"),
        Mistake(slip.first_block_alone, "Reads the first block only.",
                next="walk over ceil(length / block_size) entries"),
        Mistake(slip.blocks_in_order,
                "Reads blocks 0, 1, 2 of the pool. Which are this sequence's stands in the table.", invariant="I4",
                next="read block table[i]"),
        Mistake(slip.repeats_heads,
                "Looks like h % kv_heads, or repeat: query heads 0 and 1 read different KV heads. Neighbours share "
                "one.", next=_HEADS),
        Mistake(slip.no_scale, "Looks like scores without a scale: they must be multiplied by it.",
                next="multiply by scale, by head_dim ** -0.5 if None"),
        Mistake(slip.ignores_scale, "Looks like head_dim ** -0.5 always. Some models pass a scale of their own.",
                next="use scale if it is not None"),
        Mistake(slip.scales_twice, "Looks like the scale is there twice.", next="multiply once"),
        Mistake(slip.keys_for_values, "Looks like key_pool twice. The output is a mean of values.",
                next="use value_pool"),
        Mistake(slip.gathers_everything,
                "The numbers are right, but the whole conversation is copied together first. That is the last "
                "exercise once more; here each block is read where it lies, and forgotten.",
                next="use up each block before you read the next"),
        Mistake(slip.keeps_all_scores,
                "The numbers are right, but all scores are kept until the end. Three things are enough: the largest, "
                "the sum, the output.", next="use up each block before you read the next"),
    ),
    hints=(
        "The first block's largest score is 2, and its sum is relative to that. The next block has a 5: by what must "
        "the old sum be multiplied, to be relative to 5?",
        "Begin with largest = -inf, sum = 0, output = 0. For each block: the new largest, shrink = exp(largest - new "
        "largest), weights = exp(scores - new largest); sum and output are multiplied by shrink, then the block is "
        "added. Divide once at the end.",
        "shrink = torch.exp(largest - higher); weights = torch.exp(scores - higher[:, None]); total = total * shrink "
        "+ weights.sum(1); output = output * shrink[:, None] + ...; at the end output / total[:, None], largest + "
        "total.log()",
    ),
)
