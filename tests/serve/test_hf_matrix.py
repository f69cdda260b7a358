"""Every model family on paged memory gives the tokens of transformers' own `generate()`, in fp32."""

from __future__ import annotations

import functools
import math

import pytest
import torch

from kvlab.serve.hf import PagedModel
from kvlab.serve.hf_cache import GenerateCache
from tests.serve.models import CONFIGS, NO_SDPA, attention, greedy, prompt, tiny
from tests.serve.running import decode, shuffled

B, NEW = 4, 9
LENGTHS = [1, B - 1, B, B + 1, 2 * B]
PROMPTS = [prompt(length) for length in LENGTHS]
FAMILIES = sorted(CONFIGS)
NO_GENERATE_BATCH = {  # what transformers 5.24's own continuous batching does with them
    "deepseek_v2": "fails: its cache has room for expanded heads only",
    "deepseek_v3": "fails: its cache has room for expanded heads only",
    "gemma2": "forgets the soft cap",
    "opt": "fails: its cache has no get_seq_length",
}


@functools.cache
def oracle(name: str) -> list[list[int]]:
    """One by one, eager; SDPA must agree before anything of ours is asked."""
    expected = [greedy(attention(tiny(name), "eager"), ids, NEW) for ids in PROMPTS]
    if name not in NO_SDPA:
        assert [greedy(attention(tiny(name), "sdpa"), ids, NEW) for ids in PROMPTS] == expected
    attention(tiny(name), "eager")
    return expected


@functools.cache
def paged(name: str) -> PagedModel:
    return PagedModel(tiny(name), num_blocks=32, block_size=B, fill=math.nan)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    "chunk, stagger", [(None, 0), (3, 0), (None, 2), (2, 3)], ids=["whole", "chunks", "mixed", "mixed chunks"]
)
def test_flattened_batches_give_the_tokens_of_generate(name, chunk, stagger):
    for pool in (*paged(name).cache.keys.values(), *paged(name).cache.values.values()):
        pool.fill_(math.nan)
    assert decode(paged(name), shuffled(32, B, seed=len(name)), PROMPTS, NEW, chunk, stagger) == oracle(name)


@pytest.mark.parametrize("name", sorted(set(CONFIGS) - set(NO_GENERATE_BATCH)))
def test_generate_batch_agrees_as_a_second_oracle(name):
    from transformers import ContinuousBatchingConfig, GenerationConfig

    model = attention(tiny(name), "eager")
    config = GenerationConfig(max_new_tokens=NEW, do_sample=False, eos_token_id=-1, pad_token_id=0)
    sizes = ContinuousBatchingConfig(page_size=16, num_blocks=64, max_batch_tokens=64)
    found = model.generate_batch(PROMPTS, generation_config=config, continuous_batching_config=sizes)
    found = sorted(found.items(), key=lambda pair: int(pair[0].rsplit("_", 1)[1]))
    assert [output.generated_tokens for _, output in found] == oracle(name)


@pytest.mark.parametrize("name", FAMILIES)
def test_an_unmodified_generate_on_paged_memory_gives_the_same_tokens(name):
    expected = oracle(name)
    model, width = tiny(name), 2 * B
    padded = torch.tensor([[0] * (width - len(ids)) + ids for ids in PROMPTS])
    mask = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in PROMPTS])
    for kind in ["eager"] + ["sdpa"] * (name not in NO_SDPA):
        cache = GenerateCache(64, B, fill=math.nan, pool=shuffled(64, B, seed=3).pool)
        attention(model, kind)
        found = model.generate(padded, attention_mask=mask, max_new_tokens=NEW, do_sample=False, cache=cache)
        plain = model.generate(padded, attention_mask=mask, max_new_tokens=NEW, do_sample=False)
        attention(model, "eager")
        assert torch.equal(found, plain)
        assert found[:, width:].tolist() == expected
        cache.check()


def test_latents_are_paged_and_not_the_heads_that_a_model_expands_them_to():
    for name in ("deepseek_v2", "deepseek_v3"):
        cache, config = paged(name).cache, tiny(name).config
        assert cache.keys[0].shape[2:] == (1, config.kv_lora_rank)
        assert cache.values[0].shape[2:] == (1, config.qk_rope_head_dim)
        expanded = config.num_attention_heads * (config.qk_nope_head_dim + config.qk_rope_head_dim + config.v_head_dim)
        assert cache.bytes_per_token == 2 * 4 * (config.kv_lora_rank + config.qk_rope_head_dim) < 2 * 4 * expanded
