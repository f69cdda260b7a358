"""Which Hugging Face models the bridge can serve, asked before anything runs, and answered in one sentence."""

from __future__ import annotations

from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

from kvlab.errors import UsageError

LAYER_TYPES = {"full_attention", "sliding_attention"}


class Unsupported(UsageError):
    """A model that the bridge would compute wrongly, so that it is refused instead."""


class MissingFromCache(Unsupported, AttributeError):
    """A model asked its cache for something that ours does not have. `hasattr` sees an ordinary missing attribute."""


def _objection(model: nn.Module) -> str | None:
    if not isinstance(model, PreTrainedModel) or not model.can_generate():
        return "it is not a Hugging Face model that generates text"
    config: PreTrainedConfig = model.config
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False):
        return "it has cross-attention, and only decoders are served"
    if any(hasattr(config, f"{kind}_config") for kind in ("vision", "audio")):
        return "it takes more than text"
    kinds = set(getattr(config, "layer_types", None) or ()) - LAYER_TYPES
    if kinds:
        return f"it has layers of the kind {', '.join(sorted(kinds))}; {' and '.join(sorted(LAYER_TYPES))} are paged"
    if getattr(config, "kv_sharing_modes", None) or getattr(config, "num_kv_shared_layers", 0):
        return "some of its layers read the keys of others"
    if getattr(config, "index_topk", None):
        return "its attention chooses tokens with an index of its own"
    if getattr(config, "attention_chunk_size", None) or not getattr(config, "is_causal", True):
        return "its attention is not plainly causal"
    if not model._supports_attention_backend or not model._can_set_attn_implementation():
        return "its attention cannot be replaced from outside (it does not go through transformers' AttentionInterface)"
    return None


def max_positions(config: PreTrainedConfig) -> int | None:
    """Positions that a model can tell apart, or None if its configuration does not say.

    With "longrope" only those of the shorter training: beyond them transformers turns the positions of the whole batch
    another way, so a long request would change the tokens of the short ones beside it.
    """
    rope = getattr(config, "rope_parameters", None) or {}
    settings = [part for part in (rope, *rope.values()) if isinstance(part, dict)]  # one, or one a layer type
    limits = [part["original_max_position_embeddings"] for part in settings if part.get("rope_type") == "longrope"]
    limits.append(getattr(config, "max_position_embeddings", None))
    return min(filter(None, limits), default=None)


def refuse_unsupported(model: nn.Module) -> None:
    """Pass over a causal language model that can be served; refuse any other with `Unsupported`, saying why."""
    objection = _objection(model)
    if objection is not None:
        raise Unsupported(f"{type(model).__name__} cannot be served on paged memory: {objection}")
