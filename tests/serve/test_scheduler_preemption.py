"""The scheduler when memory is short: who must leave, to the host or to be computed again, and who comes back first."""

from __future__ import annotations

import pickle

import pytest

from kvlab.errors import InvariantBroken, OutOfBlocks
from kvlab.memory import BlockManager
from kvlab.serve.policies import Cheaper, Policies, always_recompute, always_swap, by_priority
from kvlab.serve.scheduler import Stuck
from kvlab.serve.stores import PagedStore
from tests.serve.jobs import Served, alone, alone_together

B = 4


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


def test_without_a_host_a_swap_is_refused_by_the_store_and_recomputed_by_the_scheduler():
    store = PagedStore(BlockManager(4, B))
    store.manager.admit("a", 5)
    with pytest.raises(OutOfBlocks, match="needed 2 free blocks, there were 0"):
        store.swap_out(["a"])
    served = Served(4, watermark=0, policies=Policies(swap=always_swap))
    asks = [served.submit(B, 8), served.submit(B, 8)]
    served.run()
    assert served.scheduler.swaps == 0 and all(ask.tokens == alone(ask) for ask in asks)
