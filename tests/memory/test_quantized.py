"""Bytes of caches in 8 bits, scales included."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import KVShape, fixed_scale_bytes, quantized, tokens_that_fit
from kvlab.memory.presets import PRESETS

LLAMA = KVShape("Llama-3-8B", layers=32, kv_heads=8, head_dim=128)


def test_a_token_of_llama_3_8b_takes_64_kib_and_twice_as_many_fit():
    small = quantized(LLAMA)
    assert (LLAMA.bytes_per_token, small.bytes_per_token) == (128 * 1024, 64 * 1024)
    assert tokens_that_fit(10**10, small.bytes_per_token) // tokens_that_fit(10**10, LLAMA.bytes_per_token) == 2
    assert fixed_scale_bytes(LLAMA) == 32 * 2 * 4 and fixed_scale_bytes(LLAMA, "head") == 32 * 2 * 8 * 4


def test_scales_of_each_token_and_head_are_counted_with_the_token():
    each = quantized(LLAMA, "token_head")
    assert each.bytes_per_token == 32 * 8 * 2 * (128 + 4) and fixed_scale_bytes(LLAMA, "token_head") == 0
    assert each.bytes_at(10) == 10 * each.bytes_per_token


def test_latents_have_one_scale_each_and_layers_of_another_shape_their_own():
    mla = KVShape("mla", layers=3, kv_heads=16, head_dim=8, latent_dim=12, rope_dim=4)
    assert quantized(mla, "token_head").bytes_per_token == 3 * (16 + 8) and fixed_scale_bytes(mla, "head") == 3 * 8
    both = KVShape("both", layers=1, kv_heads=2, head_dim=8, others=(LLAMA,))
    assert quantized(both).bytes_per_token == 2 * 2 * 8 + 64 * 1024
    assert fixed_scale_bytes(both, "head") == 2 * 2 * 4 + fixed_scale_bytes(LLAMA, "head")


def test_every_preset_is_halved_by_one_scale_a_layer():
    for shape in PRESETS.values():
        assert 2 * quantized(shape).bytes_at(5000) == shape.bytes_at(5000)


def test_an_unknown_granularity_is_refused():
    for call in (lambda: quantized(LLAMA, "block"), lambda: fixed_scale_bytes(LLAMA, "block")):
        with pytest.raises(UsageError, match='not by "block"'):
            call()
    with pytest.raises(UsageError, match="scale_bytes must be at least 0, not -1"):
        KVShape("x", 1, 1, 1, scale_bytes=-1)
