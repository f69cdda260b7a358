"""F27: keys and values in FP8, where other systems mixed up scales, or cached what the prompt itself never saw."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.compute import PagedCache, attend_fp8, dequantize_fp8, paged_attention, quantize_fp8, triton_attention
from kvlab.models import load_courier
from kvlab.serve import Engine
from tests.compute.reference import attend
from tests.serve.models import prompt

SCALES = {
    "tensor": (0.05, 0.3),
    "head": (torch.tensor([0.04, 0.07]), torch.tensor([0.5, 0.02])),
    "token_head": "token_head",
}


@pytest.fixture(scope="module")
def courier():
    return load_courier()[0]


def drawn(*size: int, spread: float = 1.0) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(sum(size))) * spread


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """How far two sets of logits are from each other."""
    return float((a - b).abs().mean())


def logits_of(engine: Engine) -> list[torch.Tensor]:
    """Every step's logits, from now on."""
    seen, forward = [], engine.paged.forward
    engine.paged.forward = lambda batch: seen.append(forward(batch)) or seen[-1]
    return seen


def answered(courier, asked, **options) -> tuple[list[list[int]], torch.Tensor, int]:
    """Tokens, all logits, and prompt tokens found, of requests that run one after the other."""
    engine = Engine(courier, 60, 4, checked=True, fill=math.nan, **options)
    steps, tokens = logits_of(engine), []
    for ids in asked:
        generation = engine.submit(ids, 6, eos=())
        engine.run()
        tokens.append(generation.tokens)
    return tokens, torch.cat(steps), engine.hits.found


@pytest.mark.parametrize("index", ["hash", "radix"])
@pytest.mark.parametrize("kind", SCALES)
def test_f27_fp8_with_prefix_reuse_equals_fp8_without(courier, kind, index):
    shared = prompt(37)
    asked = [shared + prompt(length, seed=length) for length in (3, 9, 16)]
    fp8 = {"kv_dtype": "fp8", "scales": SCALES[kind]}
    tokens, logits, found = answered(courier, asked, prefix=index, **fp8)
    expected, plain, _ = answered(courier, asked, **fp8)
    assert found == 2 * 36 and tokens == expected
    _, exact, _ = answered(courier, asked)
    assert apart(logits, plain) < 0.1 * apart(exact, plain)


@pytest.mark.parametrize("kind", SCALES)
def test_f27_a_prompt_reads_its_own_keys_as_the_cache_keeps_them_and_not_as_they_were_computed(courier, kind):
    fp8 = {"kv_dtype": "fp8", "scales": SCALES[kind]}
    _, whole, _ = answered(courier, [prompt(30)], **fp8)
    _, chunked, _ = answered(courier, [prompt(30)], token_budget=7, **fp8)
    _, exact, _ = answered(courier, [prompt(30)])
    first = [logits[:1] for logits in (whole, chunked, exact)]  # the answer's first token: nothing but a prompt is read
    assert apart(first[0], first[1]) < 0.1 * apart(first[0], first[2])


@pytest.mark.parametrize("which", [0, 1])
def test_f27_changing_a_scale_changes_the_stored_bytes_of_its_own_pool_only(which):
    rows = drawn(6, 2, 8), drawn(6, 2, 8, spread=9)
    stored = []
    for factor in (1.0, 1.7):
        scales = [0.05, 0.3]
        scales[which] *= factor
        cache = PagedCache(2, 4, kv_dtype="fp8", scales=tuple(scales))
        cache.write(0, *rows, torch.arange(6))
        stored.append([pool.view(torch.uint8).clone() for pool in (cache.keys[0], cache.values[0])])
    same = [torch.equal(a, b) for a, b in zip(*stored, strict=True)]
    assert same == [which == 1, which == 0]


@pytest.mark.parametrize("name", ["torch", "triton", "lab"])
@pytest.mark.parametrize("kind", ["tensor", "head"])
def test_f27_scales_of_keys_and_values_cannot_be_swapped_unnoticed(name, kind):
    scales = (0.07, 3.0) if kind == "tensor" else (torch.tensor([0.05, 0.9]), torch.tensor([4.0, 0.2]))
    key, value, query = drawn(7, 2, 16, spread=4), drawn(7, 2, 16, spread=40).flip(0), drawn(1, 4, 16)
    codes = [quantize_fp8(rows, scale) for rows, scale in zip((key, value), scales, strict=True)]
    real = [dequantize_fp8(rows, scale) for rows, scale in zip(codes, scales, strict=True)]
    expected, _ = attend(query, *real, 0.25)

    def run(key_scale, value_scale):
        if name == "lab":
            return attend_fp8(query[0], *codes, key_scale, value_scale)[None]
        pools = [
            torch.nn.functional.pad(rows.float(), (0, 0, 0, 0, 0, 1)).to(rows.dtype).view(2, 4, 2, 16) for rows in codes
        ]
        attention = paged_attention if name == "torch" else triton_attention.paged_attention
        rest = torch.tensor([[0, 1]], dtype=torch.int32), torch.tensor([0, 1]), torch.tensor([7], dtype=torch.int32)
        return attention(query, *pools, *rest, key_scale=key_scale, value_scale=value_scale)

    assert float((run(*scales).double() - expected).abs().max()) < 1e-3 * float(expected.abs().max())
    for wrong in (scales[::-1], (scales[0], 1.0), (1.0, scales[1]), (scales[0],) * 2, (scales[1],) * 2, (1.0, 1.0)):
        assert float((run(*wrong).double() - expected).abs().max()) > 0.05 * float(expected.abs().max()), wrong


def test_f27_an_engine_with_swapped_scales_says_something_else(courier):
    found = []
    for scales in ((0.04, 0.01), (0.01, 0.04)):
        engine = Engine(courier, 20, 4, kv_dtype="fp8", scales=scales)
        steps = logits_of(engine)
        engine.submit(prompt(30), 3, eos=())
        engine.run()
        found.append(steps[0])
    assert float((found[0] - found[1]).abs().max()) > 0.05
