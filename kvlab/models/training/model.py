"""The model before and during training: a small stock Llama, its loss, and how it is saved."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from transformers import AttentionInterface, GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from kvlab.models.training.answers import CAP
from kvlab.models.training.batches import IGNORED, batches
from kvlab.models.training.conversations import chats
from kvlab.models.training.recipe import Recipe
from kvlab.models.training.tokenizer import POSITIONS

HEAD = 32


def _attention(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any, **__: Any,
) -> tuple[torch.Tensor, None]:
    """Causal attention in fp32, twice as fast backwards on a CPU as bf16. Padding is on the right: no mask."""
    with torch.autocast("cpu", enabled=False):
        out = F.scaled_dot_product_attention(query.float(), key.float(), value.float(), is_causal=True, enable_gqa=True)
    return out.transpose(1, 2), None


AttentionInterface.register("courier_training", _attention)


def new_model(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """An untrained model: a small Llama with grouped-query attention, whose output projections start at zero."""
    torch.manual_seed(recipe.seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=recipe.width, intermediate_size=recipe.mlp,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.width // HEAD, num_key_value_heads=recipe.width // HEAD // 2, head_dim=HEAD,
        max_position_embeddings=POSITIONS, tie_word_embeddings=True, initializer_range=0.05, dtype="float32",
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    for name, weight in model.named_parameters():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            torch.nn.init.zeros_(weight)
    model.generation_config = GenerationConfig(
        do_sample=False, max_new_tokens=CAP, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )
    return model


def loss_of(model: LlamaForCausalLM, ids: torch.Tensor, targets: torch.Tensor, body: Any = None) -> torch.Tensor:
    """Mean cross-entropy of the wanted tokens; no other logits are made. `body`: a compiled `model.model`."""
    with torch.autocast("cpu", torch.bfloat16):
        hidden = (model.model if body is None else body)(input_ids=ids, use_cache=False).last_hidden_state
        wanted = targets != IGNORED
        logits = model.lm_head(hidden[wanted])
    return F.cross_entropy(logits.float(), targets[wanted])


@torch.no_grad()
def held_out_loss(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, count: int = 4) -> float:
    """Loss per answer token on `count` batches of held-out conversations."""
    total, tokens = 0.0, 0
    for ids, targets in islice(batches(tokenizer, chats(99, held_out=True), 4096, pool=128), count):
        wanted = int((targets != IGNORED).sum())
        total, tokens = total + float(loss_of(model, ids, targets)) * wanted, tokens + wanted
    return total / tokens


def save(model: LlamaForCausalLM, folder: Path) -> None:
    """Write the weights in bf16, and the configuration."""
    copy = LlamaForCausalLM(model.config).to(torch.bfloat16)  # type: ignore[arg-type]  # its stub lacks the overload
    copy.load_state_dict({name: value.to(torch.bfloat16) for name, value in model.state_dict().items()})
    copy.generation_config = model.generation_config
    copy.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
