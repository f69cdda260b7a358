"""An engine that gives back what is behind sliding windows: the tokens of generate(), and a bound on what is held."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.memory import HybridManager, KVShape, blocks_needed
from kvlab.serve.admission import NeverFits
from kvlab.serve.engine import Engine
from tests.serve.models import CONFIGS, greedy, tiny
from tests.serve.windowed import NEW, PROMPTS, WINDOW, WINDOWED, B, engine, expected, idle

STEADY = blocks_needed(WINDOW - 1, B) + 1  # blocks that a window touches, wherever it lies


def manager(serving: Engine) -> HybridManager:
    assert isinstance(serving.manager, HybridManager)
    return serving.manager


def sliding(serving: Engine) -> list[int]:
    return [number for number, window in enumerate(manager(serving).windows) if window is not None]


@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("budget", [3, 16, 512])
def test_tokens_are_those_of_generate_and_sliding_layers_hold_no_more_than_their_window(name, budget):
    serving = engine(name, token_budget=budget, max_running=3)
    asked = [serving.submit(ids, NEW) for ids in PROMPTS]
    prefill, decode = blocks_needed(WINDOW + budget - 2, B) + 1, 0
    while serving.has_work:
        before = {one.id for one in serving.running if one.tokens}
        serving.step()
        for one in serving.running:
            if one.id not in manager(serving):
                continue
            held = manager(serving).num_held([one.id])
            for group in sliding(serving):
                assert held[group] <= prefill
                if one.id in before:
                    decode = max(decode, held[group])
            for group in set(range(len(held))) - set(sliding(serving)):
                assert held[group] == blocks_needed(manager(serving).num_tokens(one.id), B)
    assert [one.tokens for one in asked] == expected(name)
    assert decode == STEADY and idle(serving)


@pytest.mark.parametrize("name", WINDOWED)
def test_a_pool_too_small_for_all_preempts_and_the_tokens_stay_the_same(name):
    groups = len(sliding(engine(name)))
    full = len(engine(name).manager.groups) - groups
    blocks = 1 + full * blocks_needed(40 + NEW - 1, B) + groups * (blocks_needed(WINDOW + 6, B) + 1)
    serving = engine(name, blocks, token_budget=8)
    asked = [serving.submit(ids, NEW) for ids in PROMPTS]
    serving.run()
    assert [one.tokens for one in asked] == expected(name)
    assert serving.stats().preemptions > 0 and idle(serving)
    with pytest.raises(NeverFits):
        engine(name, blocks - 1, token_budget=8).submit(PROMPTS[4], NEW)


@functools.cache
def small_engine(name: str) -> Engine:
    return engine(name, 26, token_budget=8)


@given(
    st.sampled_from(["mistral", "gemma3"]),
    st.permutations(range(6)),
    st.lists(st.integers(0, 3), min_size=6, max_size=6),
    st.integers(1, 20),
    st.integers(1, 6),
    st.sets(st.integers(0, 5), max_size=2),
)
@settings(max_examples=12, deadline=None)
def test_any_order_of_arrival_budget_and_abort_gives_the_same_tokens(name, order, gaps, budget, most, aborted):
    serving = small_engine(name)
    serving.token_budget, serving.max_running = budget, most  # also a budget above the one that room was planned for
    asked = {}
    for i, gap in zip(order, gaps, strict=True):
        asked[i] = serving.submit(PROMPTS[i], NEW)
        for _ in range(gap):
            serving.step()
        if i in aborted:
            serving.abort(asked[i])
    serving.run()
    for i, one in asked.items():
        assert one.tokens == expected(name)[i] or i in aborted
    assert idle(serving)


def test_blocks_that_sliding_layers_give_back_serve_full_ones():
    """Gemma 3 has one pool: with a table for all layers, or a pool a kind, so few blocks would not do."""
    tokens = 40 + NEW - 1
    both = 2 * blocks_needed(tokens, B)
    serving = engine("gemma3", 1 + blocks_needed(tokens, B) + blocks_needed(WINDOW + 6, B) + 1, token_budget=8)
    asked = serving.submit(PROMPTS[4], NEW)
    seen: dict[int, set[int]] = {0: set(), 1: set()}
    while serving.has_work:
        serving.step()
        if asked.id in serving.manager:
            for group, table in enumerate(manager(serving).tables(asked.id)):
                seen[group] |= set(table) - {0}
    assert asked.tokens == expected("gemma3")[4]
    assert seen[0] & seen[1], "no block ever served both kinds of layers"
    assert serving.num_blocks < 0.75 * both


def test_a_block_is_one_groups_layers_so_the_pools_are_as_many_as_a_group_has():
    one, two = engine("gemma3").paged.cache, Engine(tiny("gemma3"), 60, B).paged.cache
    assert len(one) == 1 and len(two) == 2
    assert one.bytes_per_token * 2 == two.bytes_per_token


@pytest.mark.parametrize("name", WINDOWED)
def test_bytes_held_are_those_of_the_models_shape_and_at_most_a_block_or_two_more_a_group(name):
    """Counted from real pools: what the table of `KVShape.bytes_at` says, rounded to blocks."""
    serving, shape = engine(name), KVShape.from_config(tiny(name).config, bytes_per_number=4)
    asked = serving.submit(PROMPTS[4], NEW)
    block = B * serving.paged.cache.bytes_per_token
    while serving.has_work:
        serving.step()
        tokens = asked.computed
        if asked.id not in serving.manager or not asked.tokens[1:]:
            continue
        held = sum(manager(serving).num_held([asked.id])) * block
        assert shape.bytes_at(tokens) - len(manager(serving).groups) * block < held
        assert held <= shape.bytes_at(tokens) + 2 * len(manager(serving).groups) * block
        assert serving.stats().blocks - serving.stats().blocks_free == held // block
    assert shape.bytes_at(60) < shape.bytes_per_token * 60 / (1.7 if name != "mistral" else 9)


@pytest.mark.parametrize("name", sorted(set(CONFIGS) - set(WINDOWED)))
def test_a_model_without_windows_is_served_as_ever(name):
    serving = engine(name)
    asked = serving.submit(PROMPTS[1], 4)
    serving.run()
    assert asked.tokens == greedy(tiny(name), PROMPTS[1], 4)
    assert serving.manager.pool.num_free == serving.num_blocks and serving.paged.cache.num_blocks == 60
