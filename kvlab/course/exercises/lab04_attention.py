"""Lab 04: attention of a flattened batch, through block tables."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab04_attention_mistakes as wrong
from kvlab.course.exercises import lab04_attention_slips as slip
from kvlab.course.exercises.lab04_attention_bench import Batch, random_batches, render, run
from kvlab.course.exercises.scenarios import corners, scenarios


def attends(name: str, *values: Batch, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


_HEADS = "let h // (heads // kv_heads) decide, as repeat_interleave does"
_OFFSET = "count query q's position as context_length - queries + q"
_CUT = "cut keys and values at the context length before anything is multiplied"

PAGED_ATTENTION: Any = Exercise(
    name="paged_attention", lab="04", part="kvlab.compute.paged_attention", stars=3, core=True, minutes=25,
    checks=(
        attends("one token", Batch(((8, 1),)), Batch(((1, 1),)),
                Batch(((12, 1),), key_dim=5, value_dim=5, block_size=3),
                next="gather keys and values, then softmax(query @ key * scale) @ value"),
        attends("a prompt", Batch(((4, 4),)), Batch(((8, 8),)), next="hide from each query the keys that come later"),
        attends("a chunk of a prompt", Batch(((8, 3),)), Batch(((12, 4),)), next=_OFFSET),
        attends("unused slots", Batch(((6, 2),)), Batch(((5, 1),), fill="1e4"), Batch(((7, 3),), fill="inf"),
                invariant="I6", next=_CUT),
        attends("shared KV heads", Batch(((8, 2),), heads=6, kv_heads=2), Batch(((5, 5),), heads=4, kv_heads=1),
                Batch(((4, 1),), heads=4, kv_heads=2), Batch(((7, 2),), heads=3, kv_heads=3), next=_HEADS),
        attends("side by side", Batch(((8, 3), (4, 1))), Batch(((7, 3), (4, 1), (9, 9), (2, 1)), heads=4),
                Batch(((6, 1), (3, 1), (9, 1))),
                next="use rows query_start[s] to query_start[s + 1] - 1, table s, length s"),
        attends("scale", Batch(((8, 2),), scale=1.0), Batch(((6, 3), (5, 1)), scale=0.25),
                next="multiply the scores by scale, and by head_dim ** -0.5 if it is None"),
        attends("exact multiples", Batch(((4, 1), (8, 4), (16, 2))), Batch(((2, 2), (4, 1)), block_size=2),
                invariant="I3", next="treat the exact multiple"),
        corners("context length 0", run, render, Batch(((0, 0), (5, 1))), Batch(((0, 1), (5, 2))),
                Batch(((3, 1), (0, 1))), Batch(((0, 1),)),
                next="give 0 where there is nothing to see, and keep every row in its place"),
        corners("large scores", run, render, Batch(((8, 2), (5, 1)), scale=0.5, large=True),
                next="use softmax, or take the largest score off before exp"),
        corners("values of another size", run, render, Batch(((6, 2), (4, 1)), key_dim=3, value_dim=5, heads=4),
                next="take the size of the output from value_pool.shape[-1]"),
        corners("queries from a transpose", run, render, Batch(((6, 2), (4, 1)), heads=4, strided=True),
                next="use reshape in place of view on what you are given"),
        corners("called by the engine", run, render,
                Batch(((6, 2), (9, 1)), heads=4, strided=True, scale=0.5, engine=True),
                next="keep **options in the signature; here they are all None"),
        Traces("random batches", random_batches, run, render=render, next="go through this batch by hand"),
    ),
    mistakes=(
        Mistake(wrong.no_mask, "Looks like no causal mask: each query of a prompt sees the tokens after it too.",
                next="hide later keys before the softmax"),
        Mistake(wrong.mask_without_offset,
                "Looks like a mask that begins at position 0. Queries are the last tokens of their context.",
                next=_OFFSET),
        Mistake(wrong.offset_from_the_batch,
                "Looks like the row in the batch for the position. A query's position counts in its own context.",
                next=_OFFSET),
        Mistake(wrong.hides_itself, "Looks like >= where > is meant: a token sees itself too.",
                next="hide keys at positions greater than the query's"),
        Mistake(wrong.sees_one_ahead, "Each query sees one token too many: the one that comes right after it.",
                next="hide keys at positions greater than the query's"),
        Mistake(wrong.mask_by_zero, "Sets hidden scores to 0. exp(0) is 1, so the softmax still gives them weight.",
                next="fill hidden scores with -inf before the softmax"),
        Mistake(wrong.mask_after_softmax, "Hides after the softmax. The weights that are left do not add up to 1.",
                next="fill hidden scores with -inf before the softmax"),
        Mistake(wrong.mask_upside_down, "Hides what came before, and shows what comes later.",
                next="turn the mask around"),
        Mistake(wrong.repeats_heads,
                "Looks like h % kv_heads, or repeat: query heads 0 and 1 read different KV heads. Neighbours share "
                "one.",
                next=_HEADS),
        Mistake(wrong.first_kv_head, "All query heads read KV head 0. Each group of neighbours has its own.",
                next=_HEADS),
        Mistake(wrong.heads_as_they_are,
                "Right while there are as many KV heads as query heads. Several query heads share one KV head.",
                next=_HEADS),
        Mistake(slip.no_scale,
                "Looks like scores without a scale. They grow with head_dim, and the softmax gets too sharp.",
                next="multiply the scores by head_dim ** -0.5 if scale is None"),
        Mistake(slip.ignores_scale, "Looks like head_dim ** -0.5 always. Some models pass a scale of their own.",
                next="use scale if it is not None"),
        Mistake(slip.scales_twice, "Looks like the scale is there twice, once on the queries and once on the scores.",
                next="multiply once"),
        Mistake(slip.divides_by_dim, "Looks like 1 / head_dim. The square root is missing.",
                next="use head_dim ** -0.5"),
        Mistake(slip.divides_by_scale, "Divides by the scale that is given. It is a factor: 0.5 makes scores smaller.",
                next="multiply by scale"),
        Mistake(slip.divides_by_either,
                "Divides by head_dim ** -0.5, which makes scores larger. The scale is a factor.",
                next="multiply by scale"),
        Mistake(slip.scales_in_place, "Scales the queries in place. The tensor is the caller's.",
                next="use query * scale, which makes a new tensor"),
        Mistake(slip.softmax_over_queries,
                "The softmax runs over the queries. Each query's weights over the keys must add up to 1.",
                next="use softmax(-1) on [heads, queries, keys]"),
        Mistake(slip.softmax_over_heads,
                "The softmax runs over the heads. Each query's weights over the keys must add up to 1.",
                next="use softmax(-1) on [heads, queries, keys]"),
        Mistake(slip.no_largest,
                "Looks like exp() of the scores as they are. Above 88 that is inf in float32, and inf / inf is nan.",
                next="use softmax, or take the largest score off before exp"),
        Mistake(slip.no_softmax, "Weighs the values with the scores themselves. The softmax makes weights of them.",
                next="use softmax(-1) on the scores"),
        Mistake(slip.keys_for_values, "Looks like key_pool twice. The output is a mean of values.",
                next="use value_pool"),
        Mistake(slip.masks_the_padding,
                "Hides what lies beyond the length, and still multiplies it: a weight of 0 times nan is nan.",
                invariant="I6", next=_CUT),
        Mistake(slip.reads_the_padding, "Reads whole blocks. Behind the last token lies whatever was there before.",
                invariant="I6", next=_CUT),
        Mistake(slip.whole_tables,
                "Reads the whole row of block_tables. Behind a sequence's own blocks it means nothing.",
                invariant="I6", next="keep the first ceil(length / block_size) entries"),
        Mistake(slip.longest_table,
                "Reads as many entries for everybody as the longest has. Behind one's own blocks they mean nothing.",
                invariant="I6", next="put a block that exists where a conversation has none"),
        Mistake(slip.one_block_too_many,
                "Looks like length // B + 1, which reads one entry more when the last block is exactly full.",
                invariant="I3", next="treat the exact multiple"),
        Mistake(slip.contiguous, "Looks like one piece from the first block on. The next block may be anywhere.",
                invariant="I4", next="gather through the table"),
        Mistake(slip.first_table,
                "Looks like table 0 for everybody. Each conversation has its own row of block_tables.",
                next="use block_tables[s]"),
        Mistake(slip.first_query_alone, "Only the first query of each conversation is answered.",
                next="take rows query_start[s] to query_start[s + 1] - 1"),
        Mistake(slip.row_per_conversation, "Looks like row s for conversation s. A prompt brings many rows.",
                next="take rows query_start[s] to query_start[s + 1] - 1"),
        Mistake(slip.context_zero_divides, "Context length 0 gives nan: the softmax of nothing but -inf is 0 / 0.",
                next="pass over conversations with nothing to look at; their output is 0"),
        Mistake(slip.skips_empty, "A conversation of length 0 is left out, and all rows behind it move up.",
                next="begin with zeros for all rows, and fill in the others"),
        Mistake(slip.heads_first, "Gives [heads, num_tokens, head_dim]. The rows of the batch come first.",
                next="turn the first two dimensions around at the end"),
        Mistake(slip.like_the_query,
                "Makes the output as large as the query. Values may have another head_dim than keys.",
                next="take the size of the output from value_pool.shape[-1]"),
        Mistake(slip.views_query,
                "view() needs a tensor that lies in memory in order. A model computes queries head by head.",
                next="use reshape in place of view on what you are given"),
        Mistake(slip.no_options,
                "The signature has lost **options. Models with windows or soft caps pass more than scale.",
                next="keep **options in the signature; here they are all None"),
    ),
    hints=(
        "A context of 10 tokens, and 3 queries: at which positions do they stand, and which keys does the first of "
        "them see?",
        "For each conversation: rows query_start[s] to query_start[s + 1] of the queries, its keys and values by "
        "gather_kv, each KV head repeated for its query heads; scores * scale, later keys at -inf, softmax over the "
        "keys, times values.",
        "position = torch.arange(length - queries, length); later = torch.arange(length) > position[:, None]; scores "
        "= (q @ k.transpose(1, 2) * scale).masked_fill(later, float('-inf')), all [heads, ...]; output[rows] = "
        "(scores.softmax(-1) @ v).transpose(0, 1)",
    ),
)
