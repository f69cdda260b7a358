"""The kernels that move bytes: slot writes and block copies, compared with torch to the bit."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvlab import compute
from kvlab.kernels.copy_blocks import copy_blocks
from kvlab.kernels.write_kv import write_kv
from tests.kernels.running import DEVICE, INTERPRETED, QUICK

ALL = (torch.float32, torch.float16, torch.bfloat16)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor, so that NaN equals itself."""
    return tensor.cpu().contiguous().view(torch.uint8)


def pools(blocks, size, heads, key_dim, value_dim, dtype=torch.float32, fill=math.nan):
    shape = (blocks, size, heads)
    return [torch.full((*shape, dim), fill, dtype=dtype, device=DEVICE) for dim in (key_dim, value_dim)]


def rows(tokens, heads, key_dim, value_dim, dtype=torch.float32, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(tokens, heads, dim, generator=draw).to(dtype).to(DEVICE) for dim in (key_dim, value_dim)]


@given(
    size=st.sampled_from([1, 3, 8, 16, 256]),
    heads=st.sampled_from([1, 2, 3, 8]),
    dims=st.tuples(st.sampled_from([8, 24, 64, 80, 128]), st.sampled_from([8, 40, 64, 128, 256])),
    dtype=st.sampled_from(ALL),
    tokens=st.integers(0, 9),
    seed=st.integers(0, 9),
)
@QUICK
def test_any_slots_are_written_as_torch_writes_them(size, heads, dims, dtype, tokens, seed):
    found, expected = (pools(12, size, heads, *dims, dtype=dtype) for _ in range(2))
    new = rows(tokens, heads, *dims, dtype=dtype)
    draw = torch.Generator().manual_seed(seed)
    slots = torch.randperm(12 * size, generator=draw)[:tokens].to(DEVICE)
    slots[torch.rand(len(slots), generator=draw).to(DEVICE) < 0.2] = -1
    write_kv(*new, *found, slots)
    compute.write_kv(*expected, *new, slots)
    assert all(torch.equal(bits(a), bits(b)) for a, b in zip(found, expected, strict=True))


def test_keys_and_pools_may_be_views_of_something_larger():
    together = torch.full((6, 2, 4, 3, 16), math.nan, device=DEVICE)  # [blocks, keys and values, size, heads, dim]
    fused = torch.randn(5, 3, 40, device=DEVICE)
    key, value = fused[..., 8:24], fused.flip(-1)[..., ::2][..., :16]
    heads_first = key.transpose(0, 1).contiguous().transpose(0, 1)  # as a model hands them over
    slots = torch.tensor([3, 23, 0, -1, 8], device=DEVICE)
    expected = pools(6, 4, 3, 16, 16)
    compute.write_kv(*expected, key, value, slots)
    for given_key in (key, heads_first):
        together.fill_(math.nan)
        write_kv(given_key, value, together[:, 0], together[:, 1], slots)
        assert all(torch.equal(bits(together[:, i]), bits(expected[i])) for i in range(2))


def test_the_latents_of_mla_are_written_though_attention_could_not_read_them():
    found, expected = (pools(3, 4, 1, 576, 64) for _ in range(2))
    new, slots = rows(3, 1, 576, 64), torch.tensor([2, -1, 9], device=DEVICE)
    write_kv(*new, *found, slots)
    compute.write_kv(*expected, *new, slots)
    assert all(torch.equal(bits(a), bits(b)) for a, b in zip(found, expected, strict=True))


def test_numbers_are_rounded_to_the_type_of_the_pool():
    found, expected = (pools(4, 4, 2, 16, 16, dtype=torch.float16) for _ in range(2))
    new, slots = rows(5, 2, 16, 16), torch.arange(3, 8, device=DEVICE)
    write_kv(*new, *found, slots)
    compute.write_kv(*expected, *new, slots)
    assert all(torch.equal(bits(a), bits(b)) for a, b in zip(found, expected, strict=True))


def codes(tensor: torch.Tensor) -> torch.Tensor:
    """float8 as integers in the order of the numbers, so that neighbours differ by 1."""
    raw = tensor.cpu().contiguous().view(torch.uint8).int()
    return torch.where(raw < 128, raw, 128 - raw)


FLOAT8 = [(torch.float8_e4m3fn, 3), (torch.float8_e5m2, 2)]  # and bits of their mantissas


@pytest.mark.parametrize("dtype", [dtype for dtype, _ in FLOAT8])
def test_what_float8_holds_exactly_is_written_exactly_each_by_its_own_scale(dtype):
    numbers = torch.arange(256, dtype=torch.uint8).view(dtype).float()
    numbers = numbers[torch.isfinite(numbers)][:240].view(15, 2, 8).to(DEVICE)
    found = [pool.to(dtype) for pool in pools(4, 4, 2, 8, 8, fill=0.0)]
    key_scale = torch.tensor([0.5, 4.0], device=DEVICE)
    slots = torch.arange(15, device=DEVICE)
    write_kv(numbers * key_scale[:, None], numbers * 0.125, *found, slots, key_scale=key_scale, value_scale=0.125)
    for pool in found:
        assert torch.equal(bits(pool.flatten(0, 1)[:15]), bits(numbers.to(dtype)))


@pytest.mark.parametrize("source", [torch.float32, torch.float16])
@pytest.mark.parametrize("dtype, mantissa", FLOAT8)
def test_other_numbers_are_held_within_bounds_and_rounded_to_a_neighbour(dtype, mantissa, source):
    """A GPU rounds as torch does, but that the last bit of a division may differ. The interpreter breaks ties another
    way, is two codes off among the smallest numbers, and loses the carry of a mantissa that is rounded up to the next
    power of two: `2 ** mantissa` codes too low, all in all for a few per cent of numbers. So this test cannot see a
    wrong rounding there; a wrong scale, or keys for values, it can.
    """
    found = [pool.to(dtype) for pool in pools(5, 4, 2, 64, 32, fill=0.0)]
    new = [tensor.to(source) for tensor in rows(9, 2, 64, 32)]
    new[0][0, 0, 0], new[0][0, 0, 1], new[1][1, 1, 1] = 6e4, -6e4, 0.0
    scales = torch.tensor([0.02, 0.7], device=DEVICE), 0.25
    slots = torch.arange(4, 13, device=DEVICE)
    write_kv(*new, *found, slots, key_scale=scales[0], value_scale=scales[1])
    largest = torch.finfo(dtype).max
    for pool, tensor, scale in zip(found, new, (scales[0][:, None], scales[1]), strict=True):
        expected = (tensor.float() / scale).clamp(-largest, largest).to(dtype)
        written = pool.flatten(0, 1)[slots]
        apart = (codes(written) - codes(expected)).abs()
        assert int(apart.max()) <= (2**mantissa if INTERPRETED else 1)
        assert float((apart > 0).float().mean()) < 0.15 and bool(torch.isfinite(written.float()).all())
    if dtype is torch.float8_e4m3fn:
        assert float(found[0][1, 0, 0, 0].float()) == largest and float(found[0][1, 0, 0, 1].float()) == -largest
    assert not found[0][0].float().any() and not found[0][4].float().any()


def pool(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=DEVICE)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"key": pool(2, 1, 8)}, r"\(2, 1, 8\) and \(2, 2, 4\) do not fit 2 slots"),
        ({"value": pool(2, 2, 8)}, "do not fit 2 slots"),
        ({"slots": pool(3, dtype=torch.int64)}, "do not fit 3 slots"),
        ({"slots": pool(2, dtype=torch.int32)}, "slots are .* int64, not .* torch.int32"),
        ({"key_scale": 2.0}, "scales go with float8 pools, not with torch.float32"),
        ({"value_pool": pool(3, 4, 2, 4).half()}, "one type"),
    ],
)
def test_writes_that_do_not_fit_are_refused_and_write_nothing(change, says):
    arguments = {"key": pool(2, 2, 8) + 1, "value": pool(2, 2, 4) + 1, "slots": torch.arange(2, device=DEVICE)}
    arguments |= {"key_pool": pool(3, 4, 2, 8), "value_pool": pool(3, 4, 2, 4)}
    arguments |= change
    with pytest.raises(ValueError, match=says):
        write_kv(**arguments)
    assert not arguments["key_pool"].any() and not arguments["value_pool"].any()


@pytest.mark.parametrize("scale, says", [(-1.0, "above 0, not at -1.0"), (pool(3), r"1 or 2 float32.*not \(3,\)")])
def test_a_scale_that_makes_no_sense_is_refused(scale, says):
    found = [pool(3, 4, 2, 8).to(torch.float8_e4m3fn) for _ in range(2)]
    with pytest.raises(ValueError, match=says):
        write_kv(pool(1, 2, 8), pool(1, 2, 8), *found, pool(1, dtype=torch.int64), key_scale=scale)


if INTERPRETED:  # on a GPU nobody looks

    def test_a_slot_beyond_the_pool_is_refused_and_nothing_is_written():
        found = pools(2, 4, 1, 8, 8, fill=0.0)
        with pytest.raises(ValueError, match="slot 8 does not exist: the pool has slots 0 to 7"):
            write_kv(*rows(2, 1, 8, 8), *found, torch.tensor([0, 8]))
        assert not found[0].any() and not found[1].any()

    def test_a_block_that_does_not_exist_is_not_copied():
        with pytest.raises(ValueError, match="block 4 does not exist: the pool has blocks 0 to 3"):
            copy_blocks(torch.zeros(4, 2, 1, 8), torch.tensor([0]), torch.tensor([4]))


@pytest.mark.parametrize("dtype", ALL)
def test_sources_are_read_before_targets_are_written(dtype):
    found = torch.arange(4.0, device=DEVICE).view(4, 1, 1, 1).repeat(1, 3, 2, 40).to(dtype)
    expected = found.clone()
    pairs = [(0, 1), (1, 2), (2, 0)]
    compute.copy_blocks(expected, pairs)
    copy_blocks(found, *torch.tensor(pairs, device=DEVICE).T.contiguous())
    assert torch.equal(bits(found), bits(expected))


@pytest.mark.parametrize("overlapping", [True, False])
def test_blocks_larger_than_a_tile_and_strided_pools_are_copied_whole(overlapping):
    both = torch.randn(5, 2, 16, 8, 80, device=DEVICE)  # keys beside values: a pool is every other block
    expected = both.clone()
    expected[4, 0], expected[2, 0] = both[0, 0], both[1, 0]
    copy_blocks(
        both[:, 0], torch.tensor([0, 1], device=DEVICE), torch.tensor([4, 2], device=DEVICE), overlapping=overlapping
    )
    assert torch.equal(both, expected)


def test_no_pairs_copy_nothing_and_unequal_ones_are_refused():
    found = torch.randn(3, 2, 1, 8, device=DEVICE)
    before = found.clone()
    empty = torch.empty(0, dtype=torch.int64, device=DEVICE)
    copy_blocks(found, empty, empty)
    assert torch.equal(found, before)
    with pytest.raises(ValueError, match=r"as many sources as targets, int64: not \(0,\) and \(1,\)"):
        copy_blocks(found, empty, torch.tensor([1], device=DEVICE))
    with pytest.raises(ValueError, match="in one piece"):
        copy_blocks(found.expand(3, 2, 4, 8), empty, empty)
