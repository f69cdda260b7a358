"""Pools: slot writes, gathers through a table, block copies."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.compute import LayerShape, PagedCache, attend_blockwise, copy_blocks, gather_kv, write_kv
from kvlab.errors import UsageError


def test_what_is_written_by_slot_is_gathered_through_the_table():
    key_pool, value_pool = torch.full((5, 4, 2, 3), math.nan), torch.full((5, 4, 2, 7), math.nan)
    key, value = torch.randn(6, 2, 3), torch.randn(6, 2, 7)
    write_kv(key_pool, value_pool, key, value, torch.tensor([12, 13, 14, 15, 4, 5]))
    assert torch.equal(gather_kv(key_pool, [3, 1, 99], 6), key)
    assert torch.equal(gather_kv(value_pool, torch.tensor([3, 1], dtype=torch.int32), 6), value)
    assert int(key_pool.isnan().sum()) == key_pool.numel() - key.numel()
    assert gather_kv(key_pool, [], 0).shape == (0, 2, 3)


def test_a_table_that_is_too_short_is_refused_with_both_numbers():
    with pytest.raises(UsageError, match="9 tokens lie in 3 blocks of 4, but the table names 2"):
        gather_kv(torch.zeros(5, 4, 1, 1), [0, 1], 9)


def test_a_slot_beyond_the_pool_is_refused_and_nothing_is_written():
    pools = torch.zeros(2, 4, 1, 1), torch.zeros(2, 4, 1, 1)
    with pytest.raises(UsageError, match="slot 8 does not exist: the pool has slots 0 to 7"):
        write_kv(*pools, torch.ones(2, 1, 1), torch.ones(2, 1, 1), torch.tensor([0, 8]))
    assert not pools[0].any() and not pools[1].any()


@pytest.mark.parametrize("value", [(2, 1, 3), (2, 3, 2), (3, 2, 3), (2, 6)])
def test_keys_and_values_that_do_not_fit_the_pools_are_refused_and_nothing_is_written(value):
    pools = torch.zeros(2, 4, 2, 3), torch.zeros(2, 4, 2, 3)
    with pytest.raises(UsageError, match=r"does not fit 2 slots of a pool \(2, 4, 2, 3\)"):
        write_kv(*pools, torch.ones(2, 2, 3), torch.ones(value), torch.tensor([0, 5]))
    assert not pools[0].any() and not pools[1].any()


def test_sources_are_read_before_targets_are_written():
    pool = torch.arange(4.0).view(4, 1, 1, 1).clone()
    copy_blocks(pool, [(0, 1), (1, 2), (2, 0)])
    assert pool.flatten().tolist() == [2.0, 0.0, 1.0, 3.0]
    copy_blocks(pool, [])
    assert pool.flatten().tolist() == [2.0, 0.0, 1.0, 3.0]


def test_layers_may_differ_in_shape_and_are_counted_in_bytes():
    cache = PagedCache(3, 4, [LayerShape(2, 8, 8), LayerShape(1, 16, 4)], dtype=torch.bfloat16)
    assert len(cache) == 2 and cache.bytes_per_token == 2 * (2 * 8 + 2 * 8 + 16 + 4)
    cache.write(1, torch.ones(1, 1, 16), torch.ones(1, 1, 4), torch.tensor([5]))
    key, value = cache.gather(1, [1], 2)
    assert key[1].sum() == 16 and value[1].sum() == 4 and not key[0].any()


def test_a_layer_without_pools_gets_them_from_what_is_written():
    cache = PagedCache(3, 4, fill=math.nan)
    cache.write(7, torch.ones(2, 3, 5), torch.ones(2, 3, 6), torch.tensor([0, 1]))
    assert cache.keys[7].shape == (3, 4, 3, 5) and cache.values[7].shape == (3, 4, 3, 6)
    cache.copy_blocks([(0, 2)])
    assert torch.equal(cache.gather(7, [2], 2)[0], torch.ones(2, 3, 5))


def test_values_are_stored_in_the_type_of_the_pool():
    cache = PagedCache(1, 2, [LayerShape(1, 1, 1)], dtype=torch.float16)
    cache.write(0, torch.full((1, 1, 1), 0.1), torch.full((1, 1, 1), 0.1), torch.tensor([1]))
    assert cache.keys[0][0, 1].item() == torch.tensor(0.1).half().item()


@pytest.mark.parametrize("blocks, size", [(0, 4), (4, 0), (-1, 4)])
def test_an_impossible_size_is_refused(blocks, size):
    with pytest.raises(UsageError, match="at least 1 block"):
        PagedCache(blocks, size)


@pytest.mark.parametrize("block", [5, -1])
def test_a_block_that_the_pool_does_not_have_is_refused_by_name_wherever_it_is_read_or_copied(block):
    pool = torch.arange(5.0).view(5, 1, 1, 1).repeat(1, 2, 1, 1)
    before, match = pool.clone(), f"there is no block {block}: the pool has blocks 0 to 4"
    for call in (
        lambda: gather_kv(pool, [0, block], 3),
        lambda: gather_kv(pool, torch.tensor([block]), 1),
        lambda: copy_blocks(pool, [(0, 1), (2, block)]),
        lambda: copy_blocks(pool, [(0, 1), (block, 2)]),
        lambda: attend_blockwise(torch.ones(1, 1), pool, pool, [0, block], 4),
    ):
        with pytest.raises(UsageError, match=match):
            call()
    assert torch.equal(pool, before)
    assert len(gather_kv(pool, [1, block], 2)) == 2  # an entry that is not needed is not read
    assert attend_blockwise(torch.ones(1, 1), pool, pool, [1, block], 2)[0] == 1


def test_block_by_block_attention_over_a_table_that_is_too_short_is_refused_with_both_numbers():
    with pytest.raises(UsageError, match="9 tokens lie in 3 blocks of 4, but the table names 2"):
        attend_blockwise(torch.ones(1, 1), torch.zeros(5, 4, 1, 1), torch.zeros(5, 4, 1, 1), [0, 1], 9)


def test_two_copies_into_one_block_are_refused_and_nothing_is_written():
    cache = PagedCache(4, 2, [LayerShape(1, 1, 1)])
    cache.write(0, torch.ones(2, 1, 1), torch.ones(2, 1, 1), torch.tensor([0, 1]))
    before = cache.keys[0].clone()
    with pytest.raises(UsageError, match="block 3 is the target of 2 copies"):
        cache.copy_blocks([(0, 3), (1, 2), (2, 3)])
    assert torch.equal(cache.keys[0], before)
