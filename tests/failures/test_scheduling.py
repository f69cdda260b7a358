"""Failures of other systems' schedulers that ours must not have (FAILURES.md F7, F8, F15-F18, F20)."""

from __future__ import annotations

import math
from time import process_time

import pytest

from kvlab.errors import OutOfBlocks
from kvlab.memory import BlockManager, HitRate, Swapper
from kvlab.serve.admission import NeverFits
from kvlab.serve.engine import Engine
from kvlab.serve.policies import Policies, always_swap
from kvlab.serve.sampling import Sampling
from kvlab.serve.scheduler import Stuck
from tests.serve.jobs import Served, alone
from tests.serve.models import greedy, prompt, tiny

B = 4
PROMPTS = [prompt(length, seed) for seed, length in enumerate([9, 5, 13, 7, 2])]
NEW = 10


def engine(num_blocks: int, **options) -> Engine:
    return Engine(tiny("llama"), num_blocks, B, checked=True, fill=math.nan, watermark=0, **options)


def expected() -> list[list[int]]:
    return [greedy(tiny("llama"), ids, NEW) for ids in PROMPTS]


def idle(serving: Engine) -> bool:
    host = serving.store.swapper
    on_host = 0 if host is None else host.host.num_blocks - host.host.num_free
    return not serving.has_work and serving.manager.pool.num_free == serving.num_blocks and not on_host


@pytest.mark.parametrize("kind", ["hash", "radix"])
def test_f7_what_a_preempted_request_finds_of_its_own_is_no_prefix_hit(kind):
    serving = engine(7, prefix=kind)
    asked = [serving.submit(ids, NEW) for ids in PROMPTS[:2]]  # nothing in common
    serving.run()
    assert serving.stats().preemptions > 0 and serving.hits == HitRate(len(PROMPTS[0]) + len(PROMPTS[1]), 0)
    assert [g.tokens for g in asked] == expected()[:2] and idle(serving)


@pytest.mark.parametrize("kind", ["hash", "radix"])
def test_f8_a_resumed_request_finds_generated_tokens_too_and_files_them(kind):
    serving = engine(12, prefix=kind)
    first = serving.submit(PROMPTS[0], NEW)
    while len(first.tokens) < 8:
        serving.step()
    serving.scheduler._recompute([first])  # it has to leave, with 16 tokens in 4 full blocks that nobody takes
    before = serving.projected_tokens
    serving.step()
    assert serving.projected_tokens - before == 1  # 16 of its 17 tokens are found: 9 of the prompt, 7 of the answer
    serving.run()
    second = serving.submit([*PROMPTS[0], *first.tokens], 1)
    serving.run()
    assert serving.hits.found == (len(PROMPTS[0]) + NEW - 1) // B * B
    assert first.tokens == expected()[0] and len(second.tokens) == 1


def test_f15_a_prompt_that_fits_the_model_but_never_the_pool_is_refused_when_submitted_and_later_ones_go_on():
    serving = engine(6)
    first = serving.submit(PROMPTS[0], NEW)
    with pytest.raises(NeverFits, match="may need 8 blocks of 4 slots .* there are 6 in all"):
        serving.submit(prompt(30), 3)
    last = serving.submit(PROMPTS[1], NEW)
    serving.run()
    assert [first.tokens, last.tokens] == expected()[:2] and idle(serving)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("budget", [6, 64])
@pytest.mark.parametrize("kind", [None, "hash", "radix"])
def test_f16_in_a_pool_that_preempts_again_and_again_outputs_are_those_of_one_alone(swap, budget, kind):
    policies = Policies(swap=always_swap) if swap else Policies()
    serving = engine(6, token_budget=budget, prefix=kind, host_blocks=9 * swap, policies=policies)
    asked = [serving.submit(ids, NEW) for ids in PROMPTS * 2]
    seen = {generation.id: [] for generation in asked}
    while serving.has_work:
        for generation in serving.step():
            seen[generation.id].append(generation.tokens[-1])
    stats = serving.stats()
    assert stats.preemptions > 3 and (stats.swaps > 0) == swap
    assert [g.tokens for g in asked] == expected() * 2 == list(seen.values()) and idle(serving)  # none twice, none lost
    assert all(len(g.tokens) == NEW and g.reason == "length" for g in asked)


def test_f16_sampled_answers_do_not_depend_on_preemption_either():
    setting, found = Sampling(temperature=1.3, seed=8), []
    for num_blocks in (60, 9):
        serving = engine(num_blocks, host_blocks=5, policies=Policies(swap=lambda tokens, blocks: tokens % 2 > 0))
        asked = [serving.sample(ids, 2, NEW, setting, eos=()) for ids in PROMPTS[:2]]
        singles = [serving.submit(ids, NEW, setting) for ids in PROMPTS]
        serving.run()
        found.append([[s.tokens for s in group.samples] for group in asked] + [g.tokens for g in singles])
        assert idle(serving) and (serving.stats().preemptions > 0) == (num_blocks == 9)
    assert found[0] == found[1]


@pytest.mark.parametrize("host_blocks", [0, 30])
def test_f16_beams_that_had_to_leave_find_what_they_would_have_found(host_blocks):
    policies, found = Policies(swap=always_swap), []
    for num_blocks in (80, 12):
        serving = engine(num_blocks, host_blocks=host_blocks, policies=policies)
        first = serving.submit(PROMPTS[2], NEW + 6)
        searches = [serving.beam(ids, 3, 6, eos=()) for ids in PROMPTS[:2]]
        serving.run()
        found.append([first.tokens, *(search.hypotheses[0].tokens for search in searches)])
        assert idle(serving) and (serving.stats().preemptions > 0) == (num_blocks == 12)
        assert bool(serving.stats().swaps) == (num_blocks == 12 and host_blocks > 0)
    assert found[0] == found[1]


def test_f17_a_lone_sequence_does_not_preempt_itself_for_ever_but_says_what_it_needs_and_what_there_is():
    serving = engine(5)
    generation = serving.submit(PROMPTS[0], NEW)
    serving.manager.admit("a guest", 2 * B)  # somebody holds blocks of whom the scheduler knows nothing
    began = process_time()
    with pytest.raises(Stuck, match="request 0 is alone and needs 1 free blocks; 0 of all 5 are free"):
        serving.run()
    assert process_time() - began < 20  # a second where nothing else runs
    serving.manager.free("a guest")
    serving.run()
    assert generation.tokens == expected()[0] and idle(serving)


@pytest.mark.parametrize("kind", ["hash", "radix"])
def test_f18_requests_whose_prefix_is_there_but_not_the_rest_hold_nothing_while_they_wait(kind):
    serving, stem = engine(8, prefix=kind), prompt(2 * B)
    serving.submit(stem, 1)
    serving.run()
    asked = [serving.submit([*stem, *prompt(3 * B, seed)], NEW) for seed in range(5)]  # 8 blocks each, 2 of them there
    while serving.has_work:
        serving.step()
        assert len(serving.manager) == len(serving.running)
    assert all(len(g.tokens) == NEW for g in asked) and idle(serving)


def test_f20_with_the_host_full_the_next_is_recomputed():
    serving = engine(8, host_blocks=3, policies=Policies(swap=always_swap))
    asked = [serving.submit(ids, NEW) for ids in PROMPTS * 2]
    serving.run()
    stats = serving.stats()
    assert 0 < stats.swaps < stats.preemptions and stats.recomputed_tokens > 0
    assert [g.tokens for g in asked] == expected() * 2 and idle(serving)
    served = Served(6, host=1, watermark=0, policies=Policies(swap=always_swap))  # the same on integers
    jobs = [served.submit(5, 9) for _ in range(4)]
    served.run()
    assert served.scheduler.swaps < served.scheduler.preemptions and served.idle
    assert all(job.tokens == alone(job) for job in jobs)


def test_f20_a_block_that_a_swapped_group_shares_is_copied_once_and_shared_again_afterwards():
    manager = BlockManager(12, B)
    manager.admit("stem", 2 * B + 1)
    manager.fork("stem", ["a", "b"])
    manager.free("stem")
    manager.append_each(["a", "b"])
    swapper = Swapper(manager, 4)
    assert len(swapper.swap_out(["a", "b"])) == 4 and swapper.host.num_free == 0  # 2 shared, one each
    assert len(swapper.swap_in(["a", "b"])) == 4
    assert manager.table("a")[:2] == manager.table("b")[:2] and manager.table("a")[2] != manager.table("b")[2]
    with pytest.raises(OutOfBlocks):
        Swapper(manager, 3).swap_out(["a", "b"])
    manager.check()
    serving = engine(9, host_blocks=9, policies=Policies(swap=always_swap))
    first, group = serving.submit(PROMPTS[0], 12), serving.sample(PROMPTS[2], 2, NEW, Sampling(1.1, seed=2), eos=())
    copied = []
    copy_out = serving._placement.host.copy_out
    serving._placement.host.copy_out = lambda pairs: copied.extend(pairs) or copy_out(pairs)
    serving.run()
    assert serving.stats().swaps >= 2 and len(copied) < 2 * 5 and len(first.tokens) == 12 and group.finished
