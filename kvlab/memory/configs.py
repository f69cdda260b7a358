"""From a Hugging Face configuration to a `KVShape`, by attributes alone: neither transformers nor torch is imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from kvlab.errors import UsageError

from .shapes import KVShape

_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
_FULL = {"full_attention", "attention", "hybrid"}
_WINDOW = {
    "sliding_attention": "sliding_window",
    "hybrid_sliding": "sliding_window",
    "chunked_attention": "attention_chunk_size",
}
_NOTHING = {"linear_attention", "mamba", "conv", "moe", "mlp"}  # a state of fixed size, or none, whatever the context


class _Layer(NamedTuple):
    """What one layer keeps for each token."""

    kv_heads: int
    head_dim: int
    value_dim: int | None
    latent_dim: int
    rope_dim: int


def shape_from_config(config: Any, bytes_per_number: int | None = None) -> KVShape:
    """`KVShape.from_config`, which says what holds."""
    if isinstance(config, Mapping):
        config = SimpleNamespace(**config)
    text = getattr(config, "text_config", None) or config
    text = SimpleNamespace(**text) if isinstance(text, Mapping) else text
    if getattr(text, "is_encoder_decoder", False):
        raise UsageError("an encoder-decoder model keeps two kinds of caches; a KVShape describes a decoder")
    windows: Counter[tuple[_Layer, int | None]] = Counter()
    for kind, layer in _layers(text):
        if kind not in _NOTHING:
            windows[_layer(layer), _window(kind, layer)] += 1
    if not windows:
        raise UsageError("no layer of this model keeps keys and values")
    name = getattr(config, "_name_or_path", "") or getattr(config, "model_type", "") or "model"
    return _group(name, windows, bytes_per_number or _bytes_per_number(text))


def layer_windows(config: Any) -> list[int | None]:
    """For each layer that keeps keys and values, how many tokens it sees, itself included: None is all of them."""
    text = getattr(config, "text_config", None) or config
    return [_window(kind, layer) for kind, layer in _layers(text) if kind not in _NOTHING]


def _layers(config: Any) -> list[tuple[str, Any]]:
    """The kind of each layer that has a cache of its own, and the object to read its sizes from."""
    each = _each_layer(config)
    kinds = getattr(config, "layer_types", None) or [_guess(layer) for layer in each]
    if len(kinds) != len(each):
        raise UsageError(f"the configuration has {len(each)} layers, but {len(kinds)} layer_types")
    sharing = getattr(config, "kv_sharing_modes", None)
    if not sharing:  # Gemma 3n gives their number only: the last ones reuse the keys and values of others
        reusing = getattr(config, "num_kv_shared_layers", None) or 0
        sharing = ["own"] * (len(each) - reusing) + ["reuse"] * reusing
    return [(kind, layer) for kind, layer, mode in zip(kinds, each, sharing, strict=True) if mode != "reuse"]


def _each_layer(config: Any) -> list[Any]:
    """One object a layer; where layers differ, a configuration says so for some of them, by number."""
    count, differing = _need(config, "num_hidden_layers"), getattr(config, "per_layer_config", None)
    if isinstance(differing, Mapping):  # as config.json has it; a configuration object resolves it itself
        changes = {int(number): changed for number, changed in differing.items()}
        return [SimpleNamespace(**vars(config) | changes.get(number, {})) for number in range(count)]
    return list(differing) if differing else [config] * count


def _guess(layer: Any) -> str:
    """The kind of a layer whose configuration has no list of kinds: a window means that it slides."""
    windowed = getattr(layer, "sliding_window", None) and getattr(layer, "use_sliding_window", True)
    return "sliding_attention" if windowed else "full_attention"


def _layer(config: Any) -> _Layer:
    heads = _need(config, "num_attention_heads")
    if latent := getattr(config, "kv_lora_rank", None):
        rope = _need(config, "qk_rope_head_dim")
        return _Layer(heads, _need(config, "qk_nope_head_dim") + rope, _need(config, "v_head_dim"), latent, rope)
    head_dim = getattr(config, "head_dim", None) or _need(config, "hidden_size") // heads
    value_dim = getattr(config, "v_head_dim", None)
    return _Layer(_kv_heads(config, heads), head_dim, None if value_dim == head_dim else value_dim, 0, 0)


def _kv_heads(config: Any, heads: int) -> int:
    if hasattr(config, "new_decoder_architecture"):  # Falcon: its num_kv_heads only counts in the newer architecture
        grouped = config.num_kv_heads if config.new_decoder_architecture else heads
        return 1 if config.multi_query and not config.new_decoder_architecture else grouped
    return getattr(config, "num_key_value_heads", None) or heads


def _window(kind: str, layer: Any) -> int | None:
    if kind in _FULL:
        return None
    if kind not in _WINDOW:
        raise UsageError(f"a layer of kind {kind!r} keeps something other than the keys and values of each token")
    return _need(layer, _WINDOW[kind])


def _group(name: str, windows: Counter[tuple[_Layer, int | None]], bytes_per_number: int) -> KVShape:
    """One `KVShape` for each distinct pair of layer and window size; a window and no window fit into one."""
    groups: dict[_Layer, dict[int | None, int]] = {}
    for (layer, window), count in windows.items():
        groups.setdefault(layer, {})[window] = count
    shapes = []
    for layer, counts in groups.items():
        full = counts.pop(None, 0)
        for window, count in counts.items() or [(None, 0)]:
            shapes.append(_shape(name, layer, full + count, window, count, bytes_per_number))
            full = 0
    first, *others = shapes
    return KVShape(**{**vars(first), "others": tuple(others)})


def _shape(
    name: str, layer: _Layer, layers: int, window: int | None, window_layers: int, bytes_per_number: int
) -> KVShape:
    return KVShape(
        name,
        layers,
        layer.kv_heads,
        layer.head_dim,
        bytes_per_number,
        window,
        window_layers,
        latent_dim=layer.latent_dim,
        rope_dim=layer.rope_dim,
        value_dim=layer.value_dim,
    )


def _bytes_per_number(config: Any) -> int:
    dtype = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None) or "bfloat16"
    name = str(dtype).removeprefix("torch.")
    if name not in _BYTES:
        raise UsageError(f"bytes_per_number must be given, since the configuration's dtype is {name!r}")
    return _BYTES[name]


def _need(config: Any, attribute: str) -> int:
    value = getattr(config, attribute, None)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"the configuration has no number {attribute!r} to read the KV shape from, but {value!r}")
    return value
