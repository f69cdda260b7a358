"""Models that would come out wrong on paged memory: the bridge refuses each in a sentence."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertModel,
    BloomConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaForCausalLM,
    MambaConfig,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.llama import modeling_llama

from kvlab.errors import UsageError
from kvlab.serve.hf import PagedModel
from kvlab.serve.hf_support import Unsupported
from tests.serve.models import CONFIGS

SMALL = {"num_layers": 1, "num_hidden_layers": 1, "hidden_size": 16, "vocab_size": 32}


def causal(config):
    return AutoModelForCausalLM.from_config(config)


@pytest.mark.parametrize(
    "make, says",
    [
        (
            lambda: T5ForConditionalGeneration(
                T5Config(d_model=16, d_ff=16, num_layers=1, d_kv=8, num_heads=2, vocab_size=32)
            ),
            "cross-attention",
        ),
        (
            lambda: BertModel(BertConfig(num_hidden_layers=1, hidden_size=16, num_attention_heads=2, vocab_size=32)),
            "generates text",
        ),
        (lambda: causal(MambaConfig(**SMALL)), "cannot be replaced from outside|layers of the kind"),
        (
            lambda: causal(BloomConfig(n_layer=1, n_head=2, hidden_size=16, vocab_size=32)),
            "cannot be replaced from outside",
        ),
        (
            lambda: causal(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=32, add_cross_attention=True)),
            "cross-attention",
        ),
        (
            lambda: causal(BertConfig(**{**SMALL, "num_attention_heads": 2, "intermediate_size": 16})),
            "its tokens see later ones too",
        ),
        (
            lambda: causal(GPTNeoXConfig(**{**SMALL, "num_attention_heads": 2, "intermediate_size": 16})),
            r"update\(\) without kwargs",
        ),
        (lambda: torch.nn.Linear(2, 2), "not a Hugging Face model"),
    ],
    ids=[
        "encoder-decoder",
        "encoder",
        "state space",
        "alibi",
        "cross-attention",
        "both directions",
        "no kwargs",
        "no model",
    ],
)
def test_a_model_that_would_come_out_wrong_is_refused_in_one_sentence(make, says):
    with pytest.raises(Unsupported, match=says) as refused:
        PagedModel(make(), 4)
    assert "\n" not in str(refused.value) and "cannot be served on paged memory" in str(refused.value)


@pytest.mark.parametrize("change, says", [
    ({"layer_types": ["full_attention", "linear_attention"]}, "linear_attention"),
    ({"is_causal": False}, "not plainly causal"),
    ({"attention_chunk_size": 8}, "not plainly causal"),
    ({"num_kv_shared_layers": 1}, "read the keys of others"),
    ({"index_topk": 4}, "index of its own"),
    ({"vision_config": {}}, "more than text"),
])  # fmt: skip
def test_settings_that_the_bridge_would_get_wrong_are_refused(change, says):
    model = LlamaForCausalLM(CONFIGS["llama"]())
    for name, value in change.items():
        setattr(model.config, name, value)
    with pytest.raises(Unsupported, match=says):
        PagedModel(model, 4)


def test_a_model_whose_layers_do_not_come_to_us_for_attention_is_refused(monkeypatch):
    model = LlamaForCausalLM(CONFIGS["llama"]()).eval()
    monkeypatch.setattr(modeling_llama.ALL_ATTENTION_FUNCTIONS, "get_interface", lambda name, default: default)
    with pytest.raises(Unsupported, match="2 layers wrote keys and 0 attended"):
        PagedModel(model, 4)


def test_a_model_that_asks_its_cache_for_more_gets_a_sentence(monkeypatch):
    model = LlamaForCausalLM(CONFIGS["llama"]()).eval()
    forward = modeling_llama.LlamaAttention.forward

    def curious(self, *args, cache=None, **kwargs):
        cache.update_indexer(None, 0)
        return forward(self, *args, cache=cache, **kwargs)

    monkeypatch.setattr(modeling_llama.LlamaAttention, "forward", curious)
    with pytest.raises(Unsupported, match='asks its cache for "update_indexer"'):
        PagedModel(model, 4)


def test_our_attention_outside_the_bridge_refuses_instead_of_ignoring_the_mask():
    model = LlamaForCausalLM(CONFIGS["llama"]())
    PagedModel(model, 4)
    model.set_attn_implementation("kvlab")
    with pytest.raises(UsageError, match="runs in PagedModel only"):
        model(torch.tensor([[1, 2]]))
