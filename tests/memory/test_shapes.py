"""What a token costs: arithmetic, refusals, and the figures the lesson states."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import (
    BANDWIDTH,
    CONTEXT,
    KV_BYTES,
    KV_TOKENS,
    LLAMA_3_8B,
    PRESETS,
    WEIGHT_BYTES,
    KVShape,
    bytes_per_token,
    decode_step_seconds,
    latent_bytes_per_token,
    tokens_that_fit,
    window_tokens,
)

KIB = 1024


def test_the_running_example_is_the_lessons() -> None:
    assert LLAMA_3_8B.bytes_per_token == bytes_per_token(32, 8, 128) == 128 * KIB
    assert tokens_that_fit(KV_BYTES, LLAMA_3_8B.bytes_per_token) == KV_TOKENS == 524_288
    assert KV_TOKENS // CONTEXT == 64
    assert KV_BYTES == 64 * 2**30


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OPT-13B", 800 * KIB),
        ("OPT-175B", 4608 * KIB),
        ("Llama-2-7B", 512 * KIB),
        ("Llama-3-8B", 128 * KIB),
        ("Llama-3-70B", 320 * KIB),
        ("Mistral-7B-v0.1", 128 * KIB),
        ("Qwen2.5-7B", 56 * KIB),
        ("Qwen3-8B", 144 * KIB),
        ("Falcon-7B", 8 * KIB),
        ("Gemma-3-27B", 496 * KIB),
        ("DeepSeek-V2", 60 * 576 * 2),
        ("DeepSeek-V3", 70_272),
    ],
)
def test_a_preset_costs_what_is_published(name: str, expected: int) -> None:
    assert PRESETS[name].bytes_per_token == expected
    assert PRESETS[name].name == name


def test_fewer_kv_heads_cost_proportionally_less() -> None:
    mha, gqa, mqa = (bytes_per_token(32, heads, 128) for heads in (32, 8, 1))
    assert (mha // gqa, mha // mqa) == (4, 32)


def test_eight_bit_numbers_halve_the_cache() -> None:
    assert 2 * bytes_per_token(32, 8, 128, 1) == bytes_per_token(32, 8, 128)


def test_a_latent_has_no_separate_value() -> None:
    assert latent_bytes_per_token(61, 512, 64) == 61 * (512 + 64) * 2
    assert latent_bytes_per_token(61, 512, 0) == 61 * 512 * 2


def test_whole_tokens_fit_and_no_more() -> None:
    assert tokens_that_fit(1000, 300) == 3
    assert tokens_that_fit(299, 300) == 0
    assert tokens_that_fit(0, 300) == 0


def test_a_decode_step_reads_weights_and_cache_once() -> None:
    assert decode_step_seconds(16e9, 0, 2e12) == pytest.approx(8e-3)
    assert decode_step_seconds(16e9, 64e9, 2e12) == pytest.approx(40e-3)
    one = decode_step_seconds(WEIGHT_BYTES, 1000 * LLAMA_3_8B.bytes_per_token, BANDWIDTH)
    many = decode_step_seconds(WEIGHT_BYTES, 64 * 1000 * LLAMA_3_8B.bytes_per_token, BANDWIDTH)
    assert 64 * one / many > 40  # so a batch of 64 is worth more than 40 times the tokens a second


@pytest.mark.parametrize("context", [0, 1, 4095, 4096, 4097, 100_000])
def test_a_window_keeps_its_last_tokens_only(context: int) -> None:
    assert window_tokens(context, 4096, 32, 0) == 32 * min(context, 4096)
    assert window_tokens(context, 4096, 21, 21) == 21 * context + 21 * min(context, 4096)


def test_a_shape_with_windows_stops_growing_there() -> None:
    mistral, gemma = PRESETS["Mistral-7B-v0.1"], PRESETS["Gemma-2-9B"]
    assert mistral.bytes_at(4096) == mistral.bytes_at(50_000) == 4096 * mistral.bytes_per_token
    assert gemma.bytes_at(4096) == 4096 * gemma.bytes_per_token
    assert gemma.bytes_at(8192) - gemma.bytes_at(4096) == 4096 * gemma.bytes_per_token // 2


def test_without_windows_a_sequence_costs_its_tokens() -> None:
    for shape in PRESETS.values():
        if not shape.window:
            assert shape.bytes_at(1000) == 1000 * shape.bytes_per_token


def test_layers_of_another_shape_are_added() -> None:
    wide = KVShape("wide", layers=5, kv_heads=4, head_dim=512)
    both = KVShape("both", layers=25, kv_heads=4, head_dim=256, window=512, window_layers=25, others=(wide,))
    assert both.bytes_per_token == 25 * 4 * 512 * 2 + wide.bytes_per_token
    assert both.bytes_at(10_000) == 25 * 4 * 512 * 2 * 512 + wide.bytes_at(10_000)


def test_values_may_be_narrower_than_keys() -> None:
    assert KVShape("expanded DeepSeek-V3", 61, 128, 192, value_dim=128).bytes_per_token == 61 * 128 * 320 * 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: bytes_per_token(0, 8, 128),
        lambda: bytes_per_token(32, -1, 128),
        lambda: bytes_per_token(32, 8, 128, 0),
        lambda: tokens_that_fit(-1, 2),
        lambda: tokens_that_fit(10, 0),
        lambda: decode_step_seconds(1, 1, 0),
        lambda: decode_step_seconds(-1, 1, 1),
        lambda: decode_step_seconds(1, 1, float("nan")),
        lambda: decode_step_seconds(float("nan"), 1, 1),
        lambda: latent_bytes_per_token(1, 0, 64),
        lambda: latent_bytes_per_token(1, 512, -1),
        lambda: window_tokens(-1, 4096, 1, 1),
        lambda: window_tokens(1, 0, 1, 1),
        lambda: KVShape("x", 32, 0, 128),
        lambda: KVShape("x", 32, 8, 128, window=4096, window_layers=33),
        lambda: KVShape("x", 32, 8, 128, window_layers=1),
    ],
)
def test_what_can_never_be_right_is_refused_and_named(call) -> None:
    with pytest.raises(UsageError, match="must be|cannot|but the window"):
        call()
