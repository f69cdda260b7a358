"""KV shapes of models that people serve, from the configurations their authors published; two bytes a number (bf16)."""

from __future__ import annotations

from .shapes import KVShape

PRESETS: dict[str, KVShape] = {
    shape.name: shape
    for shape in (
        # Every query head has its own keys and values (MHA).
        KVShape("OPT-13B", layers=40, kv_heads=40, head_dim=128),
        KVShape("OPT-175B", layers=96, kv_heads=96, head_dim=128),
        KVShape("Llama-2-7B", layers=32, kv_heads=32, head_dim=128),
        KVShape("Llama-2-13B", layers=40, kv_heads=40, head_dim=128),
        # Groups of query heads share them (GQA), or all do (MQA).
        KVShape("Llama-3-8B", layers=32, kv_heads=8, head_dim=128),
        KVShape("Llama-3-70B", layers=80, kv_heads=8, head_dim=128),
        KVShape("Llama-3.2-1B", layers=16, kv_heads=8, head_dim=64),
        KVShape("Mixtral-8x7B", layers=32, kv_heads=8, head_dim=128),
        KVShape("Qwen2.5-7B", layers=28, kv_heads=4, head_dim=128),
        KVShape("Qwen2.5-72B", layers=80, kv_heads=8, head_dim=128),
        KVShape("Qwen3-8B", layers=36, kv_heads=8, head_dim=128),
        KVShape("Qwen3-32B", layers=64, kv_heads=8, head_dim=128),
        KVShape("Qwen3-235B-A22B", layers=94, kv_heads=4, head_dim=128),
        KVShape("Falcon-7B", layers=32, kv_heads=1, head_dim=64),
        # All layers, or some of them, see only the last `window` tokens.
        KVShape("Mistral-7B-v0.1", layers=32, kv_heads=8, head_dim=128, window=4096, window_layers=32),
        KVShape("Gemma-2-9B", layers=42, kv_heads=8, head_dim=256, window=4096, window_layers=21),
        KVShape("Gemma-2-27B", layers=46, kv_heads=16, head_dim=128, window=4096, window_layers=23),
        KVShape("Gemma-3-4B", layers=34, kv_heads=4, head_dim=256, window=1024, window_layers=29),
        KVShape("Gemma-3-12B", layers=48, kv_heads=8, head_dim=256, window=1024, window_layers=40),
        KVShape("Gemma-3-27B", layers=62, kv_heads=16, head_dim=128, window=1024, window_layers=52),
        KVShape("gpt-oss-20b", layers=24, kv_heads=8, head_dim=64, window=128, window_layers=12),
        KVShape("gpt-oss-120b", layers=36, kv_heads=8, head_dim=64, window=128, window_layers=18),
        # One latent a layer for all heads (MLA); kv_heads and the dims are those of the expanded keys and values.
        KVShape("DeepSeek-V2", layers=60, kv_heads=128, head_dim=192, value_dim=128, latent_dim=512, rope_dim=64),
        KVShape("DeepSeek-V3", layers=61, kv_heads=128, head_dim=192, value_dim=128, latent_dim=512, rope_dim=64),
    )
}
