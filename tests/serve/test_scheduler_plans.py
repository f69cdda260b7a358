"""Plans that do not go through: a request ends before its step, nobody carries one out, planning is interrupted."""

from __future__ import annotations

from kvlab.serve.policies import Policies, always_swap
from tests.serve.jobs import Served, alone

B = 4


def test_an_end_at_any_moment_gives_everything_back():
    for moment in range(14):
        served = Served(4, host=2, watermark=0, token_budget=5, policies=Policies(swap=always_swap))
        asks = [served.submit(B + 1, 7) for _ in range(3)]
        for _ in range(moment):
            served.step()
        for ask in asks:
            served.scheduler.end(ask)
            served.check()
            assert ask.state == "ended"
            served.scheduler.end(ask)  # again: nothing happens
        assert served.idle


def test_an_end_between_a_plan_and_its_execution_takes_the_job_out_of_the_plan_that_is_repeated():
    served = Served(9, token_budget=8)
    asks = [served.submit(3, 5) for _ in range(3)]
    served.step()
    plan = served.scheduler.schedule()
    served.scheduler.end(asks[0])
    again = served.scheduler.schedule()
    assert again is plan and asks[0] not in again.decoding and len(again.slots) == len(again.decoding)
    served.run()
    assert all(ask.tokens == alone(ask) for ask in asks[1:]) and served.idle


def test_a_plan_that_was_not_carried_out_is_given_again_and_takes_no_more_slots():
    served = Served(9)
    asks = [served.submit(3, 5) for _ in range(3)]
    served.step()
    plan = served.scheduler.schedule()
    used = served.manager.pool.num_free
    assert served.scheduler.schedule() is plan and served.manager.pool.num_free == used
    served.run()
    assert all(ask.tokens == alone(ask) for ask in asks)


def test_when_all_of_a_plan_have_ended_the_next_is_made_and_copies_to_the_host_are_not_forgotten():
    served = Served(4, host=4, watermark=0, policies=Policies(swap=always_swap))
    first, second = served.submit(B, 8), served.submit(B, 8)
    while True:
        plan = served.scheduler.schedule()
        if plan.swap_out:
            break
        served.execute(plan)
        served.scheduler.commit(plan)
        served.sample(plan)
    served.scheduler.end(first)
    served.run()
    assert second.tokens == alone(second) and served.idle


def test_planning_that_is_interrupted_anywhere_costs_time_and_no_token():
    for at in range(1, 25):
        served = Served(5, host=3, watermark=0, token_budget=6, policies=Policies(swap=always_swap))
        asks = [served.submit(B, 7) for _ in range(3)]
        calls, append_each, admit = iter(range(1, 10**6)), served.manager.append_each, served.manager.admit

        def interrupt(function, at=at, calls=calls):
            def call(*arguments):
                result = function(*arguments)
                if next(calls) == at:
                    raise KeyboardInterrupt
                return result

            return call

        served.manager.append_each, served.manager.admit = interrupt(append_each), interrupt(admit)
        while served.scheduler.has_work:
            try:
                served.step()
            except KeyboardInterrupt:
                pass
        assert all(ask.tokens == alone(ask) for ask in asks) and served.idle
