"""The engine with prefix sharing: the same tokens as without (I12), computed once, from pools that forget."""

from __future__ import annotations

import functools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import INDEXES, HitRate
from kvlab.models import load_courier
from kvlab.serve.engine import Engine
from kvlab.serve.ordering import LongestPrefixFirst
from kvlab.serve.sampling import Sampling
from tests.serve import shared_stem
from tests.serve.models import greedy, prompt, tiny
from tests.serve.shared_stem import NEW, PROMPTS, STEM, B, engine, expected
from tests.serve.tiny_engine import idle

kind = shared_stem.kind  # the fixture: each index by its name


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "deepseek_v3", "opt"])
@pytest.mark.parametrize("together", [True, False])
def test_tokens_are_those_of_generate_whether_prompts_are_found_or_computed_at_the_same_time(kind, name, together):
    serving = engine(kind, name=name, token_budget=9 if together else 512)
    for _ in range(2):
        asked = []
        for ids in PROMPTS:
            asked.append(serving.submit(ids, NEW))
            if not together:
                serving.run()
        serving.run()
        assert [generation.tokens for generation in asked] == expected(name)
    assert idle(serving) and serving.hits.found > 0


@given(
    st.lists(st.tuples(st.integers(0, len(PROMPTS) - 1), st.integers(0, 4), st.booleans()), min_size=1, max_size=14),
    st.integers(1, 20),
    st.integers(1, 6),
    st.sampled_from(["hash", "radix"]),
    st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_any_order_of_arrival_and_abort_gives_the_same_tokens_from_a_pool_that_forgets(
    arrivals, budget, most, index, ordered
):
    serving = forgetful(index, ordered)
    serving.token_budget, serving.max_running = budget, most
    asked = []
    for number, gap, aborted in arrivals:
        asked.append((serving.submit(PROMPTS[number], NEW), number))
        for _ in range(gap):
            serving.step()
        if aborted:
            serving.abort(asked[-1][0])
            serving.check()
    serving.run()
    for generation, number in asked:
        want = expected()[number]
        assert generation.tokens == (want if generation.reason == "length" else want[: len(generation.tokens)])
    assert idle(serving)


@functools.cache
def forgetful(index: str, ordered: bool) -> Engine:
    """A pool of 8 blocks that lives through all examples: a request needs up to 6."""
    return engine(index, 8, order=LongestPrefixFirst(2) if ordered else None)


def test_only_what_is_not_found_is_computed(kind):
    serving = engine(kind)
    for ids in (STEM, STEM, [*STEM, 5, 6]):
        before = serving.projected_tokens
        serving.submit(ids, 1)
        serving.run()
        found = 0 if not before else len(STEM) // B * B
        assert serving.projected_tokens - before == len(ids) - found
    assert serving.hits == HitRate(3 * len(STEM) + 2, 2 * (len(STEM) // B * B))


def test_what_is_shared_is_taken_once_so_more_requests_run_at_once(kind):
    prompts = [[*STEM[:12], token] for token in range(10, 16)]
    running = []
    for prefix in (None, kind):
        serving = engine(prefix, 9, watermark=0)  # each needs 4 blocks, of which 3 are the same
        first = serving.submit(prompts[0], 3)
        serving.step()
        asked = [first, *(serving.submit(ids, 3) for ids in prompts[1:])]
        serving.step()
        running.append(len(serving.running))
        serving.run()
        assert [g.tokens for g in asked] == [greedy(tiny("llama"), ids, 3) for ids in prompts] and idle(serving)
    assert running == [2, 6]


def test_requests_with_another_tag_share_nothing(kind):
    serving = engine(kind)
    for tag in ((), ("X", None), (None, "X"), ("X", None)):
        generation = serving.submit(STEM, NEW, tag=tag)
        serving.run()
        assert generation.tokens == expected()[2]
    assert serving.hits.found == 12
    with pytest.raises(UsageError, match="a tag is a tuple"):
        serving.submit(STEM, NEW, tag="X")


@pytest.mark.parametrize("num_blocks, one_by_one", [(14, False), (60, False), (20, True)])
def test_samples_and_beams_are_the_same_with_and_without(kind, num_blocks, one_by_one):
    setting, results = Sampling(temperature=1.2, seed=5), []
    for prefix in (None, kind):
        serving = engine(prefix, num_blocks)
        asked = []
        for ids in (STEM[:9], STEM, STEM[:8], STEM):
            asked.append((serving.sample(ids, 3, NEW, setting), serving.beam(ids, 2, NEW)))
            if one_by_one:
                serving.run()
        serving.run()
        results.append([([s.tokens for s in samples.best], beam.hypotheses[0].tokens) for samples, beam in asked])
        assert idle(serving)
    assert results[0] == results[1] and serving.hits.found >= 8 * one_by_one


def test_the_longest_prefix_goes_first_where_that_is_asked_for(kind):
    serving = engine(kind, order=LongestPrefixFirst(), max_running=1)
    serving.submit(STEM, 1)
    serving.run()
    short, stranger, long = (serving.submit(ids, 2) for ids in (STEM[:5], prompt(9, 9), STEM))
    admitted = []
    while serving.has_work:
        serving.step()
        admitted += [g for g in (short, stranger, long) if g.tokens and g not in admitted]
    assert admitted == [long, short, stranger] and idle(serving)


def test_courier_says_the_same_in_chats_with_sharing_on_or_off_from_a_small_pool():
    model, tokenizer = load_courier()
    chats = ["Where is my order?", "Who brings it?", "What did I order?"]
    system = tokenizer("You are Courier, the support assistant of a food delivery app.")["input_ids"]
    answers = []
    for prefix in (None, *INDEXES):
        serving = Engine(model, 24, 8, prefix=prefix, checked=True, fill=math.nan, token_budget=24)
        said = [[*system, *tokenizer(chat)["input_ids"]] for chat in chats]
        for _ in range(3):
            asked = [serving.submit(ids, 8, eos=()) for ids in said]
            serving.run()
            said = [[*ids, *g.tokens, *tokenizer("Thanks.")["input_ids"]] for ids, g in zip(said, asked, strict=True)]
        answers.append(said)
        assert idle(serving) and (serving.hits.found > 0) == (prefix is not None)
    assert answers[0] == answers[1] == answers[2]
