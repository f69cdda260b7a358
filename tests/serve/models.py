"""Tiny random models of every family that the bridge must serve: 2 layers, hidden 32-64, seeded."""

from __future__ import annotations

import functools

import torch
from transformers import (
    AutoModelForCausalLM,
    DeepseekV2Config,
    DeepseekV3Config,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GptOssConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    PhiConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
    SmolLM3Config,
)

VOCAB = 97
TOKENS = {"vocab_size": VOCAB, "bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0, "initializer_range": 0.15}
COMMON = {
    **TOKENS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
MOE = {"moe_intermediate_size": 16, "num_experts_per_tok": 2}
MLA = {"kv_lora_rank": 12, "q_lora_rank": 10, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6, **MOE}
ROUTED = {"n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1, "topk_group": 1, "n_group": 1}
MIXED = ["sliding_attention", "full_attention"]

CONFIGS = {
    "llama": lambda: LlamaConfig(**COMMON),
    "qwen2": lambda: Qwen2Config(**COMMON),
    "qwen3": lambda: Qwen3Config(**COMMON, head_dim=16),
    "mistral": lambda: MistralConfig(**COMMON, head_dim=8, sliding_window=6),
    "gemma2": lambda: Gemma2Config(
        **COMMON, head_dim=16, sliding_window=6, attn_logit_softcapping=2.0, query_pre_attn_scalar=8, layer_types=MIXED
    ),
    "gemma3": lambda: Gemma3TextConfig(
        **COMMON, head_dim=16, sliding_window=6, query_pre_attn_scalar=8, layer_types=MIXED
    ),
    "gpt_oss": lambda: GptOssConfig(
        **COMMON, head_dim=16, sliding_window=6, num_local_experts=4, num_experts_per_tok=2, layer_types=MIXED
    ),
    "deepseek_v2": lambda: DeepseekV2Config(
        **{**COMMON, "num_key_value_heads": 4}, **MLA, **ROUTED, topk_method="greedy"
    ),
    "deepseek_v3": lambda: DeepseekV3Config(**{**COMMON, "num_key_value_heads": 4}, **MLA, **ROUTED),
    "gpt2": lambda: GPT2Config(**TOKENS, n_embd=32, n_layer=2, n_head=4, n_positions=256),
    "opt": lambda: OPTConfig(
        **{**TOKENS, "bos_token_id": 2},
        hidden_size=32,
        ffn_dim=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=256,
        word_embed_proj_dim=32,
        init_std=0.15,
    ),
    "phi": lambda: PhiConfig(**COMMON, partial_rotary_factor=0.5),
    "smollm3": lambda: SmolLM3Config(**COMMON, no_rope_layers=[1, 0]),
    "qwen3_moe": lambda: Qwen3MoeConfig(**COMMON, **MOE, head_dim=16, num_experts=4, decoder_sparse_step=1),
}
NO_SDPA = {"gemma2", "gpt_oss"}  # transformers itself runs these with eager attention only


@functools.cache
def tiny(name: str, dtype: torch.dtype = torch.float32):
    """The model called `name`, the same weights every time. It has no EOS, so lengths are what tests ask for."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS[name](), attn_implementation="eager").eval()
    with torch.no_grad():
        for (
            parameter
        ) in model.parameters():  # biases, norms, sinks and router offsets too: zeros and ones would hide faults
            parameter.add_(torch.randn_like(parameter) * 0.05)
    model.generation_config.eos_token_id = None
    return model.to(dtype)


def prompt(length: int, seed: int = 0) -> list[int]:
    """`length` token ids, none of them special."""
    draw = torch.Generator().manual_seed(1000 * length + seed)
    return torch.randint(4, VOCAB, (length,), generator=draw).tolist()


def attention(model, name: str):
    """`model` set to one of transformers' own attentions."""
    model.set_attn_implementation(name)
    return model


def greedy(model, ids: list[int], new: int, **options) -> list[int]:
    """What `model.generate` adds to one prompt: the oracle."""
    given = torch.tensor([ids])
    found = model.generate(given, attention_mask=torch.ones_like(given), max_new_tokens=new, do_sample=False, **options)
    return found[0, len(ids) :].tolist()
