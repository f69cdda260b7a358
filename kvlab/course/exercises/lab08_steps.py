"""Lab 08: who runs in the next step, and who must leave."""

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
_BUSY = [("ana", _D, 1), ("ben", _P, 300), ("carl", _D, 1), ("dora", _W, 50)]
_LATE = [("ana", _W, 20), ("ben", _P, 30), ("carl", _D, 1), ("dora", _P, 25)]
_LONG = [("ana", _P, 40), ("ben", _W, 10)]

SCHEDULE_STEP = Exercise(
    name="schedule_step", lab="08", part="kvlab.serve.schedule_step", stars=2, core=True, minutes=12,
    checks=(
        Cases("room for all", (_BUSY, 512), (_LONG, 50), ([("ana", _D, 1), ("ben", _D, 1)], 8),
              next="all tokens that are left"),
        Cases("a prompt is cut", (_LONG, 30), (_LONG, 45), (_BUSY, 100), next="run what fits, and the rest next time"),
        Cases("running first", (_LATE, 20), (_LATE, 60), ([("ana", _P, 9), ("ben", _D, 1), ("carl", _D, 1)], 4),
              next="decoding, then prompts under way, then who waits"),
        Cases("little room", (_BUSY, 2), (_BUSY, 1), ([("ana", _D, 1), ("ben", _D, 1), ("carl", _D, 1)], 2),
              next="leave out who runs nothing"),
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


def _last(running):
    return max(running, key=lambda job: job[1:])


def the_oldest(running, asks):
    return min(running, key=lambda job: job[1:])[0] if len(running) > 1 else None


def who_asks(running, asks):
    return asks if len(running) > 1 else None


def never_who_asks(running, asks):
    others = [job for job in running if job[0] != asks]
    return _last(others)[0] if others else None


def itself_if_alone(running, asks):
    return _last(running)[0]


def arrival_alone(running, asks):
    return max(running, key=lambda job: job[2])[0] if len(running) > 1 else None


def oldest_of_the_lowest(running, asks):
    return max(running, key=lambda job: (job[1], -job[2]))[0] if len(running) > 1 else None


def priority_turned(running, asks):
    return max(running, key=lambda job: (-job[1], job[2]))[0] if len(running) > 1 else None


def last_of_the_list(running, asks):
    return running[-1][0] if len(running) > 1 else None


def first_of_the_list(running, asks):
    return running[0][0] if len(running) > 1 else None


def by_name(running, asks):
    return max(job[0] for job in running) if len(running) > 1 else None


def whole_entry(running, asks):
    return _last(running) if len(running) > 1 else None


def oldest_by_arrival(running, asks):
    return min(running, key=lambda job: job[2])[0] if len(running) > 1 else None


_EQUAL = [("dora", 0, 3), ("ana", 0, 1), ("carl", 0, 2)]
_MIXED = [("eve", 0, 4), ("ana", 2, 1), ("carl", 2, 3), ("ben", 1, 5)]

CHOOSE_VICTIM = Exercise(
    name="choose_victim", lab="08", part="kvlab.serve.choose_victim", stars=1, core=True, minutes=8,
    checks=(
        Cases("the most recent", (_EQUAL, "ana"), (_EQUAL, "carl"), ([("zoe", 0, 7), ("ben", 0, 9)], "zoe"),
              invariant="I11", next="the largest arrival"),
        Cases("who asks may have to leave", (_EQUAL, "dora"), ([("zoe", 0, 7), ("ben", 0, 9)], "ben"), invariant="I11",
              next="it does not matter who asks"),
        Cases("priority", (_MIXED, "eve"), (_MIXED, "carl"), ([("ana", 5, 1), ("ben", 0, 2)], "ben"),
              ([("eve", 1, 4), ("ana", 0, 1), ("carl", 1, 2)], "ana"),
              next="the largest priority number first, then the largest arrival"),
        Cases("alone", ([("ana", 0, 1)], "ana"), ([("eve", 3, 8)], "eve"), invariant="I10",
              next="nobody can leave: return None"),
    ),
    mistakes=(
        Mistake(the_oldest,
                "The first in order leaves. It has the most work to lose, and would never end if it always had to.",
                next="the last in order"),
        Mistake(oldest_by_arrival,
                "The oldest leaves. It has the most work to lose, and would never end if it always had to.",
                next="the last in order"),
        Mistake(who_asks,
                "Whoever asks leaves. The oldest may ask, and it must go on, or nobody is sure ever to end.",
                next="it does not matter who asks"),
        Mistake(never_who_asks,
                "Spares whoever asks. If the most recent asks, an older one would leave for it.",
                next="it does not matter who asks"),
        Mistake(itself_if_alone,
                "One that is alone leaves for itself. It comes back, asks again, and leaves again, for ever.",
                invariant="I10", next="alone: return None"),
        Mistake(arrival_alone, "Looks at the arrival alone. The priority comes first.",
                next="compare (priority, arrival)"),
        Mistake(oldest_of_the_lowest, "Of equal priority, the oldest leaves. The most recent has the least to lose.",
                next="the largest arrival among them"),
        Mistake(priority_turned, "Takes a large number for a high priority. The smallest is served first.",
                next="the largest priority number leaves"),
        Mistake(last_of_the_list, "Takes the last of the list. Its order says nothing here.",
                next="compare (priority, arrival)"),
        Mistake(first_of_the_list, "Takes the first of the list. Its order says nothing here.",
                next="compare (priority, arrival)"),
        Mistake(by_name, "Compares names. What counts is (priority, arrival).", next="compare (priority, arrival)"),
        Mistake(whole_entry, "Gives the whole entry. The question is for the name.", next="return its name"),
    ),
    hints=(
        "Somebody loses work. Who has the least of it? And who must never lose any, so that at least one is sure to "
        "end?",
        "The last in order leaves: largest priority number, and among those the largest arrival. One alone has nobody "
        "who could leave for it.",
        "if len(running) < 2: return None; max(running, key=lambda job: (job[1], ...))[0]",
    ),
)
