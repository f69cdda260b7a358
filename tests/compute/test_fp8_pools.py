"""Pools of float8: written, copied, swapped and gathered, with the scales that belong to them, and what is refused."""

from __future__ import annotations

import pytest
import torch

from kvlab.compute import (
    HostCache,
    LayerScales,
    LayerShape,
    PagedCache,
    Scales,
    attend_absorbed,
    dequantize_fp8,
    gather_kv,
    page_latents,
    paged_attention,
    quantize_fp8,
    write_kv,
)
from kvlab.errors import UsageError
from tests.compute.fp8_cases import DIM, KV_HEADS, SCALES, SIZE, VALUE_DIM, case


@pytest.mark.parametrize("kv_dtype", ["fp8", "fp8_e5m2"])
@pytest.mark.parametrize("kind", SCALES)
def test_what_is_gathered_is_what_was_written_divided_rounded_and_multiplied(kind, kv_dtype):
    made = case(kind, kv_dtype)
    key, value = torch.randn(3, KV_HEADS, DIM) * 3, torch.randn(3, KV_HEADS, VALUE_DIM) * 100
    made.cache.write(0, key, value, torch.tensor([5, -1, 2]))
    dtype = made.cache.dtype
    for found, rows, at in zip(made.cache.gather(0, [0, 1], 6), (key, value), (0, 1), strict=True):
        if kind == "token_head":
            most = torch.finfo(dtype).max
            scale = rows.abs().amax(-1) / most
            expected = dequantize_fp8(quantize_fp8(rows, scale, dtype), scale)
        else:
            scale = 1.0 if SCALES[kind] is None else SCALES[kind][at]
            expected = dequantize_fp8(quantize_fp8(rows, scale, dtype), scale)
        assert torch.equal(found[5], expected[0]) and torch.equal(found[2], expected[2])


@pytest.mark.parametrize("kind", SCALES)
def test_blocks_are_copied_and_swapped_with_all_that_belongs_to_them(kind):
    made = case(kind)
    before = [pool.clone().view(torch.uint8) for _, pool in made.cache.pools()]
    assert len(before) == (4 if kind == "token_head" else 2)
    made.cache.copy_blocks([(0, 1), (1, 2)])
    host = HostCache(made.cache, 2)
    host.copy_out([(1, 1), (2, 0)])
    assert host.num_bytes == 2 * SIZE * made.cache.bytes_per_token
    for _, pool in made.cache.pools():
        pool.view(torch.uint8)[1:3] = 77
    host.copy_in([(1, 2), (0, 1)])
    for (_, pool), old in zip(made.cache.pools(), before, strict=True):
        now = pool.view(torch.uint8)
        assert torch.equal(now[2], old[0]) and torch.equal(now[1], old[1]) and torch.equal(now[0], old[0])


def test_slots_that_do_not_exist_are_refused_and_nothing_is_written():
    made = case("token_head")
    before = [pool.clone().view(torch.uint8) for _, pool in made.cache.pools()]
    rows = torch.ones(2, KV_HEADS, DIM), torch.ones(2, KV_HEADS, VALUE_DIM)
    with pytest.raises(UsageError, match="slot 999 does not exist"):
        made.cache.write(0, *rows, torch.tensor([0, 999]))
    made.cache.write(0, *rows, torch.tensor([-1, -1]))
    for (_, pool), old in zip(made.cache.pools(), before, strict=True):
        assert torch.equal(pool.view(torch.uint8), old)


def test_bytes_are_counted_with_the_scales_that_lie_in_pools():
    shape = [LayerShape(2, 16, 32)] * 3
    sizes = {
        name: PagedCache(5, SIZE, shape, kv_dtype=kv_dtype, scales=scales).bytes_per_token
        for name, kv_dtype, scales in (
            ("fp32", "auto", None), ("fp8", "fp8", (0.5, 2.0)), ("each", "fp8", "token_head"))
    }  # fmt: skip
    assert sizes == {"fp32": 3 * 2 * 48 * 4, "fp8": 3 * 2 * 48, "each": 3 * 2 * (48 + 8)}
    cache = PagedCache(5, SIZE, shape, kv_dtype="fp8")
    assert cache.num_bytes == sum(pool.numel() for _, pool in cache.pools())


def test_what_does_not_fit_is_refused():
    made = case("head")
    pools, rest = (made.cache.keys[0], made.cache.values[0]), (made.tables, made.start, made.lengths)
    real = [pool.float() for pool in pools]
    for call, match in (
        (lambda: PagedCache(1, 1, kv_dtype="int8"), 'auto, fp8, fp8_e5m2, not as "int8"'),
        (lambda: PagedCache(1, 1, scales=(1.0, 2.0)), "scales go with keys and values in 8 bits"),
        (
            lambda: PagedCache(1, 1, [LayerShape(3, 2, 2)], kv_dtype="fp8", scales=SCALES["head"]),
            "there are 3 KV heads",
        ),
        (lambda: paged_attention(made.query, *real, *rest, key_scale=2.0), "scales go with float8 pools"),
        (lambda: paged_attention(made.query, *pools, *rest, key_scale=torch.ones(3)), "there are 2 KV heads"),
        (lambda: paged_attention(made.query, *pools, *rest, value_scale=-1.0), "a scale lies above 0"),
        (lambda: paged_attention(made.query, *pools, *rest, key_scale=torch.ones(1, 1, 2)), "a pool of scales is"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


def test_latents_paged_by_hand_are_refused_in_8_bits_before_anything_is_written():
    pool = torch.zeros(2, SIZE, 1, 8, dtype=torch.float8_e4m3fn)
    query, latent, rotary = torch.ones(1, 2, 7), torch.ones(1, 5), torch.ones(1, 3)
    up = torch.ones(2, 4, 5)
    for call in (
        lambda: page_latents(query, latent, rotary, pool, torch.tensor([0]), [0], 1, up, up),
        lambda: attend_absorbed(query, pool, [0], 1, up, up),
    ):
        with pytest.raises(UsageError, match="not in 8 bits; PagedModel"):
            call()
    assert not pool.float().any()


def test_two_layers_have_their_own_scales():
    cache = PagedCache(2, SIZE, [LayerShape(1, 4, 4)] * 2, kv_dtype="fp8", scales=Scales([(0.5, 2.0), (0.25, 8.0)]))
    one = torch.ones(1, 1, 4)
    for layer, expected in enumerate(((2.0, 0.5), (4.0, 0.125))):
        cache.write(layer, one, one, torch.tensor([1]))
        codes = cache.keys[layer][0, 1, 0, 0].float().item(), cache.values[layer][0, 1, 0, 0].float().item()
        assert codes == expected
        assert all(torch.equal(found[1], one[0]) for found in cache.gather(layer, [0], 2))


def test_write_kv_and_gather_kv_move_codes():
    pools = [torch.zeros(2, SIZE, 1, 4, dtype=torch.float8_e4m3fn) for _ in range(2)]
    rows = torch.full((2, 1, 4), 3.0)
    write_kv(*pools, rows, rows, torch.tensor([1, 6]), scales=LayerScales(0.5, 1.5))
    assert gather_kv(pools[0], [0], 2)[1].float().flatten().tolist() == [6.0] * 4
    assert gather_kv(pools[1], [1], 3)[2].float().flatten().tolist() == [2.0] * 4
