"""Shapes read from real Hugging Face configurations, compared with what their own caches hold."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kvlab.errors import UsageError
from kvlab.memory import PRESETS, KVShape

transformers = pytest.importorskip("transformers")

SMALL = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "pad_token_id": 0}
LLAMA_3 = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32}

ONE_LAYER = LLAMA_3 | {"num_hidden_layers": 1}


def same_cache(shape: KVShape, other: KVShape) -> bool:
    """Whether two shapes keep the same at every length that matters."""
    return all(shape.bytes_at(n) == other.bytes_at(n) for n in (0, 1, 127, 128, 129, 1023, 1025, 4097, 100_000))


@pytest.mark.parametrize(
    ("preset", "config", "changes"),
    [
        ("Llama-3-8B", "LlamaConfig", LLAMA_3),
        ("OPT-13B", "OPTConfig", {"hidden_size": 5120, "num_attention_heads": 40, "num_hidden_layers": 40}),
        ("Mistral-7B-v0.1", "MistralConfig", {}),
        ("Falcon-7B", "FalconConfig", {}),
        ("Qwen2.5-7B", "Qwen2Config", {"hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
                                       "num_hidden_layers": 28, "sliding_window": 131072, "max_window_layers": 28}),
        ("Gemma-2-9B", "Gemma2Config", {"hidden_size": 3584, "num_attention_heads": 16, "num_key_value_heads": 8,
                                        "num_hidden_layers": 42}),
        ("Gemma-3-27B", "Gemma3TextConfig", {"num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128,
                                             "num_hidden_layers": 62, "sliding_window": 1024}),
        ("Gemma-3-4B", "Gemma3TextConfig", {"num_key_value_heads": 4, "num_hidden_layers": 34, "sliding_window": 1024}),
        ("gpt-oss-120b", "GptOssConfig", {}),
        ("DeepSeek-V3", "DeepseekV3Config", {}),
    ],
)  # fmt: skip
def test_a_published_configuration_gives_the_preset(preset: str, config: str, changes: dict) -> None:
    shape = KVShape.from_config(getattr(transformers, config)(**changes))
    assert shape.bytes_per_token == PRESETS[preset].bytes_per_token
    assert same_cache(shape, PRESETS[preset])


@pytest.mark.parametrize(
    ("model", "config", "changes"),
    [
        ("LlamaForCausalLM", "LlamaConfig", {"num_key_value_heads": 2}),
        ("GPT2LMHeadModel", "GPT2Config", {"n_head": 4, "n_embd": 32}),
        ("MistralForCausalLM", "MistralConfig", {"num_key_value_heads": 2, "sliding_window": 6, "head_dim": 8}),
        ("Gemma2ForCausalLM", "Gemma2Config", {"num_key_value_heads": 2, "sliding_window": 6, "head_dim": 16}),
        ("Gemma3ForCausalLM", "Gemma3TextConfig", {"num_key_value_heads": 1, "sliding_window": 6, "head_dim": 16}),
        ("FalconForCausalLM", "FalconConfig", {}),
        ("FalconForCausalLM", "FalconConfig", {"multi_query": False}),
        ("GPTBigCodeForCausalLM", "GPTBigCodeConfig", {"n_head": 4, "n_embd": 32}),
        ("Qwen3ForCausalLM", "Qwen3Config", {"num_key_value_heads": 2, "head_dim": 16}),
        ("Qwen2ForCausalLM", "Qwen2Config", {"num_key_value_heads": 2, "use_sliding_window": True, "sliding_window": 6,
                                             "max_window_layers": 1}),
        ("GptOssForCausalLM", "GptOssConfig", {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 6,
                                               "num_local_experts": 2, "num_experts_per_tok": 1}),
        ("DeepseekV3ForCausalLM", "DeepseekV3Config", {"kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4,
                                                       "qk_nope_head_dim": 8, "v_head_dim": 6,
                                                       "first_k_dense_replace": 9}),
    ],
)  # fmt: skip
def test_the_shape_counts_the_bytes_of_the_models_own_cache(model: str, config: str, changes: dict) -> None:
    torch = pytest.importorskip("torch")
    sizes = {key: value for key, value in SMALL.items() if not (key.startswith("hidden") and "n_embd" in changes)}
    settings = getattr(transformers, config)(**sizes | {"num_hidden_layers": 3} | changes)
    network = getattr(transformers, model)(settings).eval()
    for length in (1, 5, 9):
        with torch.no_grad():
            cache = network(torch.ones(1, length, dtype=torch.long), use_cache=True).past_key_values
        shape = KVShape.from_config(settings, bytes_per_number=4)
        kept = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
        heads_of_latents = replace(shape, latent_dim=0, rope_dim=0)  # what older modules cache
        assert kept in [_with_their_windows(form).bytes_at(length) for form in (shape, heads_of_latents)]


def _with_their_windows(shape: KVShape) -> KVShape:
    """Hugging Face keeps one token less than the window: the newest one joins it only when it is looked at."""
    fields = vars(shape) | {"others": tuple(map(_with_their_windows, shape.others))}
    return KVShape(**fields | {"window": shape.window - 1 if shape.window else None})


def test_grouped_heads_count_once_even_where_hugging_face_caches_them_repeated() -> None:
    heads = {"num_kv_heads": 8, "num_attention_heads": 64, "hidden_size": 4096}
    grouped = transformers.FalconConfig(new_decoder_architecture=True, **heads)
    assert KVShape.from_config(grouped).kv_heads == 8


def test_latents_are_what_is_kept_and_the_heads_made_from_them_are_known_too() -> None:
    shape = KVShape.from_config(transformers.DeepseekV3Config())
    assert shape.bytes_per_token == 70_272
    assert replace(shape, latent_dim=0, rope_dim=0).bytes_per_token == 61 * 128 * (192 + 128) * 2  # 71 times as much


def test_layers_that_keep_nothing_per_token_are_left_out() -> None:
    shape = KVShape.from_config(transformers.Qwen3NextConfig())
    assert (shape.layers, shape.kv_heads, shape.head_dim) == (12, 2, 256)  # 36 of the 48 layers are linear attention


def test_layers_that_reuse_others_are_left_out() -> None:
    config = transformers.Gemma3nTextConfig()
    assert KVShape.from_config(config).layers == config.num_hidden_layers - config.num_kv_shared_layers


@pytest.mark.skipif(not hasattr(transformers, "Gemma4TextConfig"), reason="this transformers has no Gemma 4")
def test_layers_of_different_width_become_shapes_of_their_own() -> None:
    shape = KVShape.from_config(transformers.Gemma4TextConfig())
    assert (shape.layers, shape.head_dim, shape.window, shape.window_layers) == (25, 256, 512, 25)
    assert [(other.layers, other.head_dim, other.window_layers) for other in shape.others] == [(5, 512, 0)]


@pytest.mark.skipif(not hasattr(transformers, "Gemma4TextConfig"), reason="this transformers has no Gemma 4")
def test_a_config_json_of_differing_layers_gives_the_same_as_the_object() -> None:
    config = transformers.Gemma4TextConfig()
    assert same_cache(KVShape.from_config(json.loads(json.dumps(config.to_dict()))), KVShape.from_config(config))


def test_the_text_part_of_a_multimodal_model_is_read() -> None:
    text = {"num_hidden_layers": 26, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 512}
    whole = transformers.Gemma3Config(text_config=text)
    assert same_cache(KVShape.from_config(whole), KVShape.from_config(transformers.Gemma3TextConfig(**text)))


def test_the_dtype_of_the_configuration_counts() -> None:
    for dtype, size in (("float32", 4), ("bfloat16", 2), ("float16", 2)):
        assert KVShape.from_config(transformers.LlamaConfig(**LLAMA_3, dtype=dtype)).bytes_per_number == size
    with pytest.raises(UsageError, match="bytes_per_number must be given.*'int3'"):
        KVShape.from_config(SimpleNamespace(**LLAMA_3, dtype="int3"))
    assert KVShape.from_config(SimpleNamespace(**LLAMA_3, dtype="int3"), bytes_per_number=1).bytes_per_number == 1


def test_the_dict_of_a_config_json_will_do() -> None:
    config = json.loads(json.dumps(transformers.LlamaConfig(**LLAMA_3).to_dict()))
    assert same_cache(KVShape.from_config(config), PRESETS["Llama-3-8B"])


@pytest.mark.parametrize(
    ("config", "match"),
    [
        (SimpleNamespace(), "num_hidden_layers"),
        (SimpleNamespace(num_hidden_layers=2), "num_attention_heads"),
        (SimpleNamespace(num_hidden_layers=2, num_attention_heads=4), "hidden_size"),
        (SimpleNamespace(num_hidden_layers=2.5, num_attention_heads=4), "num_hidden_layers.*2.5"),
        (SimpleNamespace(**ONE_LAYER, layer_types=["heavily_compressed_attention"]), "'heavily_compressed_attention'"),
        (SimpleNamespace(**ONE_LAYER, layer_types=["linear_attention"]), "no layer"),
        (SimpleNamespace(**LLAMA_3, layer_types=["full_attention"]), "32 layers, but 1"),
    ],
)
def test_a_configuration_without_a_decoders_cache_is_refused(config: object, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        KVShape.from_config(config)


def test_an_encoder_decoder_is_refused() -> None:
    with pytest.raises(UsageError, match="encoder-decoder"):
        KVShape.from_config(transformers.T5Config())
