"""The prefill kernel against the PyTorch oracle: chunks, offsets, mixed batches, options, float8."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvlab.compute import paged_attention
from kvlab.kernels.paged_prefill import paged_prefill
from tests.kernels.running import DEVICE, INTERPRETED, QUICK, Batch, close
from tests.kernels.test_kernels_decode import DIMS, GROUPS, SIZES, TYPES, lengths_around, pool, quantised


def both(batch: Batch, counts: list[int], heads: int, **options):
    """What the kernel and the oracle find, with their log-sum-exps."""
    query, start = batch.queries(counts, heads)
    arguments = (query, *batch.pools, batch.tables, start, batch.lengths)
    return paged_prefill(*arguments, return_lse=True, **options), paged_attention(
        *arguments, return_lse=True, **options
    )


def agree(batch: Batch, counts: list[int], heads: int, **options) -> None:
    found, expected = both(batch, counts, heads, **options)
    close(found[0], expected[0], batch.key_pool.dtype)
    close(found[1], expected[1], batch.key_pool.dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("group, key_dim, value_dim, size", list(zip(GROUPS, DIMS, reversed(DIMS), SIZES, strict=True)))
def test_every_group_dim_and_block_size_equals_the_oracle_at_every_edge(group, key_dim, value_dim, size, dtype):
    lengths = lengths_around(size)
    batch = Batch(lengths, size, kv_heads=1, key_dim=key_dim, value_dim=value_dim, dtype=dtype)
    agree(batch, [min(length, 5 + index) for index, length in enumerate(lengths)], group)


@given(
    size=st.sampled_from(SIZES[:4]),
    group=st.sampled_from(GROUPS),
    dims=st.tuples(st.sampled_from(DIMS), st.sampled_from(DIMS)),
    kv_heads=st.integers(1, 2),
    window=st.sampled_from([None, 1, 7, 70]),
    softcap=st.sampled_from([None, 3.0]),
    sinks=st.booleans(),
    dtype=st.sampled_from(TYPES),
    data=st.data(),
)
@QUICK
def test_any_batch_equals_the_oracle(size, group, dims, kv_heads, window, softcap, sinks, dtype, data):
    lengths = data.draw(st.lists(st.sampled_from([*lengths_around(size), 90]), min_size=1, max_size=4))
    counts = [data.draw(st.sampled_from([0, 1, 2, length // 2, length, length + 1])) for length in lengths]
    batch = Batch(lengths, size, kv_heads=kv_heads, key_dim=dims[0], value_dim=dims[1], dtype=dtype)
    heads = group * kv_heads
    sink = torch.linspace(-1, 2, heads, device=DEVICE) if sinks else None
    agree(batch, counts, heads, window=window, softcap=softcap, sinks=sink)


def test_a_prompt_in_chunks_finds_what_the_whole_prompt_finds():
    batch = Batch([90], 16, key_dim=32, value_dim=32)
    query, start = batch.queries([90], 4)
    whole = paged_prefill(query, *batch.pools, batch.tables, start, batch.lengths)
    for size in (1, 7, 33):
        for begin in range(0, 90, 3 * size):
            stop = min(90, begin + size)
            cut = torch.tensor([0, stop - begin], device=DEVICE)
            length = torch.tensor([stop], device=DEVICE)
            part = paged_prefill(query[begin:stop], *batch.pools, batch.tables, cut, length)
            close(part, whole[begin:stop])


def test_many_short_sequences_each_find_their_own_tiles():
    lengths = [1, 0, 3, 40, 2, 0, 0, 17, 1, 9]
    batch = Batch(lengths, 8, key_dim=16, value_dim=16)
    agree(batch, [1, 0, 2, 40, 0, 0, 0, 16, 1, 9], 4)
    agree(batch, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0], 4)


@pytest.mark.parametrize("group, dim", [(1, 8), (4, 24), (80, 16), (2, 6)])
def test_dims_and_groups_off_the_beaten_track(group, dim):
    agree(Batch([33, 5], 16, kv_heads=2, key_dim=dim, value_dim=dim), [20, 5], 2 * group)


def test_more_queries_than_context_see_nothing_at_first():
    batch = Batch([3, 0], 4, key_dim=16, value_dim=16)
    (output, lse), _ = both(batch, [5, 2], 4)
    assert not output[:2].any() and bool((lse[:2] == float("-inf")).all()) and bool(output[2:5].all())
    assert not output[5:].any() and bool((lse[5:] == float("-inf")).all())


def test_blocks_before_the_window_are_not_read():
    batch = Batch([100], 16, key_dim=32, value_dim=32)
    before, _ = both(batch, [10], 4, window=20)
    batch.tables[0, :4] = -1  # released: the first query is token 90, and its window begins at 71
    after, _ = both(batch, [10], 4, window=20)
    assert torch.equal(after[0], before[0]) and torch.equal(after[1], before[1])


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8_pools_are_read_with_their_own_scales(dtype):
    batch = Batch([70, 16], 16, kv_heads=2, key_dim=64, value_dim=32, fill=0.0)
    key_scale, value_scale = torch.tensor([0.02, 0.5], device=DEVICE), 0.25
    pools = [quantised(batch.key_pool, key_scale[:, None], dtype), quantised(batch.value_pool, value_scale, dtype)]
    query, start = batch.queries([20, 3], 6)
    read = pools[0].float() * key_scale[:, None], pools[1].float() * value_scale
    expected = paged_attention(query, *read, batch.tables, start, batch.lengths)
    scales = {"key_scale": key_scale, "value_scale": value_scale}
    found = paged_prefill(query.half(), *pools, batch.tables, start, batch.lengths, **scales)
    close(found, expected, torch.float16)


@pytest.mark.parametrize(
    "starts, says", [([0, 1, 2], r"2 integers, not \(3,\)"), ([0.0, 3.0], "2 integers, not .* torch.float32")]
)
def test_a_query_start_of_another_kind_is_refused(starts, says):
    batch = Batch([9], 4)
    query, _ = batch.queries([3], 4)
    with pytest.raises(ValueError, match=says):
        paged_prefill(query, *batch.pools, batch.tables, torch.tensor(starts, device=DEVICE), batch.lengths)


def test_shapes_are_refused_as_decode_refuses_them():
    tables, lengths = pool(1, 3, dtype=torch.int32), pool(1, dtype=torch.int32)
    with pytest.raises(ValueError, match="a multiple of 2 heads"):
        start = torch.tensor([0, 1], device=DEVICE)
        paged_prefill(pool(1, 3, 8), pool(6, 4, 2, 8), pool(6, 4, 2, 8), tables, start, lengths)


if INTERPRETED:  # on a GPU nobody looks

    @pytest.mark.parametrize("starts", [[0, 2], [1, 3], [0, 4]])
    def test_a_query_start_that_does_not_cut_the_rows_is_refused(starts):
        batch = Batch([9], 4)
        query, _ = batch.queries([3], 4)
        with pytest.raises(ValueError, match=r"query_start \[\d, \d\] does not cut 3 rows into 1 sequences"):
            paged_prefill(query, *batch.pools, batch.tables, torch.tensor(starts), batch.lengths)

    def test_a_block_outside_the_pool_is_refused_by_name():
        batch = Batch([9], 4, spare=0)
        query, start = batch.queries([4], 4)
        batch.tables[0, 1] = 3
        with pytest.raises(ValueError, match="block 3 does not exist"):
            paged_prefill(query, *batch.pools, batch.tables, start, batch.lengths, window=2)
