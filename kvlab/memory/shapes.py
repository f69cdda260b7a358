"""What a token costs: the bytes of keys and values that a model keeps for each token, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvlab.errors import UsageError


def _at_least(least: int, **numbers: float) -> None:
    for name, number in numbers.items():
        if not number >= least:  # written so that NaN is refused too
            raise UsageError(f"{name} must be at least {least}, not {number}")


def bytes_per_token(layers: int, kv_heads: int, head_dim: int, bytes_per_number: int = 2) -> int:
    """Bytes of KV cache that one token takes: a key and a value of `kv_heads * head_dim` numbers in each layer.

    `kv_heads` is what tells the kinds apart: as many as query heads (MHA), fewer (GQA), one (MQA).
    Counts below 1 raise `UsageError`. Source: Kwon et al. 2023 (arXiv 2309.06180), section 3.
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

    `bandwidth` is in bytes a second. Compute time is left out, since decoding is bound by memory at the batch sizes
    that fit.
    """
    _at_least(0, weight_bytes=weight_bytes, kv_bytes=kv_bytes)
    if not bandwidth > 0:
        raise UsageError(f"bandwidth must be above 0, not {bandwidth}")
    return (weight_bytes + kv_bytes) / bandwidth


def latent_bytes_per_token(layers: int, latent_dim: int, rope_dim: int, bytes_per_number: int = 2) -> int:
    """Bytes a token under multi-head latent attention: one latent and one rotary key a layer, shared by all heads.

    There is no separate value: keys and values are both projected from the latent (DeepSeek-V2, arXiv 2405.04434,
    section 2.1).
    """
    _at_least(1, layers=layers, latent_dim=latent_dim, bytes_per_number=bytes_per_number)
    _at_least(0, rope_dim=rope_dim)
    return layers * (latent_dim + rope_dim) * bytes_per_number


def window_tokens(context: int, window: int, window_layers: int, full_layers: int) -> int:
    """Tokens kept, summed over layers: full layers keep all of the `context`, window layers the last `window`."""
    _at_least(0, context=context, window_layers=window_layers, full_layers=full_layers)
    _at_least(1, window=window)
    return full_layers * context + window_layers * min(context, window)


@dataclass(frozen=True)
class KVShape:
    """The shape of one model's KV cache: what each layer keeps for each token.

    - MHA, GQA, MQA: `kv_heads` keys of `head_dim` numbers and as many values of `value_dim` (None: `head_dim`)
    - MLA: `latent_dim` > 0; one latent and one rotary key of `rope_dim` instead, shared by all heads; the other sizes
      are then those of the keys and values that are made from them
    - sliding windows: `window_layers` of the `layers` keep only the last `window` tokens
    - layers of another shape, as in Gemma 4: one more `KVShape` in `others` for each kind
    - keys and values in 8 bits: `bytes_per_number` 1, and `scale_bytes` for the two scales that a token has of its own
      in each head, if it has (see `quantized`)

    Counts below 1, or window layers without a window, raise `UsageError`.
    """

    name: str
    layers: int
    kv_heads: int
    head_dim: int
    bytes_per_number: int = 2
    window: int | None = None
    window_layers: int = 0
    latent_dim: int = 0
    rope_dim: int = 0
    value_dim: int | None = None
    others: tuple[KVShape, ...] = ()
    scale_bytes: int = 0

    def __post_init__(self) -> None:
        _at_least(1, layers=self.layers, kv_heads=self.kv_heads, head_dim=self.head_dim)
        _at_least(1, bytes_per_number=self.bytes_per_number)
        _at_least(0, window_layers=self.window_layers, latent_dim=self.latent_dim, rope_dim=self.rope_dim)
        _at_least(0, scale_bytes=self.scale_bytes)
        if self.window_layers > self.layers:
            raise UsageError(f"{self.window_layers} of {self.layers} layers cannot have a window")
        if self.window_layers and not (self.window or 0) >= 1:
            raise UsageError(f"{self.window_layers} layers have a window, but the window is {self.window}")

    @property
    def numbers_per_layer(self) -> int:
        """Numbers that one token takes in one layer."""
        if self.latent_dim:
            return self.latent_dim + self.rope_dim
        value_dim = self.head_dim if self.value_dim is None else self.value_dim
        return self.kv_heads * (self.head_dim + value_dim)

    @property
    def bytes_per_layer(self) -> int:
        """Bytes that one token takes in one layer."""
        heads = 1 if self.latent_dim else self.kv_heads
        return self.numbers_per_layer * self.bytes_per_number + heads * self.scale_bytes

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token takes in all layers, as long as it lies inside every window."""
        return self.layers * self.bytes_per_layer + sum(other.bytes_per_token for other in self.others)

    def bytes_at(self, context: int) -> int:
        """Bytes that a sequence of `context` tokens keeps: windows applied, nothing rounded to blocks."""
        kept = window_tokens(context, self.window or 1, self.window_layers, self.layers - self.window_layers)
        return self.bytes_per_layer * kept + sum(other.bytes_at(context) for other in self.others)

    @classmethod
    def from_config(cls, config: Any, *, bytes_per_number: int | None = None) -> KVShape:
        """The shape that a Hugging Face configuration object, or the dict of a config.json, describes.

        `bytes_per_number` defaults to the configuration's dtype, or 2 where it names none. Layers that keep nothing per
        token (linear attention, MLP) are left out, and so are layers that reuse another's keys and values. Anything
        that is not a decoder's keys and values, or latents, raises `UsageError`.
        """
        from .configs import shape_from_config

        return shape_from_config(config, bytes_per_number)
