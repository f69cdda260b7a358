"""Models and engines whose keys and values are in 8 bits: the same tokens however they are served, twice the room."""

from __future__ import annotations

import functools
import math

import pytest
import torch

from kvlab.compute import LayerScales, Scales, paged_attention, write_kv
from kvlab.compute.fp8 import decode, encode
from kvlab.compute.lab_kernels import Kernels
from kvlab.compute.scales import row_scales
from kvlab.errors import UsageError
from kvlab.kernels.basic_decode import paged_decode_kernel
from kvlab.kernels.basic_write import write_kv_kernel
from kvlab.memory import HostTier, KVShape, fixed_scale_bytes, quantized, tokens_that_fit
from kvlab.models import courier_answers, load_courier
from kvlab.serve import Engine, PagedModel, Sampling
from kvlab.serve.policies import Policies, always_recompute, always_swap
from tests.serve.models import CONFIGS, prompt, tiny
from tests.serve.running import decode as decoded
from tests.serve.running import shuffled

B = 4
GRANULARITIES = ["tensor", "head", "token_head"]


def scales_for(kind: str, model):
    """Scales of keys and values that differ from each other and from 1; the same for both layers of a tiny model."""
    if kind != "head":
        return (0.013, 0.4) if kind == "tensor" else "token_head"
    heads = PagedModel(model, 1, B).cache.keys[0].shape[2]
    return torch.linspace(0.01, 0.03, heads), torch.linspace(0.5, 0.2, heads)


def rounding(paged: PagedModel, scales) -> PagedModel:
    """The oracle: the pools of `paged` are float32, and what is written there is what FP8 makes of each number."""

    def writer(key_pool, value_pool, key, value, slots):
        pair = (row_scales(key), row_scales(value)) if scales == "token_head" else scales
        rows = [decode(encode(x, scale), scale) for x, scale in zip((key, value), pair, strict=True)]
        write_kv(key_pool, value_pool, *rows, slots)

    paged._step.writer = writer
    return paged


@pytest.mark.parametrize("kind", GRANULARITIES)
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_every_family_reads_what_an_explicit_dequantize_in_fp32_would_give_it(name, kind):
    model = tiny(name)
    scales = scales_for(kind, model)
    paged = PagedModel(model, 32, B, fill=math.nan, kv_dtype="fp8", scales=scales)
    assert {pool.dtype for pool in paged.cache.keys.values()} == {torch.float8_e4m3fn}
    prompts, found = [prompt(length) for length in (1, 4, 9)], []
    oracle = rounding(PagedModel(model, 32, B, fill=math.nan), scales)
    for each in (paged, oracle, PagedModel(model, 32, B)):
        logits = [[] for _ in prompts]
        decoded(each, shuffled(32, B, seed=1), prompts, 1, chunk=3, logits=logits)
        found.append(torch.cat([torch.stack(steps) for steps in logits]))
    torch.testing.assert_close(found[0], found[1], atol=2e-4, rtol=1e-3)
    assert float((found[0] - found[2]).abs().max()) > 2e-3  # the rounding is there to be seen


@functools.cache
def courier(dtype: torch.dtype = torch.float32):
    return load_courier(dtype)


@functools.cache
def asked() -> list[list[int]]:
    """Prompts that courier knows how to go on with."""
    found = []
    for ids, targets in courier_answers(courier()[1], 6, seed=5):
        found.append(ids[: next(place for place, token in enumerate(targets) if token >= 0) + 1])
    return found


COURIERS = {"tensor": (0.05, 0.03), "head": (torch.tensor([0.05, 0.07]), torch.tensor([0.03, 0.04]))}


def engine(num_blocks: int, kind: str = "tensor", **options) -> Engine:
    scales = COURIERS.get(kind, kind)
    return Engine(courier()[0], num_blocks, B, kv_dtype="fp8", scales=scales, checked=True, fill=math.nan, **options)


def oracle(num_blocks: int, kind: str) -> Engine:
    made = Engine(courier()[0], num_blocks, B)
    rounding(made.paged, COURIERS.get(kind, kind))
    return made


def tokens_of(serving: Engine, prompts, new: int = 24) -> list[list[int]]:
    generations = [serving.submit(ids, new, eos=()) for ids in prompts]
    serving.run()
    assert serving.manager.pool.num_free == serving.manager.pool.num_blocks
    return [generation.tokens for generation in generations]


@functools.cache
def expected(kind: str) -> list[list[int]]:
    return tokens_of(oracle(400, kind), asked())


@pytest.mark.parametrize("kind", GRANULARITIES)
@pytest.mark.parametrize("choice", [always_recompute, always_swap], ids=["recompute", "swap"])
def test_i12_preemption_and_swapping_do_not_change_the_tokens(kind, choice):
    lengths = sorted(-(-len(ids) // B) for ids in asked())
    serving = engine(
        lengths[-1] + lengths[-2] + 4, kind, host_blocks=200, policies=Policies(swap=choice), watermark=0.0
    )
    found, stats = tokens_of(serving, asked()), serving.stats()
    assert stats.preemptions > 0 and (stats.swaps > 0) == (choice is always_swap)
    assert found == expected(kind)


@pytest.mark.parametrize("kind", GRANULARITIES)
def test_samples_share_blocks_and_copy_them_with_their_scales(kind):
    found, copied = [], []
    for serving in (engine(200, kind), oracle(200, kind)):
        samples = serving.sample(asked()[0], 3, 12, Sampling(temperature=0.8, seed=3), eos=())
        copy = serving.paged.cache.copy_blocks
        serving.paged.cache.copy_blocks = lambda pairs, copy=copy: copied.extend(pairs) or copy(pairs)
        serving.run()
        found.append([sample.tokens for sample in samples.best])
    assert copied and found[0] == found[1] and len(set(map(tuple, found[0]))) > 1


@pytest.mark.parametrize("kind", GRANULARITIES)
def test_a_beam_search_finds_what_an_explicit_dequantize_would_find(kind):
    found = []
    for serving in (engine(200, kind), oracle(200, kind)):
        search = serving.beam(asked()[1], 3, 12)
        serving.run()
        found.append([hypothesis.tokens for hypothesis in search.hypotheses])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", GRANULARITIES)
def test_what_comes_back_from_a_tier_is_read_as_it_was_written(kind):
    found = []
    for tiers in ((), (HostTier(200),)):
        serving = engine(60, kind, prefix="hash", tiers=tiers)
        found.append([tokens_of(serving, [ids])[0] for ids in asked()[:3] * 2])
        held = sum(tier.loaded for tier in serving.stats().tiers)
        assert bool(held) == bool(tiers)
        serving.close()
    assert found[0] == found[1] == expected(kind)[:3] * 2


def most_at_once(serving: Engine) -> int:
    """Serve more than fits, and say how many tokens were cached at the fullest moment."""
    for ids in asked() * 6:
        serving.submit(ids[:60], 4, eos=())
    most = 0
    while serving.has_work:
        serving.step()
        most = max(most, sum(serving.manager.num_tokens(generation.id) for generation in serving.running))
    return most


def test_an_engine_with_the_same_bytes_holds_twice_the_tokens_of_bf16():
    model = courier(torch.bfloat16)[0]
    shape = KVShape.from_config(model.config)
    budget = 16 * 16 * shape.bytes_per_token  # 16 blocks of 16 tokens
    options = {"watermark": 0.0, "token_budget": 4096}
    held = {}
    for name, kept, how in (
        ("bf16", shape, {}),
        ("fp8", quantized(shape), {"kv_dtype": "fp8", "scales": (0.05, 0.03)}),
    ):
        serving = Engine(model, tokens_that_fit(budget, kept.bytes_per_token) // 16, 16, **how, **options)
        cache = serving.paged.cache
        assert cache.num_bytes == budget and cache.bytes_per_token == kept.bytes_per_token
        held[name] = serving.num_blocks, most_at_once(serving)
        fixed = cache.scales.num_bytes * len(cache) if how else 0
        assert fixed == (fixed_scale_bytes(shape) if how else 0) < 0.001 * budget
    assert held["fp8"] == (2 * held["bf16"][0], 2 * held["bf16"][1]) and held["bf16"][1] >= 240


def test_scales_of_each_token_and_head_cost_an_eighth_of_what_is_kept_in_8_bits():
    cache = PagedModel(courier()[0], 4, 16, kv_dtype="fp8", scales="token_head").cache
    kept = quantized(KVShape.from_config(courier()[0].config), "token_head")
    assert cache.bytes_per_token == kept.bytes_per_token == 4 * 2 * 2 * (32 + 4)


def test_parts_that_know_no_scales_are_refused():
    model = tiny("llama")

    def plain(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None):
        raise AssertionError

    for options, match in (
        ({"attention": plain}, "need an attention that takes key_scale and value_scale, and this one takes query, "),
        ({"kernels": Kernels(write_kv_kernel)}, "lab 05's kernels know no scales"),
        ({"kernels": Kernels(decode=paged_decode_kernel)}, "lab 05's kernels know no scales"),
        ({"scales": Scales([(1.0, 1.0)] * 3 + [(2.0, 1.0)])}, None),
        ({"scales": (torch.ones(3), torch.ones(3))}, "there are 2 KV heads, and scales for 3"),
        ({"scales": "head"}, "have to be measured first"),
        ({"kv_dtype": "fp4"}, 'not as "fp4"'),
        ({"kv_dtype": "auto", "scales": (1.0, 2.0)}, "scales go with keys and values in 8 bits"),
    ):
        options = {"kv_dtype": "fp8", **options}
        if match is None:
            Engine(model, 4, B, **options)  # more layers than the model has do no harm
            continue
        with pytest.raises(UsageError, match=match):
            Engine(model, 4, B, **options)
    with pytest.raises(UsageError, match="scales for 2 layers, and the model has a layer 2"):
        Engine(courier()[0], 4, B, kv_dtype="fp8", scales=Scales([(1.0, 1.0)] * 2))


def test_an_attention_of_ones_own_is_given_the_scales():
    seen = []

    def mine(*given, key_scale=None, value_scale=None, **options):
        seen.append(LayerScales(key_scale, value_scale))
        return paged_attention(*given, key_scale=key_scale, value_scale=value_scale, **options)

    found = [
        tokens_of(Engine(tiny("llama"), 9, B, kv_dtype="fp8", scales=(0.02, 0.3), attention=attention), [prompt(6)], 5)
        for attention in (None, mine)
    ]
    assert found[0] == found[1] and set(seen) == {LayerScales(0.02, 0.3)}


def test_the_kernels_serve_fp8_too_and_pytorch_what_they_cannot(monkeypatch):
    ids, options = prompt(5), {"kv_dtype": "fp8", "scales": (0.02, 0.3)}
    expected = tokens_of(Engine(tiny("qwen3"), 4, 16, **options), [ids], 2)
    monkeypatch.setenv("KVLAB_BACKEND", "triton")
    serving = Engine(tiny("qwen3"), 4, 16, **options)
    assert serving.paged.backend.name == "triton" and tokens_of(serving, [ids], 2) == expected
    each = PagedModel(tiny("qwen3"), 4, 16, kv_dtype="fp8", scales="token_head")
    assert each.backend.name == "torch" and "no scale for each token and head" in each.backend.why
