"""Attention over pools of float8, in PyTorch and by the kernels, compared with explicit dequantizing."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.compute import (
    HostCache,
    choose_backend,
    paged_attention,
    triton_attention,
)
from kvlab.compute.backend import float8_objection
from kvlab.errors import UsageError
from tests.compute.fp8_cases import DIM, HEADS, KV_HEADS, SCALES, SIZE, VALUE_DIM, case, close

OPTIONS = [{}, {"window": 3}, {"softcap": 2.0}, {"sinks": torch.linspace(-1, 1, HEADS)}, {"return_lse": True}]


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
