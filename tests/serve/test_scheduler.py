"""The scheduler, on integers: who runs, who is admitted, who must leave, and that nobody is forgotten."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import BlockManager
from kvlab.serve.policies import Cheaper, Policies, always_recompute, always_swap, by_priority
from kvlab.serve.scheduler import Scheduler, Stuck
from kvlab.serve.stores import PagedStore
from tests.serve.jobs import Ask, Served, alone, alone_together

B = 4


def rows(plan) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Who decodes, and (job, start, stop) of each chunk."""
    return [job.id for job in plan.decoding], [(chunk.job.id, chunk.start, chunk.stop) for chunk in plan.chunks]


def test_a_prompt_runs_in_chunks_of_the_budget_and_then_decodes():
    served = Served(10, token_budget=3)
    ask = served.submit(7, 3)
    assert [rows(served.step()) for _ in range(5)] == [
        ([], [(0, 0, 3)]), ([], [(0, 3, 6)]), ([], [(0, 6, 7)]), ([0], []), ([0], []),
    ]  # fmt: skip
    assert ask.tokens == alone(ask) and served.idle and not served.scheduler.has_work


def test_those_who_decode_come_first_and_prompts_share_what_is_left_in_order():
    served = Served(40, token_budget=6)
    for prompt in (2, 9, 3):
        served.submit(prompt, 9)
    assert rows(served.step()) == ([], [(0, 0, 2), (1, 0, 4)])
    assert rows(served.step()) == ([0], [(1, 4, 9)])
    assert rows(served.step()) == ([0, 1], [(2, 0, 3)])


def test_everybody_who_decodes_does_so_in_every_step_since_no_more_run_than_the_budget_has_tokens():
    served = Served(40, token_budget=3)
    for _ in range(5):
        served.submit(1, 4)
    assert rows(served.step()) == ([], [(0, 0, 1), (1, 0, 1), (2, 0, 1)])
    assert rows(served.step()) == ([0, 1, 2], [])


def test_nobody_is_admitted_unless_all_its_tokens_fit_at_once_however_small_the_chunks():
    served = Served(5, token_budget=2, watermark=0)
    asks = [served.submit(3 * B, 2), served.submit(3 * B, 2)]
    while served.scheduler.has_work:
        served.step()
        assert served.scheduler.num_running <= 1  # 4 blocks in the end, then 3 more: never both
    assert served.finished == asks and not served.scheduler.preemptions


def test_the_watermark_stays_free_when_somebody_is_admitted_beside_others_but_not_for_one_alone():
    served = Served(10, watermark=0.3)
    served.submit(4 * B, 3)
    served.submit(4 * B, 3)
    served.step()
    assert served.scheduler.num_running == 1  # 6 are free, 4 are needed, and 3 are to stay free
    served = Served(10, watermark=0.2)
    served.submit(4 * B, 3)
    served.submit(4 * B, 3)
    served.step()
    assert served.scheduler.num_running == 2
    lone = Served(4, watermark=0.5)
    ask = lone.submit(3 * B, B + 1)
    lone.run()
    assert ask.tokens == alone(ask)


def test_the_head_of_the_queue_is_not_overtaken_by_a_smaller_request():
    served = Served(6, watermark=0)
    served.submit(4 * B, 6)
    large, small = served.submit(5 * B, 1), served.submit(1, 1)
    served.run()
    assert [ask.id for ask in served.finished] == [0, large.id, small.id]


def test_the_most_recent_leaves_when_no_block_is_free_and_comes_back_before_those_behind_it():
    served = Served(4, watermark=0)
    asks = [served.submit(B, 6), served.submit(B, 6), served.submit(1, 1)]
    left = []
    while served.scheduler.has_work:
        plan = served.step()
        left += [job.id for job in plan.preempted]
        assert not (plan.preempted and plan.admitted)
    assert left == [1] or left == [2, 1] and served.scheduler.preemptions == len(left)
    assert [ask.tokens for ask in asks] == [alone(ask) for ask in asks] and served.idle


def test_by_priority_the_least_urgent_leaves_and_the_most_urgent_is_admitted_first():
    served = Served(6, watermark=0, max_running=2, policies=Policies(order=by_priority))
    low, high, middle = served.submit(B, 12, 2), served.submit(B, 12, 0), served.submit(B, 12, 1)
    served.step()
    assert {job.id for job in served.scheduler.running} == {high.id, middle.id}
    served.scheduler.max_running = 3
    served.run()
    assert served.finished[-1] is low and served.scheduler.preemptions > 0
    assert all(ask.tokens == alone(ask) for ask in (low, high, middle))


def test_a_victim_policy_that_picks_the_first_in_order_is_refused_by_number():
    served = Served(4, watermark=0, policies=Policies(victim=lambda running: running[0]))
    served.submit(B, 9)
    served.submit(B, 9)
    with pytest.raises(InvariantBroken, match="I11: request 0 is the first in order, and 1 others run"):
        served.run()


def test_another_victim_policy_is_followed():
    served = Served(6, watermark=0, policies=Policies(victim=lambda running: running[1]))
    asks = [served.submit(B, 9) for _ in range(3)]
    gone = []
    while served.scheduler.has_work:
        gone += [job.id for job in served.step().preempted]
    assert gone[0] == 1 and all(ask.tokens == alone(ask) for ask in asks)


def test_swapped_jobs_keep_their_tokens_and_go_on_decoding_without_running_them_again():
    served = Served(4, host=4, watermark=0, policies=Policies(swap=always_swap))
    asks = [served.submit(B, 8), served.submit(B, 8)]
    ran = 0
    while served.scheduler.has_work:
        ran += served.step().num_tokens
    assert served.scheduler.swaps == served.scheduler.preemptions > 0 and served.scheduler.recomputed_tokens == 0
    assert ran == sum(len(ask.prompt) + ask.answer - 1 for ask in asks)  # each token once
    assert all(ask.tokens == alone(ask) for ask in asks) and served.idle


def test_whether_to_swap_is_decided_by_the_two_costs():
    asked = []
    policy = Cheaper(lambda tokens: asked.append(tokens) or tokens * 1.0, lambda blocks: blocks * 3.0)
    assert policy(12, 3) and not policy(9, 3)
    served = Served(4, host=4, watermark=0, policies=Policies(swap=Cheaper(lambda tokens: 0.0, lambda blocks: 1.0)))
    served.submit(B, 8)
    served.submit(B, 8)
    served.run()
    assert served.scheduler.swaps == 0 < served.scheduler.preemptions


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


@pytest.mark.parametrize("swap", [always_recompute, always_swap])
def test_a_learners_manager_is_asked_for_one_token_after_the_other_and_all_come_out_the_same(swap):
    class Mine(BlockManager):
        asked = 0

        def append(self, seq_id, count=1):
            self.asked += 1
            return super().append(seq_id, count)

    served = Served(Mine(9, B), host=9, watermark=0, policies=Policies(swap=swap))
    asks = [served.submit(B, 7) for _ in range(3)]
    group = served.submit(6, 5, width=3)
    served.run()
    assert served.manager.asked and served.scheduler.preemptions and served.idle
    assert all(ask.tokens == alone(ask) for ask in asks)
    assert [job.tokens for job in group.group.jobs] == alone_together(group, 3, False)


def test_a_lone_request_that_cannot_go_on_is_named_with_both_numbers_and_nothing_changes():
    served = Served(2, watermark=0)
    ask = served.submit(2 * B - 1, 9)  # nobody looked whether it fits
    with pytest.raises(Stuck, match="request 0 is alone and needs 1 free blocks; 0 of all 2 are free") as refused:
        served.run()
    assert (refused.value.needed, refused.value.free, refused.value.there) == (1, 0, 2)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    served.check()
    with pytest.raises(Stuck):
        served.step()
    served.scheduler.end(ask)
    assert served.idle
    with pytest.raises(Stuck, match="needs 3 free blocks; 2 of all 2"):
        served.submit(2 * B + 1, 1)
        served.step()


def test_settings_that_could_never_run_anything_are_refused():
    store = PagedStore(BlockManager(4, B))
    for wrong in ({"max_running": 0}, {"token_budget": 0}, {"watermark": 1.0}, {"watermark": -0.1}):
        with pytest.raises(UsageError):
            Scheduler(store, **wrong)


def test_without_a_host_a_swap_is_refused_by_the_store_and_recomputed_by_the_scheduler():
    store = PagedStore(BlockManager(4, B))
    store.manager.admit("a", 5)
    with pytest.raises(OutOfBlocks, match="needed 2 free blocks, there were 0"):
        store.swap_out(["a"])
    served = Served(4, watermark=0, policies=Policies(swap=always_swap))
    asks = [served.submit(B, 8), served.submit(B, 8)]
    served.run()
    assert served.scheduler.swaps == 0 and all(ask.tokens == alone(ask) for ask in asks)


def test_schedule_can_be_read_aloud():
    for name in ("schedule", "_decode", "_admit", "_preempt"):
        assert len(inspect.getsource(getattr(Scheduler, name)).splitlines()) < 40
    assert "Ask" in repr(Ask(0, [1], 1))


def test_planning_and_simulating_load_neither_torch_nor_transformers():
    names = ("simulate", "sweep", "metrics", "scheduler", "stores", "costmodel")
    code = "import sys, " + ", ".join(f"kvlab.serve.{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not {name.split(".")[0] for name in done.stdout.split()} & {"torch", "transformers", "triton"}
