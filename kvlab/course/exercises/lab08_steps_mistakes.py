"""`schedule_step` as beginners write it."""

from __future__ import annotations

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
