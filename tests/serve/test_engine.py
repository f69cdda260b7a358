"""The engine: the tokens of one-by-one generate() whatever arrives when, and no block kept in vain."""

from __future__ import annotations

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.serve.engine import Engine
from kvlab.serve.request import Generation
from kvlab.serve.sampling import Sampling
from tests.serve.models import greedy, prompt, tiny
from tests.serve.tiny_engine import ANSWERS, PROMPTS, engine, expected, idle


@functools.cache
def shared_engine() -> Engine:
    return engine(9)


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


def test_planning_is_timed_apart_and_tokens_are_counted():
    serving = engine()
    serving.submit(PROMPTS[5], 4)
    serving.run()
    assert serving.steps == 4 and serving.projected_tokens == len(PROMPTS[5]) + 3
    assert 0 < serving.planning_seconds < serving.step_seconds
