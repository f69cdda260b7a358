"""FP8 numbers, scales, and attention with scales folded in, compared with explicit dequantizing and fp32."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.compute import FP8_MAX, Scales, attend_fp8, calibrate, dequantize_fp8, quantize_fp8
from kvlab.compute.float8 import LARGEST, as_bytes, widen
from kvlab.compute.scales import row_scales, scales_from
from kvlab.errors import UsageError
from tests.compute.reference import attend

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
CODES = torch.arange(256, dtype=torch.uint8)


def drawn(*size: int, seed: int = 0, spread: float = 1.0) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed)) * spread


@pytest.mark.parametrize("kind", LARGEST, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_every_code_is_widened_to_the_number_that_torch_converts_it_to(kind, dtype):
    every = CODES.view(kind)
    finite = every[every.float().isfinite()]
    assert len(finite) in (254, 248)
    for codes in (every, finite, finite[:0]):  # with NaN and without are two ways through the function
        torch.testing.assert_close(widen(codes, dtype), codes.to(dtype), rtol=0, atol=0, equal_nan=True)


def test_numbers_are_divided_by_the_scale_and_saturate_with_their_sign():
    x = torch.tensor([0.0, 1.0, -3.0, 100.0, 1e6, -1e6, math.inf, -math.inf])
    found = quantize_fp8(x, 0.5)
    assert found.dtype is E4M3 and found.shape == x.shape
    assert found.float().tolist() == [0.0, 2.0, -6.0, 192.0, 448.0, -448.0, 448.0, -448.0]
    assert dequantize_fp8(found, 0.5).tolist() == [0.0, 1.0, -3.0, 96.0, 224.0, -224.0, 224.0, -224.0]
    assert quantize_fp8(torch.tensor([math.nan]), 2.0).float().isnan().all()
    assert quantize_fp8(torch.tensor([1e9]), 1.0, E5M2).float().item() == 57344.0


@pytest.mark.parametrize("scale", [0.01, torch.tensor(0.01), torch.tensor([0.01, 0.3]), "token_head"])
def test_what_comes_back_is_off_by_a_sixteenth_of_the_number_at_most(scale):
    x = drawn(9, 2, 8)
    scale = row_scales(x) if isinstance(scale, str) else scale
    error = (dequantize_fp8(quantize_fp8(x, scale), scale) - x).abs()
    steps = torch.as_tensor(scale, dtype=torch.float32).expand(9, 2).unsqueeze(-1) * 2.0**-10  # half of the smallest
    assert bool((error <= torch.maximum(x.abs() / 16, steps)).all()) and bool((error > 0).any())


def test_float16_and_bfloat16_are_divided_in_float32():
    for dtype in (torch.float16, torch.bfloat16):  # 100.1 is nearer to 104; as bfloat16 it is 100, a tie for 96
        assert quantize_fp8(torch.tensor([300.0], dtype=dtype), 2.9965).float().item() == 104.0


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, torch.tensor([1.0, 0.0]), torch.tensor(-2.0)])
def test_a_scale_that_is_not_above_zero_and_finite_is_refused(scale):
    x = drawn(3, 2, 4)
    for call in (
        lambda: quantize_fp8(x, scale),
        lambda: dequantize_fp8(quantize_fp8(x), scale),
        lambda: attend_fp8(drawn(4, 4), quantize_fp8(x), quantize_fp8(x), 1.0, scale),
        lambda: attend_fp8(drawn(4, 4), quantize_fp8(x), quantize_fp8(x), scale, 1.0),
        lambda: Scales([(scale, scale)], "head" if torch.as_tensor(scale).dim() else "tensor"),
    ):
        with pytest.raises(UsageError, match="a scale lies above 0 and is finite, not"):
            call()


def test_scales_and_types_that_do_not_fit_are_refused():
    x, query = drawn(3, 2, 4), drawn(4, 4)
    codes = quantize_fp8(x)
    for call, match in (
        (lambda: quantize_fp8(x, torch.ones(3)), r"scales \(3,\) do not fit numbers \(3, 2, 4\)"),
        (lambda: quantize_fp8(x, torch.ones(3, 2, 4)), r"scales \(3, 2, 4\) do not fit"),
        (lambda: quantize_fp8(x, 1.0, torch.float16), "torch.float16 is none of the float8 types"),
        (lambda: dequantize_fp8(x, 1.0), "only float8 numbers can be dequantized, not torch.float32"),
        (lambda: attend_fp8(query, x, codes, 1.0, 1.0), "keys and values are float8, not torch.float32"),
        (lambda: attend_fp8(query, codes, codes[:2], 1.0, 1.0), "do not fit"),
        (lambda: attend_fp8(query[:3], codes, codes, 1.0, 1.0), "do not fit"),
        (lambda: attend_fp8(query, codes, codes, torch.ones(3), 1.0), "there are 2 KV heads, and scales for 3"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


@pytest.mark.parametrize("kind", ["tensor", "head"])
@pytest.mark.parametrize("length", [0, 1, 64, 150])
def test_folded_attention_equals_dequantizing_first_and_fp32(kind, length):
    query, keys, values = drawn(6, 8), drawn(length, 2, 8, seed=1, spread=9), drawn(length, 2, 5, seed=2, spread=30)
    scales = (0.07, 3.0) if kind == "tensor" else (torch.tensor([0.05, 0.9]), torch.tensor([4.0, 0.2]))
    codes = [quantize_fp8(x, scale) for x, scale in zip((keys, values), scales, strict=True)]
    real = [dequantize_fp8(x, scale) for x, scale in zip(codes, scales, strict=True)]
    expected, _ = attend(query[None], *real, 8**-0.5)
    torch.testing.assert_close(attend_fp8(query, *codes, *scales).double(), expected[0], rtol=1e-4, atol=1e-4)
    twice, _ = attend(query[None], *real, 0.5)
    torch.testing.assert_close(attend_fp8(query, *codes, *scales, scale=0.5).double(), twice[0], rtol=1e-4, atol=1e-4)
    if length > 1:  # each scale has its own place
        swapped = attend_fp8(query, *codes, *reversed(scales)).double()
        assert float((swapped - expected[0]).abs().max()) > 0.1


def test_the_result_has_the_type_of_the_query():
    codes = quantize_fp8(drawn(5, 2, 8))
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        assert attend_fp8(drawn(2, 8).to(dtype), codes, codes, 1.0, 1.0).dtype is dtype


def test_no_more_than_one_tile_is_ever_widened(monkeypatch):
    from kvlab.compute import fp8

    seen = []
    monkeypatch.setattr(fp8, "widen", lambda tensor, dtype: seen.append(len(tensor)) or widen(tensor, dtype))
    codes = quantize_fp8(drawn(300, 2, 8))
    attend_fp8(drawn(4, 8), codes, codes, 0.5, 2.0)
    assert max(seen) == fp8.TILE and sum(seen) == 2 * 300


def test_calibrated_scales_let_the_largest_number_just_fit():
    key, value = drawn(50, 2, 8, spread=7), drawn(50, 2, 8, seed=1)
    value[:, 1] = 0
    for granularity in ("tensor", "head"):
        found = calibrate([(key, value)], granularity).of(0, 2, torch.device("cpu"))
        codes = quantize_fp8(key, found.key).float().abs()
        assert float(codes.max()) == FP8_MAX and codes.amax((0, 2)).ne(FP8_MAX).any() == (granularity == "tensor")
    assert calibrate([(key, value)], "head").layers[0][1][1] == 1.0  # nothing but zeros was observed
    assert calibrate([(key, value)], "token_head").per_token
    assert calibrate([(key * 0, value)]).layers[0][0] == 1.0
    with pytest.raises(UsageError, match="finite"):
        calibrate([(key / 0.0, value)])
    with pytest.raises(UsageError, match="at least 1 layer"):
        calibrate([])


def test_scales_are_given_to_layers_in_order_and_a_single_pair_to_all():
    cpu = torch.device("cpu")
    several = Scales([(0.5, 2.0), (0.25, 4.0)])
    assert several.of(1, 2, cpu) == (0.25, 4.0) and several.num_bytes == 16
    assert scales_from((0.5, 2.0)).of(7, 2, cpu) == (0.5, 2.0) and scales_from(None).of(7, 2, cpu) == (1.0, 1.0)
    by_head = scales_from((torch.ones(2), torch.ones(2)))
    assert by_head.granularity == "head" and by_head.num_bytes == 16
    for call, match in (
        (lambda: several.of(2, 2, cpu), "scales for 2 layers, and the model has a layer 2"),
        (lambda: by_head.of(0, 3, cpu), "there are 3 KV heads, and scales for 2"),
        (lambda: Scales([(1.0, 1.0)], "block"), 'not by "block"'),
        (lambda: Scales([(1.0, torch.ones(2))]), "a scale is not"),
        (lambda: Scales([(1.0, 1.0)], "head"), "a scale is not one number"),
        (lambda: scales_from("head"), "have to be measured first"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


def test_bytes_are_a_view_of_the_same_memory():
    pool = quantize_fp8(drawn(4, 8))
    as_bytes(pool).zero_()
    assert not pool.float().any() and as_bytes(pool.float()).dtype is torch.float32
