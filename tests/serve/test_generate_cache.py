"""Paged memory under an unmodified generate(): beams, sampling, and what becomes of the blocks."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import BlockPool, blocks_needed
from kvlab.serve.hf_cache import GenerateCache
from tests.serve.models import CONFIGS, NO_SDPA, attention, prompt, tiny

B = 4
IDS = [prompt(3), prompt(8), prompt(5)]


def padded(prompts):
    width = max(len(ids) for ids in prompts)
    rows = [[0] * (width - len(ids)) + ids for ids in prompts]
    mask = [[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts]
    return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(mask)}


def both(model, new=9, num_blocks=200, **options):
    """The same call twice, on paged memory and without, with the same random numbers."""
    cache = GenerateCache(num_blocks, B, fill=math.nan)
    results = []
    for memory in ({"cache": cache}, {}):
        torch.manual_seed(11)
        results.append(model.generate(**padded(IDS), max_new_tokens=new, **options, **memory))
    cache.check()
    assert torch.equal(*results)
    return cache


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "deepseek_v3", "gpt2", "mistral"])
@pytest.mark.parametrize("kind", ["eager", "sdpa"])
def test_f12_beams_of_several_prompts_are_token_identical_and_share_blocks(name, kind):
    model = attention(tiny(name), "eager" if name in NO_SDPA else kind)
    cache = both(model, do_sample=False, num_beams=4)
    attention(model, "eager")
    unshared = 12 * blocks_needed(cache.length, B)
    assert cache.blocks_used < unshared and cache.copied_blocks > 0


def test_sampling_and_sampled_beams_see_the_same_logits():
    both(tiny("llama"), do_sample=True, temperature=1.3, top_k=0, num_return_sequences=2)
    both(tiny("llama"), do_sample=True, num_beams=3, temperature=1.3)


def test_prompt_lookup_decoding_crops_the_cache_and_gives_blocks_back():
    model, repeats = tiny("llama"), {"input_ids": torch.tensor([prompt(4) * 4]), "attention_mask": torch.ones(1, 16)}
    cache = GenerateCache(50, B, fill=math.nan)
    options = {"max_new_tokens": 12, "do_sample": False}
    assisted = model.generate(**repeats, **options, prompt_lookup_num_tokens=5, cache=cache)
    assert torch.equal(assisted, model.generate(**repeats, **options))
    cache.check()
    assert cache.blocks_used == blocks_needed(cache.length, B)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_in_bf16_it_is_token_identical_because_the_arithmetic_is_the_models_own(name):
    for kind in ["eager"] + ["sdpa"] * (name not in NO_SDPA):
        model = attention(tiny(name, torch.bfloat16), kind)
        both(model, do_sample=False)


def test_a_pool_that_is_too_small_says_so_and_keeps_its_tables():
    model, cache = tiny("llama"), GenerateCache(7, B)
    with pytest.raises(OutOfBlocks, match="needed 3 free blocks, there was 1") as refused:
        model.generate(**padded(IDS), max_new_tokens=9, do_sample=False, cache=cache)
    assert refused.value.needed == 3 and cache.length == 2 * B
    cache.check()
    cache.reset()
    assert cache.blocks_used == 0 and cache.get_seq_length() == 0
    again = model.generate(input_ids=torch.tensor([IDS[1]]), max_new_tokens=9, do_sample=False, cache=cache)
    assert torch.equal(again, model.generate(input_ids=torch.tensor([IDS[1]]), max_new_tokens=9, do_sample=False))


def test_a_first_step_that_does_not_fit_leaves_no_rows_behind():
    cache = GenerateCache(2, B)
    with pytest.raises(OutOfBlocks):
        cache.update(torch.zeros(2, 1, 8, 2), torch.zeros(2, 1, 8, 2), 0)
    assert cache.tables == [] and cache.blocks_used == 0
    cache.update(torch.zeros(1, 1, 8, 2), torch.zeros(1, 1, 8, 2), 0)


def test_a_pool_that_names_more_blocks_than_there_are_is_refused():
    with pytest.raises(UsageError, match="the pool names 9 blocks, the cache has 8"):
        GenerateCache(8, B, pool=BlockPool(9))


def test_rows_move_by_counting_and_a_shared_block_is_copied_when_written():
    cache = GenerateCache(20, B)
    new = torch.arange(6.0).view(1, 1, 6, 1).expand(2, 1, 6, 2)
    cache.update(new, new, 0)
    cache.reorder_cache(torch.tensor([1, 1]))
    assert cache.tables[0] == cache.tables[1] and cache.blocks_used == 2
    keys, _ = cache.update(torch.tensor([[[[7.0, 7.0]]], [[[8.0, 8.0]]]]), new[:, :, :1], 0)
    assert (
        cache.copied_blocks == 1
        and cache.tables[0][0] == cache.tables[1][0]
        and cache.tables[0][1] != cache.tables[1][1]
    )
    assert keys[:, 0, :, 0].tolist() == [[0, 1, 2, 3, 4, 5, 7], [0, 1, 2, 3, 4, 5, 8]]
    cache.batch_repeat_interleave(2)
    cache.batch_select_indices(torch.tensor([3, 0]))
    cache.check()
    keys, _ = cache.update(new[:, :, :1], new[:, :, :1], 0)
    assert keys[:, 0, 6, 0].tolist() == [8, 7]
    with pytest.raises(UsageError, match="holds 2 rows, and was given 3"):
        cache.update(torch.zeros(3, 1, 1, 2), torch.zeros(3, 1, 1, 2), 0)
    with pytest.raises(UsageError, match="0 or a negative number"):
        cache.crop(3)


def test_a_full_block_that_rows_share_is_not_copied_when_they_go_on():
    cache = GenerateCache(20, B)
    cache.update(torch.zeros(2, 1, B, 2), torch.zeros(2, 1, B, 2), 0)
    cache.reorder_cache(torch.tensor([0, 0]))
    cache.update(torch.zeros(2, 1, 1, 2), torch.zeros(2, 1, 1, 2), 0)
    assert cache.copied_blocks == 0 and cache.blocks_used == 3
    cache.check()


def test_its_check_sees_a_count_that_is_off():
    cache = GenerateCache(20, B)
    cache.update(torch.zeros(1, 1, 5, 2), torch.zeros(1, 1, 5, 2), 0)
    cache.pool.share([cache.tables[0][0]])
    with pytest.raises(InvariantBroken, match="I2"):
        cache.check()
