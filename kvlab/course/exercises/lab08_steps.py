"""Lab 08: who runs in the next step, and how many tokens."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake

_RANK = {"decoding": 0, "prompt": 1, "waiting": 2}


def _step(jobs, budget, key=lambda job: _RANK[job[1]], ask=lambda job: job[2], cut=True, count_all=True):
    """The right loop, with one thing done otherwise."""
    step = {}
    for job in sorted(jobs, key=key):
        count = ask(job)
        if count > budget and not cut:
            continue
        count = min(count, budget)
        if count > 0:
            step[job[0]] = count
            budget -= count if count_all or job[1] != "decoding" else 0
    return step


def in_order_of_arrival(jobs, budget):
    return _step(jobs, budget, key=lambda job: 0)


def prompts_first(jobs, budget):
    return _step(jobs, budget, key=lambda job: _RANK[job[1]] if job[1] != "decoding" else 3)


def new_before_under_way(jobs, budget):
    return _step(jobs, budget, key=lambda job: -_RANK[job[1]] if job[1] != "decoding" else -3)


def prompts_alike(jobs, budget):
    return _step(jobs, budget, key=lambda job: job[1] != "decoding")


def no_budget(jobs, budget):
    return {name: left for name, _, left in jobs}


def overrun(jobs, budget):
    step = {}
    for name, _, left in sorted(jobs, key=lambda job: _RANK[job[1]]):
        if budget > 0:
            step[name] = left
            budget -= left
    return step


def not_cut(jobs, budget):
    return _step(jobs, budget, cut=False)


def not_cut_and_stops(jobs, budget):
    step = {}
    for name, _, left in sorted(jobs, key=lambda job: _RANK[job[1]]):
        if left > budget:
            break
        step[name] = left
        budget -= left
    return step


def decoding_is_free(jobs, budget):
    return _step(jobs, budget, count_all=False)


def decoding_alone(jobs, budget):
    return _step([job for job in jobs if job[1] == "decoding"], budget)


def no_decoding_beside_prompts(jobs, budget):
    prompts = [job for job in jobs if job[1] != "decoding"]
    return _step(prompts or jobs, budget)


def nobody_new(jobs, budget):
    return _step([job for job in jobs if job[1] != "waiting"], budget)


def waits_for_all(jobs, budget):
    def ask(job):
        return job[2] if job[1] != "waiting" or job[2] <= _left(jobs, job, budget) else 0

    return _step(jobs, budget, ask=ask)


def _left(jobs, job, budget):
    """What those before `job` leave of the budget if a waiting request that does not fit whole runs nothing."""
    for other in sorted(jobs, key=lambda one: _RANK[one[1]]):
        if other is job:
            return budget
        budget -= min(other[2], budget) if other[1] != "waiting" or other[2] <= budget else 0
    return budget


def fair_shares(jobs, budget):
    prompts = [job for job in jobs if job[1] != "decoding"]
    share = (budget - len(jobs) + len(prompts)) // max(1, len(prompts))
    return _step(jobs, budget, ask=lambda job: min(job[2], max(share, 1)))


def fair_shares_of_all(jobs, budget):
    share = budget // max(1, len(jobs))
    return _step(jobs, budget, ask=lambda job: min(job[2], max(share, 1)))


def fair_shares_of_the_budget(jobs, budget):
    share = budget // max(1, sum(job[1] != "decoding" for job in jobs))
    return _step(jobs, budget, ask=lambda job: min(job[2], max(share, 1)))


def all_who_decode(jobs, budget):
    step = {name: 1 for name, state, _ in jobs if state == "decoding"}
    return step | _step([job for job in jobs if job[1] != "decoding"], budget - len(step))


def zeros_too(jobs, budget):
    return {job[0]: 0 for job in jobs} | _step(jobs, budget)


def budget_for_each(jobs, budget):
    return {name: min(left, budget) for name, _, left in jobs}


def names_alone(jobs, budget):
    return list(_step(jobs, budget))


def shortest_first(jobs, budget):
    return _step(jobs, budget, key=lambda job: job[2])


def how_many(jobs, budget):
    return sum(_step(jobs, budget).values())


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
        Mistake(in_order_of_arrival,
                "Looks at the order of arrival alone. A long prompt takes the whole step, and all who decode stand "
                "still.",
                next="decoding first"),
        Mistake(prompts_first,
                "Gives prompts their tokens before those who decode. Every answer under way would stutter.",
                next="decoding first"),
        Mistake(new_before_under_way,
                "Begins new prompts before it ends those under way. More and more hold memory, and none gets an "
                "answer.",
                next="prompts under way before who waits"),
        Mistake(prompts_alike,
                "Treats prompts under way and waiting ones alike. Who has begun holds memory and should end first.",
                next="prompts under way before who waits"),
        Mistake(no_budget, "Does not look at the budget.", next="hand out at most budget tokens in all"),
        Mistake(overrun, "Overruns the budget: the last prompt runs whole. It must be cut to what is left.",
                next="min(left, budget)"),
        Mistake(not_cut,
                "Skips a prompt that is too long for the step. One longer than the budget would never run.",
                next="cut it: min(left, budget)"),
        Mistake(not_cut_and_stops,
                "Stops at a prompt that is too long for the step. One longer than the budget would never run.",
                next="cut it: min(left, budget)"),
        Mistake(decoding_is_free, "Does not count those who decode. Each of them runs a token too.",
                next="lower the budget for them as well"),
        Mistake(decoding_alone, "Runs no prompt while somebody decodes. Both can share a step.",
                next="give what is left to prompts"),
        Mistake(no_decoding_beside_prompts,
                "Lets nobody decode while there are prompts. A long one would stop every answer.",
                next="decoding first, in the same step"),
        Mistake(waits_for_all,
                "Begins a waiting prompt only if it fits whole. One longer than every step's rest would never begin.",
                next="cut it too: min(left, budget)"),
        Mistake(fair_shares, _SHARES, next=_IN_ORDER),
        Mistake(fair_shares_of_all, _SHARES, next=_IN_ORDER),
        Mistake(fair_shares_of_the_budget, _SHARES, next=_IN_ORDER),
        Mistake(all_who_decode,
                "Lets all who decode run, even if they are more than the budget. It holds for them too.",
                next="stop when budget tokens are handed out"),
        Mistake(nobody_new, "Never begins a request that waits.", next="give what is left to who waits"),
        Mistake(zeros_too, "Names some with 0 tokens. Only those that run any belong into the step.",
                next="leave out who runs nothing"),
        Mistake(budget_for_each, "Gives everybody the whole budget. It is for the step, all together.",
                next="lower the budget after each"),
        Mistake(names_alone, "Gives names. The step must also know how many tokens each runs.",
                next="return {name: tokens}"),
        Mistake(shortest_first, "Lets the shortest go first. A long prompt under way could wait for ever.",
                next="decoding, then prompts under way, then who waits"),
        Mistake(how_many, "Gives the sum. The step must know who runs how many.", next="return {name: tokens}"),
    ),
    hints=(
        "A prompt of 8,000 tokens arrives while 50 people read their answers. What do they see if it runs first?",
        "Go three times over the jobs: decoding, prompts, waiting. Each gets what it has left, or what the budget has "
        "left if that is less.",
        "for state in (...): for name, its, left in jobs: if its == state: count = min(left, budget) ...",
    ),
)
