"""Virtual memory under an unmodified generate(): the same tokens, no copies, and memory that comes and goes."""

from __future__ import annotations

import mmap
import sys

import pytest
import torch

from kvlab.errors import OutOfPages, UsageError
from kvlab.models import load_courier
from kvlab.serve.hf_virtual import VirtualGenerateCache
from tests.serve.models import attention, greedy, prompt, tiny

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this is the memory of Linux")
PAGE = mmap.PAGESIZE


def cache_for(model, **options) -> VirtualGenerateCache:
    return VirtualGenerateCache(model, **({"max_tokens": 128, "page_bytes": PAGE, "num_pages": 200} | options))


def padded(*prompts: list[int]) -> dict[str, torch.Tensor]:
    width = max(len(ids) for ids in prompts)
    rows = [[0] * (width - len(ids)) + ids for ids in prompts]
    mask = [[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts]
    return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(mask)}


@pytest.mark.parametrize("sliced", [False, True])
def test_courier_says_the_same_on_virtual_memory(sliced):
    model, tokenizer = load_courier()
    for text in ("Where is my order?", "Hello, two of my rolls are missing and I want my money back."):
        given = tokenizer(text, return_tensors="pt")
        cache = cache_for(model, sliced=sliced)
        found = model.generate(**given, max_new_tokens=60, do_sample=False, cache=cache)
        assert torch.equal(found, model.generate(**given, max_new_tokens=60, do_sample=False))
        cache.check()
        tokens = cache.layers[0].get_seq_length()
        held = tokens * sum(cache.memory.cache.token_bytes)
        assert 0 <= cache.memory.cache.resident_bytes() - held < (2 if sliced else 8) * PAGE


@pytest.mark.parametrize("kind", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["llama", "qwen3", "gpt2", "opt"])
def test_a_batch_of_unequal_prompts_gives_the_same_tokens(name, kind):
    model = attention(tiny(name), kind)
    batch, cache = padded(prompt(3), prompt(8), prompt(5)), cache_for(model, rows=3)
    options = {"max_new_tokens": 20, "do_sample": False}
    assert torch.equal(model.generate(**batch, **options, cache=cache), model.generate(**batch, **options))
    attention(model, "eager")
    cache.check()


def test_beams_are_copied_and_give_the_same_tokens():
    model = tiny("llama")
    batch, cache = padded(prompt(3), prompt(8)), cache_for(model, rows=8)
    options = {"max_new_tokens": 12, "do_sample": False, "num_beams": 4}
    assert torch.equal(model.generate(**batch, **options, cache=cache), model.generate(**batch, **options))
    cache.check()


def test_prompt_lookup_decoding_writes_over_the_tokens_it_takes_back():
    model, cache = tiny("llama"), cache_for(tiny("llama"))
    repeats = {"input_ids": torch.tensor([prompt(4) * 4]), "attention_mask": torch.ones(1, 16, dtype=torch.int64)}
    options = {"max_new_tokens": 12, "do_sample": False}
    assisted = model.generate(**repeats, **options, prompt_lookup_num_tokens=5, cache=cache)
    assert torch.equal(assisted, model.generate(**repeats, **options))
    cache.check()
    with pytest.raises(UsageError, match="0 or a negative number, not 1"):
        cache.crop(1)


def test_requests_one_after_another_reuse_the_same_addresses_and_leave_no_memory():
    model = tiny("llama")
    cache = cache_for(model)
    for length in (3, 40, 7, 60):
        ids = prompt(length)
        assert greedy(model, ids, 15, cache=cache) == greedy(model, ids, 15)
        cache.check()
        assert cache.memory.cache.resident_bytes() > 0
        cache.reset()
        assert cache.memory.cache.resident_bytes() == 0 and cache.get_seq_length() == 0


def test_a_step_without_pages_is_refused_for_all_rows_at_once():
    model = tiny("llama")
    cache = cache_for(model, rows=2, num_pages=9)  # 2 layers: 4 ranges a row, 64 tokens a page
    batch = padded(prompt(5), prompt(5, 1))
    with pytest.raises(OutOfPages, match="needed 8 free pages, there was 1"):
        model.generate(**batch, max_new_tokens=80, do_sample=False, cache=cache)
    cache.check()
    numbers = {cache.memory.cache.num_tokens(row) for row in range(2)}
    assert numbers == {64} and cache.memory.cache.num_used == 8


def test_a_first_step_that_is_refused_leaves_the_cache_as_if_it_had_never_been():
    model = tiny("llama")
    cache = cache_for(model, rows=2, num_pages=7)
    with pytest.raises(OutOfPages, match="needed 8 free pages, there were 7"):
        model.generate(**padded(prompt(4), prompt(4, 1)), max_new_tokens=2, cache=cache)
    assert len(cache.memory.cache) == 0 and cache.memory.cache.resident_bytes() == 0
    assert greedy(model, prompt(4), 9, cache=cache) == greedy(model, prompt(4), 9)


def test_what_a_cache_was_not_made_for_is_refused_in_a_sentence():
    model = tiny("llama")
    cache = cache_for(model, rows=2)
    greedy(model, prompt(4), 2, cache=cache)
    with pytest.raises(UsageError, match="has 1 rows of at most 2, and was given 2"):
        model(input_ids=torch.tensor([[4], [5]]), cache=cache)
    with pytest.raises(UsageError, match="has 0 rows of at most 1, and was given 2"):
        model.generate(**padded(prompt(4), prompt(4, 1)), max_new_tokens=2, cache=cache_for(model))
    with pytest.raises(UsageError, match="from 0 to 8 tokens, not to 9"):
        greedy(model, prompt(9), 2, cache=cache_for(model, max_tokens=8))
    with pytest.raises(UsageError, match=r"has \(heads, dim, dtype\)"):
        greedy(model, prompt(4), 2, cache=cache_for(model, dtype=torch.bfloat16))
    with pytest.raises(UsageError, match="for one shape"):
        cache_for(tiny("deepseek_v3"))
