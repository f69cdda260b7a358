"""Paged attention against the formula, over mixed batches, odd shapes and pools full of rubbish."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.compute import AttentionPlan, attend_blockwise, merge_partials, paged_attention
from kvlab.errors import UsageError
from tests.compute.reference import Paged

OPTIONS = {
    "plain": {},
    "window": {"window": 3},
    "soft cap": {"softcap": 2.0},
    "sinks": {"sinks": True},
    "all": {"window": 5, "softcap": 3.0, "sinks": True},
}


def run(batch: Paged, query, start, **options):
    return paged_attention(query, batch.key_pool, batch.value_pool, batch.tables, start, batch.lengths, **options)


@pytest.mark.parametrize("heads, kv_heads", [(4, 4), (6, 2), (7, 1), (12, 4)])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_mixed_batch_equals_the_formula_for_every_head_grouping(options, heads, kv_heads):
    batch = Paged([9, 4, 17, 1, 5, 8], block_size=4, kv_heads=kv_heads, key_dim=6, value_dim=10)
    query, start = batch.queries([9, 1, 5, 1, 0, 3], heads)
    options = dict(options)
    if options.get("sinks"):
        options["sinks"] = torch.linspace(-1, 2, heads)
    expected, expected_lse = batch.expected(query, start, scale=0.3, **options)
    output, lse = run(batch, query, start, scale=0.3, return_lse=True, **options)
    torch.testing.assert_close(output.double(), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(lse.double(), expected_lse, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(run(batch, query, start, scale=0.3, **options), output, atol=1e-5, rtol=1e-5)


@given(
    st.integers(1, 5).flatmap(
        lambda size: st.tuples(
            st.just(size), st.lists(st.tuples(st.integers(0, 4 * size), st.integers(0, 6)), min_size=1, max_size=6)
        )
    ),
    st.sampled_from([(1, 1), (2, 1), (3, 3), (6, 2)]),
    st.sampled_from([None, 1, 2, 6]),
    st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_any_batch_equals_the_formula(blocks, heads, window, seed):
    block_size, sequences = blocks
    lengths = [context for context, _ in sequences]
    batch = Paged(lengths, block_size, kv_heads=heads[1], key_dim=4, value_dim=4, seed=seed)
    query, start = batch.queries([queries for _, queries in sequences], heads[0])
    expected, _ = batch.expected(query, start, scale=0.5, window=window)
    torch.testing.assert_close(
        run(batch, query, start, scale=0.5, window=window).double(), expected, atol=1e-5, rtol=1e-5
    )


def test_one_plan_serves_layers_with_and_without_a_window():
    batch = Paged([9, 4, 17], block_size=4)
    query, start = batch.queries([2, 1, 5], 4)
    plan = AttentionPlan(batch.tables.numpy(), [2, 1, 5], batch.lengths.tolist(), 4)
    for window in (None, 3, None, 3):
        again = run(batch, query, start, window=window, plan=plan)
        assert torch.equal(again, run(batch, query, start, window=window))


def test_blocks_before_the_window_are_not_read():
    batch = Paged([16], block_size=4)
    query, start = batch.queries([2], 4)
    expected = run(batch, query, start, window=3)
    batch.tables[0, :3] = -1  # their blocks were released
    assert torch.equal(run(batch, query, start, window=3), expected)


def test_sequences_of_very_different_lengths_are_not_padded_to_the_longest():
    contexts = [2000] + [16] * 40
    plan = AttentionPlan([list(range(125))] * 41, [1] * 41, contexts, 16)
    assert len(plan.groups()) == 2 and plan.keys_gathered() == sum(contexts)
    assert plan.keys_gathered(window=20) == 41 * 32


def test_half_precision_pools_are_attended_with_fp32_sums():
    batch = Paged([40, 23], block_size=8, dtype=torch.bfloat16)
    query, start = batch.queries([3, 1], 4)
    expected, _ = batch.expected(query, start, scale=0.35)
    for lse in (False, True):
        output = run(batch, query, start, return_lse=lse)
        output = output[0] if lse else output
        assert output.dtype == torch.bfloat16
        torch.testing.assert_close(output.double(), expected, atol=2e-2, rtol=2e-2)


def test_a_block_outside_the_pool_is_refused_by_name():
    batch = Paged([9], block_size=4, spare=0)
    query, start = batch.queries([1], 4)
    batch.tables[0, 1] = 3
    with pytest.raises(UsageError, match="block 3 does not exist: the pool has blocks 0 to 2"):
        run(batch, query, start)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"start": torch.tensor([0, 2])}, "does not cut"),
        ({"start": torch.tensor([0, 1, 3])}, "does not cut"),
        ({"start": torch.tensor([0, 4, 3]), "lengths": torch.tensor([9, 9]), "tables": 2}, "does not cut"),
        ({"heads": 5}, "do not fit"),
        ({"value_pool": torch.zeros(2, 4, 2, 8)}, "do not fit"),
        ({"value_pool": torch.zeros(6, 4, 1, 8)}, "do not fit"),
        ({"key_pool": torch.zeros(6, 4, 2, 6)}, "do not fit"),
        ({"options": {"sinks": torch.zeros(3)}}, r"each of 4 heads, not \(3,\)"),
        ({"options": {"window": 0}}, "at least 1 token, the one that looks, not 0"),
        ({"options": {"window": -2, "return_lse": True}}, "at least 1 token, the one that looks, not -2"),
        ({"options": {"softcap": 0.0}}, "above 0, not at 0.0"),
        ({"lengths": torch.tensor([1000])}, "context lengths"),
        ({"lengths": torch.tensor([-1])}, "context lengths"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, says):
    batch = Paged([9], block_size=4)
    query, start = batch.queries([3], change.get("heads", 4))
    batch.tables = batch.tables.repeat(change.get("tables", 1), 1)
    for name in ("lengths", "key_pool", "value_pool"):
        setattr(batch, name, change.get(name, getattr(batch, name)))
    with pytest.raises(UsageError, match=says):
        run(batch, query, change.get("start", start), **change.get("options", {}))


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 16, 17])
def test_block_by_block_equals_all_at_once(length):
    batch = Paged([length], block_size=4, kv_heads=2, key_dim=8, value_dim=3)
    query, start = batch.queries([1], 6)
    output, lse = attend_blockwise(query[0], batch.key_pool, batch.value_pool, batch.tables[0].tolist(), length)
    expected, expected_lse = run(batch, query, start, return_lse=True)
    torch.testing.assert_close(output, expected[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(lse, expected_lse[0], atol=1e-5, rtol=1e-5)


def test_huge_scores_do_not_overflow_the_online_softmax():
    pool = torch.zeros(2, 2, 1, 1)
    pool[0, 0], pool[1, 1] = -1e4, 1e4
    output, lse = attend_blockwise(torch.ones(1, 1), pool, pool, [0, 1], 4, scale=1.0)
    assert output.item() == 1e4 and lse.item() == 1e4


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_parts_attended_apart_merge_into_the_whole(lengths, seed):
    whole = Paged([sum(lengths)], block_size=4, seed=seed, fill=0.0)
    query, start = whole.queries([1], 4)
    outputs, lses, at = [], [], 0
    for length in lengths:
        pools = [torch.zeros(3, 4, 2, 8) for _ in range(2)]
        for pool, rows in zip(pools, (whole.keys[0], whole.values[0]), strict=True):
            pool.view(12, 2, 8)[:length] = rows[at : at + length]
        output, lse = attend_blockwise(query[0], *pools, [0, 1, 2], length)
        outputs.append(output)
        lses.append(lse)
        at += length
    expected, expected_lse = run(whole, query, start, return_lse=True)
    merged, merged_lse = merge_partials(torch.stack(outputs), torch.stack(lses))
    torch.testing.assert_close(merged, expected[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(merged_lse, expected_lse[0], atol=1e-5, rtol=1e-5)


def test_an_empty_part_that_holds_nan_counts_for_nothing():
    outputs = torch.stack([torch.full((2, 3), math.nan), torch.ones(2, 3)])
    lses = torch.tensor([[-math.inf, -math.inf], [0.5, 0.5]])
    merged, lse = merge_partials(outputs, lses)
    assert torch.equal(merged, torch.ones(2, 3)) and torch.equal(lse, lses[1])
