"""The engine: the tokens of one-by-one generate() whatever arrives when, and no block kept in vain."""

from __future__ import annotations

import functools
import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import Phi3Config, Phi3ForCausalLM

from kvlab.compute import paged_attention
from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import BlockManager, BlockPool
from kvlab.serve.admission import NeverFits
from kvlab.serve.engine import Engine
from kvlab.serve.request import Generation
from kvlab.serve.sampling import Sampling, sample
from tests.serve.models import COMMON, VOCAB, greedy, prompt, tiny

B = 4
PROMPTS = [prompt(length, seed) for seed, length in enumerate([1, 3, 4, 5, 8, 9, 13, 2])]
ANSWERS = [12, 1, 7, 3, 9, 2, 5, 12]


@functools.cache
def expected(name: str = "llama") -> list[list[int]]:
    return [greedy(tiny(name), ids, 12) for ids in PROMPTS]


def engine(num_blocks: int = 40, name: str = "llama", **options) -> Engine:
    return Engine(tiny(name), num_blocks, B, checked=True, fill=math.nan, **options)


@functools.cache
def shared_engine() -> Engine:
    return engine(9)


def idle(engine: Engine) -> bool:
    return not engine.has_work and engine.manager.pool.num_free == engine.num_blocks and len(engine.manager) == 0


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "deepseek_v3", "opt"])
@pytest.mark.parametrize("budget", [5, 512])
def test_tokens_are_those_of_one_by_one_generate(name, budget):
    serving = engine(name=name, token_budget=budget)
    asked = [serving.submit(torch.tensor(ids), answer) for ids, answer in zip(PROMPTS, ANSWERS, strict=True)]
    serving.run()
    for generation, want, answer in zip(asked, expected(name), ANSWERS, strict=True):
        assert generation.tokens == want[:answer] and generation.reason == "length"
    assert idle(serving)


@given(
    st.permutations(range(8)),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
    st.integers(1, 20),
    st.integers(1, 8),
    st.sets(st.integers(0, 7), max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_any_order_of_arrival_budget_and_abort_gives_the_same_tokens_from_a_tiny_pool(
    order, gaps, budget, most, aborted
):
    serving = shared_engine()  # 9 blocks: a request needs up to 4, so most of them wait
    serving.token_budget, serving.max_running = budget, most
    asked: dict[int, Generation] = {}
    for i, gap in zip(order, gaps, strict=True):
        asked[i] = serving.submit(PROMPTS[i], ANSWERS[i])
        for _ in range(gap):
            serving.step()
        if i in aborted:
            serving.abort(asked[i])
            serving.check()
    serving.run()
    for i, generation in asked.items():
        if i in aborted:
            assert generation.tokens == expected()[i][: len(generation.tokens)]
            assert generation.reason in ("aborted", "length")
        else:
            assert generation.tokens == expected()[i][: ANSWERS[i]]
    assert idle(serving)


def test_a_request_that_can_never_fit_is_refused_with_both_numbers_and_the_next_goes_on():
    serving = engine(3)
    with pytest.raises(
        NeverFits, match=r"may need 4 blocks of 4 slots \(9 \+ 5 tokens\), and there are 3 in all"
    ) as refused:
        serving.submit(prompt(9), 5)
    assert (refused.value.needed, refused.value.there) == (4, 3)
    fits = serving.submit(prompt(9), 4)  # 12 tokens have keys to keep: the last one sampled is never run
    serving.run()
    assert fits.tokens == greedy(tiny("llama"), prompt(9), 4) and idle(serving)


def test_a_request_longer_than_the_model_is_refused():
    with pytest.raises(NeverFits, match="257 positions of the model, and there are 256"):
        engine(100).submit(prompt(250), 8)


def test_positions_beyond_which_a_long_request_would_change_the_others_are_not_served():
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
    model = Phi3ForCausalLM(Phi3Config(**COMMON, original_max_position_embeddings=8, rope_parameters=rope))
    model.generation_config.eos_token_id = None
    serving = Engine(model.eval(), 20, B)
    with pytest.raises(NeverFits, match="9 positions of the model, and there are 8"):
        serving.submit(prompt(6), 4)
    generation = serving.submit(prompt(6), 3)
    serving.run()
    assert generation.tokens == greedy(model, prompt(6), 3)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (([], 4), "at least 1 token"),
        (([5], 0), "at least 1"),
        (([VOCAB], 1), f"from 0 to {VOCAB - 1}"),
        (([-1], 1), "token ids go from 0"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(arguments, says):
    with pytest.raises(UsageError, match=says):
        engine().submit(*arguments)


def test_two_requests_of_one_name_cannot_be_told_apart_and_the_second_is_refused():
    serving = engine()
    serving.submit([5], 4, request_id="a")
    with pytest.raises(UsageError, match="'a' is there already"):
        serving.submit([6], 4, request_id="a")
    serving.run()
    serving.submit([6], 4, request_id="a")


def test_requests_are_admitted_on_what_they_have_and_the_most_recent_leaves_when_that_was_too_many():
    serving = engine(6, watermark=0)
    first, second, third = serving.submit(prompt(5), 12), serving.submit(prompt(6), 11), serving.submit([5], 1)
    serving.step()
    assert serving.running == [first, second]  # 2 + 2 blocks do now, 4 + 4 may be needed; the third has ended already
    assert third.tokens == greedy(tiny("llama"), [5], 1)
    serving.run()
    assert serving.stats().preemptions and [len(g.tokens) for g in (first, second)] == [12, 11] and idle(serving)
    assert first.tokens == greedy(tiny("llama"), prompt(5), 12) and second.tokens == greedy(
        tiny("llama"), prompt(6), 11
    )


def test_eos_and_stop_sequences_end_an_answer_and_are_kept_in_it():
    want = expected()[4]
    serving = engine()
    by_eos = serving.submit(PROMPTS[4], 12, eos=[want[3]])
    by_stop = serving.submit(PROMPTS[4], 12, stop=[[VOCAB, 1], want[2:5]])
    plain = serving.submit(PROMPTS[4], 12)
    serving.run()
    assert (by_eos.tokens, by_eos.reason) == (want[: want.index(want[3]) + 1], "eos")
    assert (by_stop.tokens, by_stop.reason) == (want[:5], "stop")
    assert (plain.tokens, plain.reason) == (want, "length")


def test_the_end_token_of_the_models_own_settings_is_used_and_may_be_a_list():
    model = tiny("llama")
    model.generation_config.eos_token_id = [VOCAB - 1, expected()[0][2]]
    try:
        serving = engine()
        generation = serving.submit(PROMPTS[0], 12)
        serving.run()
    finally:
        model.generation_config.eos_token_id = None
    assert generation.reason == "eos" and generation.tokens[-1] == expected()[0][2]


def test_a_stream_yields_tokens_as_they_come_while_others_are_served_too():
    serving = engine()
    one, other = serving.submit(PROMPTS[0], 6), serving.submit(PROMPTS[4], 6)
    stream = serving.stream(one)
    assert [next(stream), next(stream)] == expected()[0][:2] and not one.finished and len(other.tokens) == 2
    assert list(stream) == expected()[0][2:6]
    assert list(serving.stream(one)) == expected()[0][:6]  # of a finished one: all of it
    assert list(serving.stream(other)) == expected()[4][:6]


def test_an_abort_frees_blocks_at_once_and_ends_a_stream():
    serving = engine()
    running, waiting = serving.submit(PROMPTS[5], 12), None
    serving.step()
    waiting = serving.submit(PROMPTS[4], 12)
    stream = serving.stream(running)
    next(stream)
    serving.abort(running)
    serving.abort(waiting)
    assert list(stream) == [] and running.reason == waiting.reason == "aborted" and idle(serving)
    serving.abort(running)
    assert serving.step() == []


def test_an_abort_while_the_model_runs_gives_no_further_token():
    serving = engine()
    aborted, other = serving.submit(PROMPTS[4], 2), serving.submit(PROMPTS[5], 6)
    serving.step()
    hook = tiny("llama").model.layers[0].register_forward_hook(lambda *_: serving.abort(aborted))
    try:
        serving.step()
    finally:
        hook.remove()
    assert (aborted.tokens, aborted.reason) == (expected()[4][:1], "aborted")
    serving.run()
    assert other.tokens == expected()[5][:6] and idle(serving)


def test_a_long_prompt_does_not_hold_up_those_who_decode():
    serving = engine(token_budget=2)
    decoding = serving.submit(PROMPTS[0], 6)
    serving.step()
    long = serving.submit(prompt(9), 2)
    for tokens in range(2, 7):
        serving.step()
        assert len(decoding.tokens) == tokens and long.computed == tokens - 1
    serving.run()
    assert idle(serving)


def test_a_request_that_ended_in_an_interrupted_step_takes_no_block_more(monkeypatch):
    serving, accept = engine(2), Generation.accept
    generation = serving.submit(prompt(2 * B), 1)

    def interrupted(*arguments):
        accept(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Generation, "accept", interrupted)
    with pytest.raises(KeyboardInterrupt):
        serving.step()
    assert serving.step() == [] and len(generation.tokens) == 1 and idle(serving)


def test_a_step_that_fails_loses_no_token_and_doubles_none():
    serving = engine()
    asked = [serving.submit(ids, 8) for ids in PROMPTS[2:6]]
    forward, calls = serving.paged.forward, random.Random(0)

    def unreliable(batch):
        if calls.random() < 0.4:
            raise KeyboardInterrupt
        return forward(batch)

    serving.paged.forward = unreliable
    while serving.has_work:
        try:
            serving.step()
        except KeyboardInterrupt:
            serving.check()
            if calls.random() < 0.3:  # meanwhile another comes, and the chunks are cut elsewhere
                serving.token_budget = calls.randint(3, 12)
    assert [g.tokens for g in asked] == [want[:8] for want in expected()[2:6]] and idle(serving)


@pytest.mark.parametrize("where", ["before a token", "after a token", "after sampling"])
def test_a_step_interrupted_anywhere_repeats_its_random_numbers_and_ends_where_it_should(monkeypatch, where):
    setting, serving, calls = Sampling(temperature=1.5, seed=3), engine(), random.Random(1)
    calm = engine()
    want = [calm.submit(ids, 6, setting) for ids in PROMPTS[2:5]]
    calm.run()
    asked = [serving.submit(ids, 6, setting) for ids in PROMPTS[2:5]]

    def unreliable(function, late):
        def call(*arguments):
            result = function(*arguments) if late else None
            if calls.random() < 0.3:
                raise KeyboardInterrupt
            return result if late else function(*arguments)

        return call

    if where == "after sampling":
        monkeypatch.setattr("kvlab.serve.outcome.sample", unreliable(sample, late=True))
    else:
        monkeypatch.setattr(Generation, "accept", unreliable(Generation.accept, late=where == "after a token"))
    interrupted = 0
    while serving.has_work:
        try:
            serving.step()
        except KeyboardInterrupt:
            interrupted += 1
            serving.check()
    assert interrupted and [g.tokens for g in asked] == [g.tokens for g in want] and idle(serving)


def test_a_manager_that_fails_to_admit_costs_no_request():
    class Moody(BlockManager):
        failed = False

        def admit(self, seq_id, num_tokens):
            if not self.failed:
                self.failed = True
                raise RuntimeError("not now")
            return super().admit(seq_id, num_tokens)

    serving = engine(manager=Moody(40, B))
    generation = serving.submit(PROMPTS[4], 5)
    with pytest.raises(RuntimeError, match="not now"):
        serving.step()
    serving.check()
    serving.run()
    assert generation.tokens == expected()[4][:5] and idle(serving)


def test_a_manager_of_other_blocks_than_the_pools_is_refused_with_both_sizes():
    for manager in (BlockManager(40, 8), BlockManager(41, B)):
        with pytest.raises(UsageError, match=r"the manager has 4[01] blocks of [84] slots, the engine 40 of 4"):
            engine(manager=manager)


def test_blocks_that_a_manager_cannot_give_are_not_counted_on():
    serving = engine(4, manager=BlockManager(BlockPool(4, null_block=True), B))
    with pytest.raises(NeverFits, match="may need 4 blocks .* there are 3"):
        serving.submit(prompt(9), 5)
    generation = serving.submit(prompt(9), 4)
    serving.run()
    assert generation.tokens == greedy(tiny("llama"), prompt(9), 4)


def test_a_number_that_a_caller_took_as_a_name_is_not_given_to_another():
    serving = engine()
    named = serving.submit([5], 2, request_id=0)
    assert [serving.submit([5], 2).id for _ in range(2)] == [1, 2] and named.id == 0
    with pytest.raises(TypeError, match="unhashable"):
        serving.submit([5], 2, request_id=[1])
    with pytest.raises(TypeError, match="integer"):
        serving.submit([5], 2.5)
    serving.run()
    assert idle(serving)


def test_end_tokens_and_stop_sequences_may_be_tensors():
    want = expected()[4]
    serving = engine()
    by_eos = serving.submit(PROMPTS[4], 12, eos=torch.tensor(want[:1]))
    by_stop = serving.submit(PROMPTS[4], 12, stop=[torch.tensor(want[:2])])
    serving.run()
    assert (by_eos.tokens, by_eos.reason) == (want[:1], "eos")
    assert (by_stop.tokens, by_stop.reason) == (want[: len(by_stop.tokens)], "stop") and len(by_stop.tokens) == 2


def test_a_request_of_another_engine_is_refused_and_not_waited_for():
    mine, other = engine(), engine()
    foreign = other.submit(PROMPTS[0], 3)
    for use in (lambda: next(mine.stream(foreign)), lambda: mine.abort(foreign)):
        with pytest.raises(UsageError, match="request 0 neither waits nor runs in this engine"):
            use()
    other.run()
    assert list(mine.stream(foreign)) == expected()[0][:3]  # it has ended: nothing has to be run


def test_seeded_sampling_is_reproducible_alone_and_in_company_and_seeds_differ():
    setting = Sampling(temperature=1.5, top_k=40, top_p=0.95, seed=3)
    alone, crowd = engine(), engine()
    first = alone.submit(PROMPTS[4], 12, setting)
    alone.run()
    others = [
        crowd.submit(ids, 12, Sampling(temperature=1.5, seed=i)) for i, ids in enumerate(PROMPTS[:4] + [PROMPTS[4]] * 3)
    ]
    again = crowd.submit(PROMPTS[4], 12, setting)
    crowd.run()
    assert first.tokens == again.tokens != expected()[4]
    assert len({tuple(g.tokens) for g in others[4:]}) == 3


def test_learners_attention_and_manager_can_stand_in():
    calls = []

    def mine(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale, window, softcap, sinks):
        calls.append(len(query))
        return paged_attention(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale=scale)

    class Mine(BlockManager):
        pass

    serving = Engine(tiny("llama"), 20, B, attention=mine, manager=Mine(20, B), checked=True)
    generation = serving.submit(PROMPTS[3], 5)
    serving.run()
    assert generation.tokens == expected()[3][:5] and calls[2:] == [5, 5, 1, 1, 1, 1, 1, 1, 1, 1]


class Forgetful(BlockManager):
    """Gives the slot after the last one, whatever the table says."""

    def slots(self, seq_id, start=0, stop=None):
        found = super().slots(seq_id, start, stop)
        return found[0] + torch.arange(len(found)).numpy() if len(found) else found


def test_with_checks_on_a_manager_that_gives_wrong_slots_is_caught():
    manager = Forgetful(20, B)
    for name in "abc":
        manager.admit(name, B)
    manager.free("a")
    manager.free("c")
    serving = Engine(tiny("llama"), 20, B, manager=manager, checked=True)
    serving.submit(PROMPTS[4], 2)
    with pytest.raises(InvariantBroken, match="I4"):
        serving.run()


def test_an_engine_that_could_never_run_anything_is_refused():
    for wrong in ({"max_running": 0}, {"token_budget": 0}):
        with pytest.raises(UsageError, match="at least 1 request and 1 token"):
            engine(**wrong)


def test_planning_is_timed_apart_and_tokens_are_counted():
    serving = engine()
    serving.submit(PROMPTS[5], 4)
    serving.run()
    assert serving.steps == 4 and serving.projected_tokens == len(PROMPTS[5]) + 3
    assert 0 < serving.planning_seconds < serving.step_seconds
