"""A Hugging Face model cut over ranks: each keeps its heads' share of attention and its share of every MLP.

Which layers are cut by rows and which by columns is what the model's own configuration says (`base_model_tp_plan`).
transformers' own way of doing it refuses or tears apart heads where there are fewer KV heads than ranks; here every
rank then keeps a copy of the KV head that its query heads read. Embeddings, norms and the output layer are whole on
every rank.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

from kvlab.compute.shards import Add, cut_columns, cut_rows
from kvlab.errors import UsageError
from kvlab.memory import HeadShard, shard_heads

from .hf_support import Unsupported

WHOLE = {"replicated_with_grad_allreduce"}  # norms over one head's numbers: the same on every rank
KV = ("k_proj", "v_proj")


class Cut(NamedTuple):
    """One linear layer that is cut: its full name, "colwise" (its outputs) or "rowwise" (its inputs)."""

    name: str
    kind: str


def shards_of(config: PreTrainedConfig, ranks: int) -> list[HeadShard]:
    """The heads of each rank. What cannot be cut is refused with `Unsupported`, from the configuration alone."""
    objection = _objection(config)
    if objection is not None:
        raise Unsupported(f"{config.model_type} cannot be cut over {ranks} ranks: {objection}")
    heads = config.num_attention_heads
    try:
        shards = shard_heads(heads, getattr(config, "num_key_value_heads", None) or heads, ranks)
    except UsageError as error:
        raise Unsupported(f"{config.model_type} cannot be cut over {ranks} ranks: {error}") from error
    width = getattr(config, "intermediate_size", None)
    if isinstance(width, int) and width % ranks:
        raise Unsupported(f"{config.model_type} cannot be cut over {ranks} ranks: its MLP is {width} wide")
    return shards


def _objection(config: PreTrainedConfig) -> str | None:
    if getattr(config, "kv_lora_rank", None):
        return "its latents belong to all heads, so there is nothing to divide its cache by"
    plan = getattr(config, "base_model_tp_plan", None) or {}
    if {f".{name}" for name in ("q_proj", *KV)} - {name[name.rindex(".") :] for name in plan if "." in name}:
        return "its configuration has no plan that names the projections of its attention"
    kinds = set(plan.values()) - {"colwise", "rowwise"} - WHOLE
    if kinds:
        return f"its plan has layers of the kind {', '.join(sorted(kinds))}; colwise and rowwise are cut"
    return None


def shard_model(model: PreTrainedModel, rank: int, ranks: int, add: Add) -> HeadShard:
    """Cut `model` in place to the share of `rank`, and say which heads that is. add: sums a tensor over all ranks.

    A model that cannot be cut is refused with `Unsupported` before anything is changed. With one rank nothing is.
    """
    shard = shards_of(model.config, ranks)[rank]
    cuts = _cuts(model, ranks)
    if ranks == 1:
        return shard
    for name, kind in cuts:
        owner, child = model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
        linear = _linear(model, name)
        if kind == "rowwise":
            setattr(owner, child, cut_columns(linear, rank, ranks, add))
        elif child in KV:
            setattr(owner, child, cut_rows(linear, rank // shard.replicas, ranks // shard.replicas))
        else:
            setattr(owner, child, cut_rows(linear, rank, ranks))
    return shard


def _cuts(model: PreTrainedModel, ranks: int) -> list[Cut]:
    """Every layer to cut, each looked at: all that its plan names are there, and nothing else sees single heads."""
    prefix = f"{model.base_model_prefix}." if model.base_model is not model else ""
    named = model.config.base_model_tp_plan or {}
    plan = {prefix + name: kind for name, kind in named.items() if kind not in WHOLE}
    cuts = []
    for pattern, kind in plan.items():
        shape = re.compile(re.escape(pattern).replace(r"\*", r"\d+"))
        cuts += [Cut(name, kind) for name, _ in model.named_modules() if shape.fullmatch(name)]
    config = model.config
    kv_heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    for name, kind in cuts:
        linear = _linear(model, name)
        of = {"q_proj": config.num_attention_heads, **dict.fromkeys(KV, kv_heads)}.get(name.rpartition(".")[2], ranks)
        size = linear.in_features if kind == "rowwise" else linear.out_features
        if size % of:
            raise Unsupported(f"{name} of {size} numbers cannot be cut over {of} heads or ranks")
    _refuse_uncovered(model, {name for name, _ in cuts})
    return cuts


def _linear(model: PreTrainedModel, name: str) -> nn.Linear:
    layer = model.get_submodule(name)
    if type(layer) is not nn.Linear:
        raise Unsupported(f"{name} cannot be cut: it is a {type(layer).__name__}, not a plain linear layer")
    return layer


def _refuse_uncovered(model: PreTrainedModel, cut: set[str]) -> None:
    """`Unsupported` for an attention of which a part that sees all heads would stay whole."""
    for name, layer in model.named_modules():
        if not hasattr(layer, "layer_idx") or not hasattr(layer, "k_proj"):
            continue
        if not {f"{name}.{child}" for child in ("q_proj", *KV)} <= cut:
            raise Unsupported(f"{name} cannot be cut: its plan does not name it")
        one_head = {(), (1,), (getattr(layer, "head_dim", 0),)}
        for weight, parameter in layer.named_parameters():
            inside = any(f"{name}.{weight}".startswith(f"{each}.") for each in cut)
            if not inside and ("." not in weight or tuple(parameter.shape) not in one_head):
                raise Unsupported(f"{name} cannot be cut: its {weight} belongs to all heads")
