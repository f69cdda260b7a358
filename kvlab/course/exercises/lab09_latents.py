"""Lab 09: latents on pages, from which keys and values of every head are made when they are needed."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab09_latents_mistakes as wrong
from kvlab.course.exercises.lab09_latents_bench import Step, random_steps, render, run, steps
from kvlab.course.exercises.scenarios import corners

_WRITE = "write torch.cat([latent, rotary], -1) into the slots"
_GATHER = "gather all length rows through the table, then cut them in two"
_KEYS = "a key is key_up[h] @ latent, and behind it the rotary key"
_VALUES = "a value is value_up[h] @ latent, without the rotary part"
_SCALE = "query.shape[-1] ** -0.5 if scale is None"
_MASK = "row sees itself, at length - new + row, and all before"

PAGE_LATENTS: Any = Exercise(
    name="page_latents", lab="09", part="kvlab.compute.page_latents", stars=3, core=True, minutes=25,
    checks=(
        steps("the first token", Step(1), Step(1, heads=3, value_dim=2), next=_WRITE),
        steps("a token after others", Step(6), Step(9, block_size=2), next=_GATHER),
        steps("a full block", Step(4), Step(8, heads=1), invariant="I3", next=_GATHER),
        steps("other sizes", Step(7, key_dim=2, rope_dim=4, value_dim=3, latent_dim=6), Step(5, rope_dim=1, heads=3),
              Step(3, latent_dim=2, block_size=1), next="take every size from the tensors"),
        steps("unused slots", Step(6, fill="inf"), Step(5, fill="1e4"), invariant="I6", next=_GATHER),
        steps("several new tokens", Step(4, 4), Step(7, 3), Step(9, 2, block_size=3), next=_MASK),
        corners("scale", run, render, Step(6, 2, scale=1.0), Step(5, scale=0.3), next=_SCALE),
        Traces("random steps", random_steps, run, render=render, next="go through this step by hand"),
    ),
    mistakes=(
        Mistake(wrong.rotary_first,
                "Writes the rotary key before the latent. Whoever reads the pool expects them the other way round.",
                next=_WRITE),
        Mistake(wrong.latents_alone, "Writes latents without rotary keys. Positions would be lost with the next step.",
                next=_WRITE),
        Mistake(wrong.slots_as_blocks, "Takes a slot for a block: pool[slot] is a whole block, and somebody else's.",
                next="view the pool as rows first: pool.view(-1, pool.shape[-1])[slots]"),
        Mistake(wrong.writes_nothing, "Attends rightly and writes nothing. The next token will look for this one.",
                next=_WRITE),
        Mistake(wrong.writes_later, "Attends before it writes. A token sees itself too.", next="write first"),
        Mistake(wrong.positions, "Reads the pool's first slots. Where the tokens lie stands in the table.",
                invariant="I4", next=_GATHER),
        Mistake(wrong.new_alone, "Attends over the new tokens alone. Those before are in the pool.", next=_GATHER),
        Mistake(wrong.whole_blocks, "Reads whole blocks. Behind the last token lies whatever was there before.",
                invariant="I6", next="cut to length"),
        Mistake(wrong.no_rotary, "The rotary part is missing in the scores: nobody knows who stands where.",
                next=_KEYS),
        Mistake(wrong.no_mask, "Looks like no causal mask: the first of several new tokens sees the ones after it.",
                next=_MASK),
        Mistake(wrong.mask_without_offset,
                "Looks like a mask that begins at position 0. Queries are the last tokens of their context.",
                next=_MASK),
        Mistake(wrong.sees_one_ahead, "Each query sees one token too many: the one that comes right after it.",
                next=_MASK),
        Mistake(wrong.hides_itself,
                "Each query sees one token too few: not itself. Then the first token of all sees nothing, and is nan.",
                next=_MASK),
        Mistake(wrong.heads_first, "Gives [heads, new, value_dim]. New tokens come first.",
                next="return [new, heads, value_dim]: transpose(0, 1)"),
        Mistake(wrong.rotary_before_the_key,
                "Puts the rotary key before the key. In the query it stands behind, so other numbers would meet.",
                next=_KEYS),
        Mistake(wrong.scale_of_rows,
                "Looks like the root of latent_dim + rope_dim, a row of the pool. Scores are of queries and keys.",
                next=_SCALE),
        Mistake(wrong.scale_of_keys_alone,
                "Looks like key_dim ** -0.5. A query has key_dim and rope_dim numbers, and all of them count.",
                next=_SCALE),
        Mistake(wrong.scale_of_latents, "Looks like latent_dim ** -0.5. Scores are products of queries and keys.",
                next=_SCALE),
        Mistake(wrong.ignores_scale, "Looks like the default always. Some models pass a scale of their own.",
                next="use scale if it is not None"),
        Mistake(wrong.no_scale, "Looks like scores without a scale.", next=_SCALE),
        Mistake(wrong.first_head,
                "Makes keys and values of head 0 for all heads. Each has its own key_up[h], value_up[h].", next=_KEYS),
        Mistake(wrong.latents_for_values, "Weighs the latents. Each head makes its values from them first, or last.",
                next=_VALUES),
    ),
    hints=(
        "Which two things does a token leave in the pool, and what has to be made of them before head h can compare "
        "its query with it?",
        "Write latent and rotary key side by side. Gather all rows through the table and cut them apart again. For "
        "head h a key is key_up[h] @ latent with the rotary key behind it, a value is value_up[h] @ latent. Then it is "
        "lab 04's attention.",
        'k = torch.einsum("hkc,tc->thk", key_up, latents), then cat with rotaries[:, None].expand(-1, heads, -1); '
        'v = torch.einsum("hvc,tc->thv", value_up, latents); scores = torch.einsum("nhd,thd->hnt", query, k) * scale',
    ),
)
