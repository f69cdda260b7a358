"""Lab 08: who runs in the next step, and how many tokens."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises import lab08_steps_mistakes as wrong

_D, _P, _W = "decoding", "prompt", "waiting"
_SHARES = "Gives prompts a share each. Then all of them take longer, and hold memory meanwhile."
_IN_ORDER = "the first in order gets all it has left, the next what remains"
_BUSY = [("ana", _D, 1), ("ben", _P, 300), ("carl", _D, 1), ("dora", _W, 50)]
_LATE = [("ana", _W, 20), ("ben", _P, 30), ("carl", _D, 1), ("dora", _P, 25)]
_LONG = [("ana", _P, 40), ("ben", _W, 10)]

SCHEDULE_STEP = Exercise(
    name="schedule_step", lab="08", part="kvlab.serve.schedule_step", stars=2, core=True, minutes=12,
    checks=(
        Cases("room for all", (_BUSY, 512), (_LONG, 50), ([("ana", _D, 1), ("ben", _D, 1)], 8),
              next="give each all tokens it has left, as far as the budget goes"),
        Cases("a prompt is cut", (_LONG, 30), (_LONG, 45), (_BUSY, 100), next="run what fits, and the rest next time"),
        Cases("running first", (_LATE, 20), (_LATE, 60), ([("ana", _P, 9), ("ben", _D, 1), ("carl", _D, 1)], 4),
              next="decoding, then prompts under way, then who waits"),
        Cases("little room", (_BUSY, 2), (_BUSY, 1), ([("ana", _D, 1), ("ben", _D, 1), ("carl", _D, 1)], 2),
              next="hand out budget tokens in all, and leave out who runs nothing"),
        Cases("nobody there", ([], 8), next="return {}"),
    ),
    mistakes=(
        Mistake(wrong.in_order_of_arrival,
                "Looks at the order of arrival alone. A long prompt takes the whole step, and all who decode stand "
                "still.", next="decoding first"),
        Mistake(wrong.prompts_first,
                "Gives prompts their tokens before those who decode. Every answer under way would stutter.",
                next="decoding first"),
        Mistake(wrong.new_before_under_way,
                "Begins new prompts before it ends those under way. More and more hold memory, and none gets an "
                "answer.", next="prompts under way before who waits"),
        Mistake(wrong.prompts_alike,
                "Treats prompts under way and waiting ones alike. Who has begun holds memory and should end first.",
                next="prompts under way before who waits"),
        Mistake(wrong.no_budget, "Does not look at the budget.", next="hand out at most budget tokens in all"),
        Mistake(wrong.overrun, "Overruns the budget: the last prompt runs whole. It must be cut to what is left.",
                next="min(left, budget)"),
        Mistake(wrong.not_cut,
                "Skips a prompt that is too long for the step. One longer than the budget would never run.",
                next="cut it: min(left, budget)"),
        Mistake(wrong.not_cut_and_stops,
                "Stops at a prompt that is too long for the step. One longer than the budget would never run.",
                next="cut it: min(left, budget)"),
        Mistake(wrong.decoding_is_free, "Does not count those who decode. Each of them runs a token too.",
                next="lower the budget for them as well"),
        Mistake(wrong.decoding_alone, "Runs no prompt while somebody decodes. Both can share a step.",
                next="give what is left to prompts"),
        Mistake(wrong.no_decoding_beside_prompts,
                "Lets nobody decode while there are prompts. A long one would stop every answer.",
                next="decoding first, in the same step"),
        Mistake(wrong.waits_for_all,
                "Begins a waiting prompt only if it fits whole. One longer than every step's rest would never begin.",
                next="cut it too: min(left, budget)"),
        Mistake(wrong.fair_shares, _SHARES, next=_IN_ORDER),
        Mistake(wrong.fair_shares_of_all, _SHARES, next=_IN_ORDER),
        Mistake(wrong.fair_shares_of_the_budget, _SHARES, next=_IN_ORDER),
        Mistake(wrong.all_who_decode,
                "Lets all who decode run, even if they are more than the budget. It holds for them too.",
                next="stop when budget tokens are handed out"),
        Mistake(wrong.nobody_new, "Never begins a request that waits.", next="give what is left to who waits"),
        Mistake(wrong.zeros_too, "Names some with 0 tokens. Only those that run any belong into the step.",
                next="leave out who runs nothing"),
        Mistake(wrong.budget_for_each, "Gives everybody the whole budget. It is for the step, all together.",
                next="lower the budget after each"),
        Mistake(wrong.names_alone, "Gives names. The step must also know how many tokens each runs.",
                next="return {name: tokens}"),
        Mistake(wrong.shortest_first, "Lets the shortest go first. A long prompt under way could wait for ever.",
                next="decoding, then prompts under way, then who waits"),
        Mistake(wrong.how_many, "Gives the sum. The step must know who runs how many.", next="return {name: tokens}"),
    ),
    hints=(
        "A prompt of 8,000 tokens arrives while 50 people read their answers. What do they see if it runs first?",
        "Go three times over the jobs: decoding, prompts, waiting. Each gets what it has left, or what the budget has "
        "left if that is less.",
        "for state in (...): for name, its, left in jobs: if its == state: count = min(left, budget) ...",
    ),
)
