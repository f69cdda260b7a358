"""What a token costs: the bytes of keys and values that a model keeps for each token, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvlab.errors import UsageError


def _at_least(least: int, **numbers: float) -> None:
    for name, number in numbers.items():
        if number < least:
            raise UsageError(f"{name} must be at least {least}, not {number}")


def bytes_per_token(layers: int, kv_heads: int, head_dim: int, bytes_per_number: int = 2) -> int:
    """Bytes of KV cache that one token takes: a key and a value of `kv_heads * head_dim` numbers in each layer.

    `kv_heads` is what tells the kinds apart: as many as query heads (MHA), fewer (GQA), one (MQA).
    Counts below 1 raise `UsageError`.
    """
    _at_least(1, layers=layers, kv_heads=kv_heads, head_dim=head_dim, bytes_per_number=bytes_per_number)
    return 2 * layers * kv_heads * head_dim * bytes_per_number


def tokens_that_fit(memory_bytes: int, bytes_per_token: int) -> int:
    """Whole tokens whose keys and values fit in `memory_bytes`."""
    _at_least(0, memory_bytes=memory_bytes)
    _at_least(1, bytes_per_token=bytes_per_token)
    return memory_bytes // bytes_per_token


def decode_step_seconds(weight_bytes: float, kv_bytes: float, bandwidth: float) -> float:
    """Seconds that one decode step takes at least: it reads all weights once and all cached keys and values once.

    `bandwidth` is in bytes a second. Compute time is left out, since decoding is bound by memory at the batch sizes that fit.
    """
    _at_least(0, weight_bytes=weight_bytes, kv_bytes=kv_bytes)
    if not bandwidth > 0:
        raise UsageError(f"bandwidth must be above 0, not {bandwidth}")
    return (weight_bytes + kv_bytes) / bandwidth


def latent_bytes_per_token(layers: int, latent_dim: int, rope_dim: int, bytes_per_number: int = 2) -> int:
    """Bytes a token under multi-head latent attention: one latent and one rotary key a layer, shared by all heads.

    There is no separate value: keys and values are both projected from the latent (DeepSeek-V2, arXiv 2405.04434, section 2.1).
    """
    _at_least(1, layers=layers, latent_dim=latent_dim, bytes_per_number=bytes_per_number)
    _at_least(0, rope_dim=rope_dim)
    return layers * (latent_dim + rope_dim) * bytes_per_number


def window_tokens(context: int, window: int, window_layers: int, full_layers: int) -> int:
    """Token-layers kept at a context of `context` tokens: full layers keep all of it, window layers the last `window`."""
    _at_least(0, context=context, window_layers=window_layers, full_layers=full_layers)
    _at_least(1, window=window)
    return full_layers * context + window_layers * min(context, window)


@dataclass(frozen=True)
class KVShape:
    """The shape of one model's KV cache."""

    name: str
    layers: int
    kv_heads: int
    head_dim: int
    bytes_per_number: int = 2
    window: int | None = None
    window_layers: int = 0
    latent_dim: int = 0
    rope_dim: int = 0

    @property
    def bytes_per_layer(self) -> int:
        """Bytes that one token takes in one layer."""
        if self.latent_dim:
            return latent_bytes_per_token(1, self.latent_dim, self.rope_dim, self.bytes_per_number)
        return bytes_per_token(1, self.kv_heads, self.head_dim, self.bytes_per_number)

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token takes in all layers, as long as it lies inside every window."""
        return self.layers * self.bytes_per_layer

    def bytes_at(self, context: int) -> int:
        """Bytes that a sequence of `context` tokens keeps, windows applied."""
        full_layers = self.layers - self.window_layers
        return self.bytes_per_layer * window_tokens(context, self.window or 1, self.window_layers, full_layers)

    @classmethod
    def from_config(cls, config: Any) -> KVShape:
        """The shape that a Hugging Face config object describes."""
        heads = config.num_attention_heads
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
        return cls(getattr(config, "model_type", "model"), config.num_hidden_layers,
                   getattr(config, "num_key_value_heads", None) or heads, head_dim)


PRESETS: dict[str, KVShape] = {
    shape.name: shape
    for shape in (
        KVShape("Llama-3-8B", 32, 8, 128),
        KVShape("Llama-3-70B", 80, 8, 128),
        KVShape("OPT-13B", 40, 40, 128),
        KVShape("Mistral-7B-v0.1", 32, 8, 128, window=4096, window_layers=32),
        KVShape("DeepSeek-V3", 61, 128, 128, latent_dim=512, rope_dim=64),
    )
}
