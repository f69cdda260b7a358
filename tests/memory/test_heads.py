"""Heads over ranks: who has which, what a token costs on each, and what cannot be divided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import PRESETS, KVShape, kv_heads_per_rank, rank_shape, shard_heads


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((4, 2, 1), [([0, 1, 2, 3], [0, 1], 1)]),
        ((4, 2, 2), [([0, 1], [0], 1), ([2, 3], [1], 1)]),
        ((4, 2, 4), [([0], [0], 2), ([1], [0], 2), ([2], [1], 2), ([3], [1], 2)]),
        ((8, 4, 2), [([0, 1, 2, 3], [0, 1], 1), ([4, 5, 6, 7], [2, 3], 1)]),
        ((4, 1, 2), [([0, 1], [0], 2), ([2, 3], [0], 2)]),
    ],
)
def test_heads_of_small_models_over_one_two_and_four_ranks(sizes, expected):
    assert shard_heads(*sizes) == expected


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 24))
def test_every_query_head_lies_on_one_rank_beside_the_kv_head_that_it_reads(kv_heads, group, ranks):
    heads = kv_heads * group
    divides = heads % ranks == 0 and (kv_heads % ranks == 0 or ranks % kv_heads == 0)
    if not divides:
        with pytest.raises(UsageError, match=rf"{ranks} ranks"):
            shard_heads(heads, kv_heads, ranks)
        return
    shards = shard_heads(heads, kv_heads, ranks)
    assert [head for shard in shards for head in shard.heads] == list(range(heads))
    for shard in shards:
        assert sorted({head // group for head in shard.heads}) == shard.kv_heads
        assert len(shard.heads) % len(shard.kv_heads) == 0
    for head in range(kv_heads):
        assert all(shard.replicas == sum(head in other.kv_heads for other in shards) for shard in shards)


@pytest.mark.parametrize("sizes", [(0, 1, 1), (4, 0, 1), (4, 2, 0), (4, 3, 1), (-4, 2, 2), (4, 2, -2)])
def test_counts_below_one_and_uneven_groups_are_refused(sizes):
    with pytest.raises(UsageError, match=r"at least 1|evenly"):
        shard_heads(*sizes)


def test_a_refusal_names_both_numbers():
    with pytest.raises(UsageError, match="6 query heads do not divide over 4 ranks: 2 would be left over"):
        shard_heads(6, 2, 4)
    with pytest.raises(UsageError, match="8 KV heads do not divide over 3 ranks"):
        shard_heads(24, 8, 3)


def test_a_token_of_llama_3_8b_costs_its_share_on_each_of_eight_ranks_and_no_less_on_sixteen():
    llama = PRESETS["Llama-3-8B"]
    costs = {ranks: rank_shape(llama, ranks).bytes_per_token for ranks in (1, 2, 4, 8, 16, 32)}
    assert costs == {1: 131_072, 2: 65_536, 4: 32_768, 8: 16_384, 16: 16_384, 32: 16_384}
    for ranks, bytes_on_each in costs.items():
        replicas = kv_heads_per_rank(llama.kv_heads, ranks)[1]
        assert ranks * bytes_on_each == replicas * llama.bytes_per_token


def test_latents_belong_to_no_head_so_every_rank_keeps_them_all():
    deepseek = PRESETS["DeepSeek-V3"]
    assert deepseek.latent_dim and rank_shape(deepseek, 8).bytes_per_token == deepseek.bytes_per_token
    with pytest.raises(UsageError, match="at least 1 rank"):
        rank_shape(deepseek, 0)


def test_layers_of_another_shape_are_divided_too():
    shape = KVShape("mixed", 2, 4, 8, others=(KVShape("wide", 1, 2, 16),))
    assert rank_shape(shape, 2).bytes_per_token * 2 == shape.bytes_per_token
    assert rank_shape(shape, 4).bytes_per_token == 2 * 2 * 8 * 2 * 1 + 1 * 2 * 16 * 2 * 1
    with pytest.raises(UsageError, match="2 KV heads do not divide over 3"):
        rank_shape(KVShape("mixed", 2, 3, 8, others=(KVShape("wide", 1, 2, 16),)), 3)
