"""Lab 05's decode kernels give what PyTorch gives, over block sizes, groups, lengths and whatever lies beside them."""

from __future__ import annotations

import pytest
import torch

from kvlab.kernels.basic_decode import basic_decode, grouped_decode_kernel, paged_decode_kernel
from tests.kernels.basic_batches import DEVICE, by_torch, paged

both = pytest.mark.parametrize("kernel", [paged_decode_kernel, grouped_decode_kernel], ids=["by-head", "grouped"])


def agrees(batch, kernel, scale=None, tolerance=2e-5):
    got = basic_decode(*batch, scale=scale, kernel=kernel)
    assert torch.allclose(got.float(), by_torch(batch, scale), rtol=tolerance, atol=tolerance)


@both
@pytest.mark.parametrize(("block_size", "heads", "kv_heads", "dim"), [
    (16, 4, 2, 16), (32, 3, 3, 32), (64, 2, 1, 64), (16, 4, 4, 128), (128, 2, 2, 16), (16, 8, 1, 256)])
def test_f45_every_length_around_a_block_in_every_shape(kernel, block_size, heads, kv_heads, dim):
    agrees(paged([0, 1, block_size - 1, block_size, block_size + 1], heads, kv_heads, dim, block_size), kernel)


@pytest.mark.parametrize(("block_size", "dim"), [(1, 1), (1, 8), (2, 2), (8, 1), (8, 8)])
def test_f45_small_blocks_and_heads_by_head(block_size, dim):
    agrees(paged([0, 1, 5], 4, 2, dim, block_size), paged_decode_kernel)


@both
@pytest.mark.parametrize("group", [1, 3, 6, 7, 12, 16, 20])
def test_f23_padded_rows_of_a_group_never_alias_the_next_kv_head(kernel, group):
    agrees(paged([17], 2 * group, 2, 16, 16), kernel)


@both
@pytest.mark.parametrize("fill", [float("nan"), float("inf"), 1e4])
def test_f21_what_lies_in_unused_slots_changes_no_bit(kernel, fill):
    ours = basic_decode(*paged([5, 33], 4, 2, 16, 16, fill), kernel=kernel)
    assert torch.equal(ours, basic_decode(*paged([5, 33], 4, 2, 16, 16, 0.0), kernel=kernel))


@both
def test_f24_context_length_0_gives_0(kernel):
    assert not basic_decode(*paged([0, 3], 2, 2, 16, 16), kernel=kernel)[0].any()


@both
def test_f22_blocks_beyond_2_to_the_31_numbers_are_found(kernel):
    block_size, dim = 16, 16
    blocks = 2**31 // (block_size * dim) + 4  # in fp16: 4 GiB of addresses, of which two blocks are touched
    small = paged([20], 2, 1, dim, block_size, dtype=torch.float16)
    pools = [torch.empty(blocks, block_size, 1, dim, dtype=torch.float16, device=DEVICE) for _ in range(2)]
    table = small.block_tables.clone()
    for place in range(2):
        for pool, source in zip(pools, (small.key_pool, small.value_pool), strict=True):
            pool[blocks - 1 - place] = source[table[0, place]]
        table[0, place] = blocks - 1 - place
    got = basic_decode(small.query, *pools, table, small.context_lengths, kernel=kernel)
    assert torch.allclose(got.float(), by_torch(small), rtol=2e-3, atol=2e-3)


@both
def test_fp16_a_scale_of_its_own_and_a_query_seen_through_a_transpose(kernel):
    batch = paged([19, 4], 4, 2, 32, 16, dtype=torch.float16)
    agrees(batch, kernel, scale=0.5, tolerance=4e-3)
    odd = batch._replace(query=batch.query.transpose(0, 1).contiguous().transpose(0, 1))
    assert torch.equal(basic_decode(*odd, kernel=kernel), basic_decode(*batch, kernel=kernel))


@both
def test_scores_of_some_hundred_stay_finite(kernel):
    batch = paged([40], 4, 2, 16, 16)
    agrees(batch._replace(query=batch.query * 200), kernel, tolerance=1e-3)


def test_sizes_that_a_kernel_cannot_do_are_refused():
    with pytest.raises(ValueError, match="block_size 8"):
        basic_decode(*paged([5], 2, 2, 16, 8), kernel=grouped_decode_kernel)
    with pytest.raises(ValueError, match="head_dim 24"):
        basic_decode(*paged([5], 2, 2, 24, 16))
    batch = paged([5], 2, 2, 16, 16)
    with pytest.raises(ValueError, match="contiguous"):
        basic_decode(*batch._replace(key_pool=batch.key_pool.transpose(0, 1)))
