"""The decode kernel against the PyTorch oracle: shapes, lengths, options, splits, strides, float8."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvlab.compute import paged_attention
from kvlab.kernels.paged_decode import paged_decode
from tests.kernels.running import DEVICE, INTERPRETED, QUICK, Batch, close

GROUPS = (1, 3, 6, 7, 12, 16)
DIMS = (64, 80, 96, 128, 192, 256)
SIZES = (8, 16, 32, 64, 128, 256)
TYPES = (torch.float32, torch.float16)


def lengths_around(size: int) -> list[int]:
    """The lengths where a block begins, ends or is missing."""
    return [0, 1, size - 1, size, size + 1, 200]


def both(batch: Batch, heads: int, splits: int | None = None, **options):
    """What the kernel and the oracle find, with their log-sum-exps."""
    query, start = batch.queries([1] * len(batch.lengths), heads)
    arguments = (query, *batch.pools, batch.tables)
    found = paged_decode(*arguments, batch.lengths, num_splits=splits, return_lse=True, **options)
    return found, paged_attention(*arguments, start, batch.lengths, return_lse=True, **options)


def agree(batch: Batch, heads: int, splits: int | None = None, **options) -> None:
    found, expected = both(batch, heads, splits, **options)
    close(found[0], expected[0], batch.key_pool.dtype)
    close(found[1], expected[1], batch.key_pool.dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("group, key_dim, value_dim, size", list(zip(GROUPS, DIMS, reversed(DIMS), SIZES, strict=True)))
def test_every_group_dim_and_block_size_equals_the_oracle_at_every_edge(group, key_dim, value_dim, size, dtype):
    batch = Batch(lengths_around(size), size, kv_heads=2, key_dim=key_dim, value_dim=value_dim, dtype=dtype)
    agree(batch, 2 * group, splits=2)


@given(
    size=st.sampled_from(SIZES),
    group=st.sampled_from(GROUPS),
    dims=st.tuples(st.sampled_from(DIMS), st.sampled_from(DIMS)),
    kv_heads=st.integers(1, 2),
    window=st.sampled_from([None, 1, 7, 70]),
    softcap=st.sampled_from([None, 3.0]),
    sinks=st.booleans(),
    splits=st.sampled_from([None, 1, 2, 3]),
    dtype=st.sampled_from(TYPES),
    data=st.data(),
)
@QUICK
def test_any_batch_equals_the_oracle(size, group, dims, kv_heads, window, softcap, sinks, splits, dtype, data):
    lengths = data.draw(st.lists(st.sampled_from([*lengths_around(size), 90, 300]), min_size=1, max_size=4))
    batch = Batch(lengths, size, kv_heads=kv_heads, key_dim=dims[0], value_dim=dims[1], dtype=dtype)
    heads = group * kv_heads
    sink = torch.linspace(-1, 2, heads, device=DEVICE) if sinks else None
    agree(batch, heads, splits, window=window, softcap=softcap, sinks=sink)


@pytest.mark.parametrize("group, dim", [(1, 8), (4, 24), (5, 40), (80, 16), (2, 6), (3, 1)])
def test_dims_and_groups_off_the_beaten_track(group, dim):
    agree(Batch([33, 5], 16, kv_heads=2, key_dim=dim, value_dim=dim), 2 * group, splits=1)


def test_blocks_of_one_token_and_of_a_size_that_is_no_power_of_two():
    for size in (1, 3, 24):
        agree(Batch([50, 1, 0], size, kv_heads=1, key_dim=16, value_dim=16), 4, splits=2)


def test_a_scale_of_its_own_is_used():
    batch = Batch([30], 16, key_dim=32, value_dim=32)
    agree(batch, 4, scale=0.01)
    agree(batch, 4, scale=1.0)


def test_more_splits_than_tokens_change_nothing():
    batch = Batch([300, 3, 0, 129], 16, key_dim=32, value_dim=32)
    whole, _ = both(batch, 4, splits=1)
    for splits in (2, 7, 40):
        cut, _ = both(batch, 4, splits=splits)
        close(cut[0], whole[0])
        close(cut[1], whole[1])


def test_blocks_before_the_window_are_not_read():
    batch = Batch([64, 200], 16, key_dim=32, value_dim=32)
    before, _ = both(batch, 4, window=20)
    batch.tables[0, :2] = -1  # released: the window begins in the third block
    batch.tables[1, :11] = -1
    after, _ = both(batch, 4, window=20)
    assert torch.equal(after[0], before[0]) and torch.equal(after[1], before[1])


def test_pools_and_queries_may_be_views_of_something_larger():
    plain = Batch([40, 17], 8, kv_heads=2, key_dim=32, value_dim=32)
    query, start = plain.queries([1, 1], 6)
    expected = paged_attention(query, *plain.pools, plain.tables, start, plain.lengths)
    together = torch.stack(plain.pools, 1)  # [blocks, 2, size, heads, dim]: keys beside values
    wide = torch.zeros(2, 6, 2, 32, device=DEVICE)
    wide[:, :, 1] = query
    every_other = torch.zeros(2, 6, 64, device=DEVICE)
    every_other[..., ::2] = query
    for view in (wide[:, :, 1], every_other[..., ::2]):
        found = paged_decode(view, together[:, 0], together[:, 1], plain.tables, plain.lengths, num_splits=2)
        close(found, expected)


def quantised(pool: torch.Tensor, scale, dtype: torch.dtype) -> torch.Tensor:
    """float8 by torch: on the CPU the interpreter's own stores round a little differently."""
    largest = torch.finfo(dtype).max
    return (pool / scale).clamp(-largest, largest).to(dtype)


@pytest.mark.parametrize("query_type", TYPES)
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("per_head", [False, True])
def test_float8_pools_are_read_with_their_own_scales(dtype, per_head, query_type):
    batch = Batch([70, 1, 16], 16, kv_heads=2, key_dim=64, value_dim=32, fill=0.0)
    key_scale, value_scale = torch.tensor([0.02, 0.5], device=DEVICE), torch.tensor([3.0, 0.25], device=DEVICE)
    if not per_head:
        key_scale, value_scale = key_scale[:1], value_scale[:1]
    spread = [scale.expand(2).view(1, 1, 2, 1) for scale in (key_scale, value_scale)]
    pools = [quantised(pool, scale, dtype) for pool, scale in zip(batch.pools, spread, strict=True)]
    read = [pool.float() * scale for pool, scale in zip(pools, spread, strict=True)]
    query, start = batch.queries([1, 1, 1], 6)
    expected = paged_attention(query, *read, batch.tables, start, batch.lengths)
    scales = {"key_scale": key_scale, "value_scale": value_scale}
    if not per_head:
        scales["value_scale"] = float(value_scale)
    found = paged_decode(query.to(query_type), *pools, batch.tables, batch.lengths, num_splits=1, **scales)
    close(found / 3, expected / 3, query_type)
    swapped = {"key_scale": scales["value_scale"], "value_scale": scales["key_scale"]}
    other = paged_decode(query.to(query_type), *pools, batch.tables, batch.lengths, num_splits=1, **swapped)
    assert not torch.allclose(other.float(), expected, atol=0.05)


def test_no_sequences_give_no_rows():
    batch = Batch([5], 4)
    query, _ = batch.queries([1], 4)
    output, lse = paged_decode(query[:0], *batch.pools, batch.tables[:0], batch.lengths[:0], return_lse=True)
    assert output.shape == (0, 4, 8) and lse.shape == (0, 4)


def pool(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=DEVICE)


REFUSED = [
    ({"query": pool(2, 4, 8)}, "2 queries, 1 tables"),
    ({"query": pool(1, 3, 8)}, r"a multiple of 2 heads, 8\], not \(1, 3, 8\)"),
    ({"query": pool(1, 4, 6)}, r"a multiple of 2 heads, 8\]"),
    ({"query": pool(1, 4, 8, dtype=torch.float16)}, "float16 does not go with torch.float32"),
    ({"value_pool": pool(6, 4, 1, 8)}, r"alike but for the last: not \(6, 4, 2, 8\) and \(6, 4, 1, 8\)"),
    ({"value_pool": pool(6, 4, 2, 264)}, "from 1 to 256, not 8 and 264"),
    ({"value_pool": pool(6, 4, 2, 8, dtype=torch.float16)}, "one type, not torch.float32 and torch.float16"),
    ({"value_pool": pool(6, 4, 8, 2).transpose(2, 3)}, "its last stride is 1"),
    ({"block_tables": pool(1, 3)}, "integers, not torch.float32"),
    ({"context_lengths": pool(2, dtype=torch.int32)}, r"not \(1, 3\) and \(2,\)"),
    ({"window": 0}, "at least 1 token, the one that looks, not 0"),
    ({"softcap": 0.0}, "above 0, not at 0.0"),
    ({"sinks": pool(3)}, r"each of 4 heads, not \(3,\)"),
    ({"num_splits": 0}, "0 splits"),
    ({"key_scale": 0.5}, "scales go with float8 pools"),
]


@pytest.mark.parametrize("change, says", REFUSED, ids=[says for _, says in REFUSED])
def test_arguments_that_do_not_fit_are_refused_in_a_sentence(change, says):
    arguments = {"query": pool(1, 4, 8), "key_pool": pool(6, 4, 2, 8), "value_pool": pool(6, 4, 2, 8)}
    arguments |= {"block_tables": pool(1, 3, dtype=torch.int32), "context_lengths": pool(1, dtype=torch.int32)}
    with pytest.raises(ValueError, match=says):
        paged_decode(**{**arguments, **change})


if INTERPRETED:  # on a GPU nobody looks

    @pytest.mark.parametrize("block", [-1, 3, 1 << 20])
    def test_a_block_outside_the_pool_is_refused_by_name(block):
        batch = Batch([9], 4, spare=0)
        batch.tables[0, 1] = block
        query, _ = batch.queries([1], 4)
        with pytest.raises(ValueError, match=f"block {block} does not exist: the pool has blocks 0 to 2"):
            paged_decode(query, *batch.pools, batch.tables, batch.lengths)

    @pytest.mark.parametrize("length", [-1, 1000])
    def test_a_length_that_does_not_fit_its_table_is_refused(length):
        batch = Batch([9], 4)
        query, _ = batch.queries([1], 4)
        with pytest.raises(ValueError, match=f"lengths from {length} to {length} do not fit tables of 5 blocks of 4"):
            paged_decode(query, *batch.pools, batch.tables, torch.tensor([length], dtype=torch.int32))


def test_huge_scores_do_not_overflow():
    batch = Batch([40], 8, key_dim=16, value_dim=16, fill=math.nan)
    agree(batch, 4, splits=1, scale=1e4)
