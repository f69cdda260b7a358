"""Pools of float8: written, copied, swapped, gathered and attended, compared with explicit dequantizing."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
import torch

from kvlab.compute import (
    HostCache,
    LayerScales,
    LayerShape,
    PagedCache,
    Scales,
    attend_absorbed,
    choose_backend,
    dequantize_fp8,
    gather_kv,
    page_latents,
    paged_attention,
    quantize_fp8,
    triton_attention,
    write_kv,
)
from kvlab.compute.backend import float8_objection
from kvlab.errors import UsageError
from tests.compute.reference import attend

SIZE, HEADS, KV_HEADS, DIM, VALUE_DIM = 4, 4, 2, 16, 32
LENGTHS, COUNTS = [9, 4, 17, 1, 0], [9, 1, 4, 1, 1]
SCALES = {
    "none": None,
    "tensor": (0.07, 3.0),
    "head": (torch.tensor([0.05, 0.9]), torch.tensor([4.0, 0.2])),
    "token_head": "token_head",
}
OPTIONS = [{}, {"window": 3}, {"softcap": 2.0}, {"sinks": torch.linspace(-1, 1, HEADS)}, {"return_lse": True}]


class Case(NamedTuple):
    """Sequences in shuffled blocks of a cache with one layer, and what their keys and values really are by now."""

    cache: PagedCache
    tables: torch.Tensor
    keys: list[torch.Tensor]
    values: list[torch.Tensor]
    query: torch.Tensor
    start: torch.Tensor
    lengths: torch.Tensor

    def run(self, attention=paged_attention, **options):
        scales = self.cache.layer_scales[0]
        pools = self.cache.keys[0], self.cache.values[0]
        found = attention(
            self.query, *pools, self.tables, self.start, self.lengths,
            key_scale=scales.key, value_scale=scales.value, **options,
        )  # fmt: skip
        return found if isinstance(found, tuple) else (found,)

    def expected(self, **options):
        options.pop("return_lse", None)
        cut = [(int(a), int(b)) for a, b in zip(self.start, self.start[1:], strict=False)]
        parts = [
            attend(self.query[a:b].float().cpu(), self.keys[i], self.values[i], DIM**-0.5, **options)
            for i, (a, b) in enumerate(cut)
        ]
        return torch.cat([output for output, _ in parts]), torch.cat([lse for _, lse in parts])


def case(
    kind: str,
    kv_dtype: str = "fp8",
    fill: float = math.nan,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
) -> Case:
    draw = torch.Generator().manual_seed(0)
    needed = [-(-length // SIZE) for length in LENGTHS]
    order = torch.randperm(sum(needed) + 3, generator=draw).tolist()
    tables = torch.full((len(LENGTHS), max(needed) + 2), 987_654_321, dtype=torch.int32)  # stale padding
    cache = PagedCache(len(order), SIZE, fill=fill, kv_dtype=kv_dtype, scales=SCALES[kind])
    keys, values = [], []
    for i, (length, blocks) in enumerate(zip(LENGTHS, needed, strict=True)):
        mine, order = order[:blocks], order[blocks:]
        tables[i, :blocks] = torch.tensor(mine, dtype=torch.int32)
        slots = torch.tensor([mine[j // SIZE] * SIZE + j % SIZE for j in range(length)], dtype=torch.int64)
        key = torch.randn(length, KV_HEADS, DIM, generator=draw) * 3
        value = torch.randn(length, KV_HEADS, VALUE_DIM, generator=draw) * torch.tensor([900.0, 30.0]).unsqueeze(-1)
        cache.write(0, key.to(device, dtype), value.to(device, dtype), slots.to(device))
        key, value = cache.gather(0, mine, length)
        keys.append(key.cpu())
        values.append(value.cpu())
    start = torch.tensor([0, *COUNTS]).cumsum(0).to(torch.int32)
    query = torch.randn(int(start[-1]), HEADS, DIM, generator=draw).to(dtype)
    lengths = torch.tensor(LENGTHS, dtype=torch.int32).to(device)
    return Case(cache, tables.to(device), keys, values, query.to(device), start.to(device), lengths)


def close(found, expected, rtol=1e-4):
    for mine, right in zip(found, expected, strict=False):
        largest = float(right[right.isfinite()].abs().max())
        torch.testing.assert_close(mine.double().cpu(), right, atol=rtol * largest, rtol=rtol)


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


@pytest.mark.parametrize("options", OPTIONS, ids=[" ".join(options) or "plain" for options in OPTIONS])
@pytest.mark.parametrize("kind", SCALES)
def test_attention_over_float8_equals_dequantizing_first_and_fp32(kind, options):
    made = case(kind)
    close(made.run(**options), made.expected(**options))


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_queries_of_16_bits_are_attended_to_their_precision(kind, dtype):
    made = case(kind, dtype=dtype)
    for options in ({}, {"return_lse": True}):  # torch's kernel, and plain steps
        output, *_ = made.run(**options)
        assert output.dtype is dtype
        if kind != "none" or dtype is not torch.float16:
            close([output], made.expected(), rtol=0.03)


@pytest.mark.parametrize("kind", SCALES)
def test_e5m2_is_attended_too(kind):
    made = case(kind, "fp8_e5m2")
    close(made.run(), made.expected())


@pytest.mark.parametrize("kind", SCALES)
def test_i6_what_lies_beyond_a_sequence_changes_no_bit(kind):
    results = [case(kind, fill=fill).run() for fill in (0.0, math.nan, math.inf, -1e9)]
    for found in results[1:]:
        assert torch.equal(found[0], results[0][0])
    assert bool(results[0][0].isfinite().all())


@pytest.mark.parametrize("kind", SCALES)
def test_a_nan_that_was_written_is_not_hidden(kind):
    made = case(kind)
    key = torch.full((1, KV_HEADS, DIM), math.nan)
    block = int(made.tables[1, 0])
    made.cache.write(0, key, torch.zeros(1, KV_HEADS, VALUE_DIM), torch.tensor([block * SIZE]))
    output = made.run()[0]
    assert bool(output[9].isnan().all()) and bool(output[:9].isfinite().all())


@pytest.mark.parametrize("options", OPTIONS[:4], ids=[" ".join(options) or "plain" for options in OPTIONS[:4]])
@pytest.mark.parametrize("kind", ["none", "tensor", "head"])
def test_the_kernels_in_the_interpreter_agree_with_pytorch(kind, options):
    made = case(kind)
    close(made.run(triton_attention.paged_attention, **options), [made.run(**options)[0].double()], rtol=1e-3)


def test_the_kernels_refuse_a_scale_for_each_token_and_head_in_a_sentence():
    with pytest.raises(UsageError, match="one for each token and head is PyTorch's to do"):
        case("token_head").run(triton_attention.paged_attention)


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


def test_an_older_gpu_is_told_what_it_lacks_and_what_would_run():
    cuda, e4m3, e5m2 = torch.device("cuda"), torch.float8_e4m3fn, torch.float8_e5m2
    assert "8.9 there, this GPU has 8.0" in (float8_objection(e4m3, cuda, (8, 0)) or "")
    assert "fp8_e5m2" in (float8_objection(e4m3, cuda, (8, 6)) or "")
    assert float8_objection(e4m3, cuda, (9, 0)) is None and float8_objection(e4m3, cuda, (8, 9)) is None
    assert float8_objection(e5m2, cuda, (8, 0)) is None and float8_objection(e4m3, torch.device("cpu")) is None
    assert choose_backend("cpu", "torch").attention is paged_attention


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="it needs a GPU")
@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("kv_dtype", ["fp8", "fp8_e5m2"])
def test_on_a_gpu_the_same_is_written_attended_copied_and_swapped(monkeypatch, kind, kv_dtype):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    made, on_cpu = case(kind, kv_dtype, device="cuda"), case(kind, kv_dtype)
    for mine, theirs in zip((*made.keys, *made.values), (*on_cpu.keys, *on_cpu.values), strict=True):
        off = (mine - theirs).abs() > 1e-5 * theirs.abs()
        assert (
            float(off.float().mean() if len(mine) else 0.0) < 0.02
        )  # a division that is a bit off may round elsewhere
    close(made.run(), made.expected(), rtol=1e-3)
    objection = float8_objection(made.cache.dtype, made.query.device)
    if kind != "token_head" and objection is None:
        close(made.run(triton_attention.paged_attention), made.expected(), rtol=1e-2)
    before = [pool.clone().view(torch.uint8) for _, pool in made.cache.pools()]
    made.cache.copy_blocks([(0, 1)])
    host = HostCache(made.cache, 2)
    host.copy_out([(1, 1)])
    host.copy_in([(1, 2)])
    for (_, pool), old in zip(made.cache.pools(), before, strict=True):
        assert torch.equal(pool.view(torch.uint8)[2], old[0])
