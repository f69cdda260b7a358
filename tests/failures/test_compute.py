"""Failures that other systems had where keys and values are read and written, by the course's own numbers."""

from __future__ import annotations

import math
import mmap

import pytest
import torch

from kvlab.compute import PagedCache, attend_blockwise, gather_kv, merge_partials, paged_attention, write_kv
from kvlab.memory import BlockManager
from kvlab.serve.engine import Engine
from kvlab.serve.hf import PagedModel
from kvlab.serve.hf_cache import GenerateCache
from tests.compute.reference import Paged
from tests.serve.models import prompt, tiny
from tests.serve.running import decode, shuffled

OPTIONS = [{}, {"window": 3}, {"softcap": 2.0}, {"sinks": torch.linspace(-1, 1, 4)}, {"return_lse": True}]


def attend(batch: Paged, query, start, **options):
    found = paged_attention(query, batch.key_pool, batch.value_pool, batch.tables, start, batch.lengths, **options)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("options", OPTIONS, ids=[" ".join(options) or "plain" for options in OPTIONS])
def test_f21_a_pool_of_nan_infinity_or_large_numbers_changes_no_bit_of_the_output(options):
    lengths, counts = [9, 4, 17, 1, 0], [9, 1, 4, 1, 1]
    results = []
    for fill in (0.0, math.nan, math.inf, -math.inf, 1e4):
        batch = Paged(lengths, block_size=4, fill=fill)
        query, start = batch.queries(counts, 4)
        results.append(attend(batch, query, start, **options))
    for found in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found, results[0], strict=True))
    assert all(bool(torch.isfinite(output).all()) for output, *_ in results)


@pytest.mark.parametrize("fill", [math.nan, math.inf, 1e4])
def test_f21_block_by_block_attention_ignores_what_lies_in_unused_slots(fill):
    found = []
    for rubbish in (0.0, fill):
        batch = Paged([6], block_size=4, fill=rubbish)
        query, _ = batch.queries([1], 4)
        found.append(attend_blockwise(query[0], batch.key_pool, batch.value_pool, batch.tables[0].tolist(), 6))
    assert torch.equal(found[0][0], found[1][0]) and torch.equal(found[0][1], found[1][1])


def far_pool(num_blocks: int, block_size: int, heads: int, dim: int) -> torch.Tensor:
    """A pool of which only the pages that are touched take memory."""
    lazily = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
    memory = mmap.mmap(-1, num_blocks * block_size * heads * dim * 2, flags=lazily)
    return torch.frombuffer(memory, dtype=torch.float16).view(num_blocks, block_size, heads, dim)


def test_f22_blocks_beyond_two_to_the_31_elements_are_written_and_read_in_the_right_place():
    heads, dim, size = 2, 256, 16
    per_block = size * heads * dim
    num_blocks = 2**32 // per_block + 64
    far = [2**32 // per_block + 5, 2**31 // per_block + 1, 2**32 // per_block + 63]
    near = [0, 1, 2]
    length, draw = 40, torch.Generator().manual_seed(0)
    key, value = (torch.randn(length, heads, dim, generator=draw).half() for _ in range(2))
    query = torch.randn(3, 4, dim, generator=draw).half()
    results = []
    for table, blocks in ((near, 3), (far, num_blocks)):
        pools = [far_pool(blocks, size, heads, dim) for _ in range(2)]
        slots = torch.tensor([table[i // size] * size + i % size for i in range(length)])
        write_kv(*pools, key, value, slots)
        tables = torch.tensor([table], dtype=torch.int32)
        lengths = torch.tensor([length], dtype=torch.int32)
        results.append(paged_attention(query, *pools, tables, torch.tensor([0, 3]), lengths))
        assert torch.equal(gather_kv(pools[0], table, length), key)
        assert torch.equal(gather_kv(pools[1], table, length), value)
    assert far[0] * per_block > 2**31 and torch.equal(results[0], results[1])


@pytest.mark.parametrize("options", OPTIONS[:3])
def test_f24_a_context_of_nothing_gives_zero_and_minus_infinity_beside_others_that_are_right(options):
    batch = Paged([0, 5, 0], block_size=4)
    query, start = batch.queries([1, 1, 2], 4)
    output, lse = attend(batch, query, start, **{**options, "return_lse": True})
    assert not output[0].any() and not output[2:].any()
    assert bool((lse[0] == -math.inf).all()) and bool((lse[2:] == -math.inf).all())
    expected, _ = batch.expected(query, start, scale=8**-0.5, **options)
    torch.testing.assert_close(output.double(), expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(attend(batch, query, start, **options)[0][0], output[0])


def test_f24_rows_before_the_start_of_the_context_see_nothing():
    batch = Paged([2], block_size=4)
    query, start = batch.queries([5], 4)  # only the last two rows have a position
    output, lse = attend(batch, query, start, return_lse=True)
    assert not output[:3].any() and bool((lse[:3] == -math.inf).all())
    assert bool(output[3:].any()) and bool(torch.isfinite(lse[3:]).all())


def test_f24_a_batch_of_no_sequences_and_a_sequence_without_queries_are_legal():
    batch = Paged([5, 3], block_size=4)
    query, start = batch.queries([0, 2], 4)
    assert attend(batch, query, start)[0].shape == (2, 4, 8)
    no_blocks = torch.zeros(1, 0, dtype=torch.int32), torch.tensor([0, 2]), torch.zeros(1, dtype=torch.int32)
    assert not paged_attention(query, batch.key_pool, batch.value_pool, *no_blocks).any()
    none = torch.zeros(0, 4, 8)
    empty = torch.zeros(0, 2, dtype=torch.int32), torch.tensor([0]), torch.zeros(0, dtype=torch.int32)
    assert paged_attention(none, batch.key_pool, batch.value_pool, *empty).shape == (0, 4, 8)


def test_f24_merging_two_empty_parts_stays_empty():
    batch = Paged([0], block_size=4)
    query, _ = batch.queries([1], 4)
    output, lse = attend_blockwise(query[0], batch.key_pool, batch.value_pool, [], 0)
    assert not output.any() and bool((lse == -math.inf).all())
    merged, merged_lse = merge_partials(torch.stack([output, output]), torch.stack([lse, lse]))
    assert not merged.any() and bool((merged_lse == -math.inf).all())


def test_f25_slot_minus_one_writes_nothing_and_leaves_the_last_slot_alone():
    pools = torch.full((3, 4, 2, 8), math.nan), torch.full((3, 4, 2, 8), math.nan)
    token = torch.ones(3, 2, 8)
    write_kv(*pools, token, token, torch.tensor([-1, 5, -1]))
    for pool in pools:
        assert bool(pool.view(12, 2, 8)[11].isnan().all())
        assert int((~pool.isnan()).sum()) == 2 * 8 and bool((pool.view(12, 2, 8)[5] == 1).all())
    write_kv(*pools, token, token, torch.tensor([-1, -1, -1]))
    assert int((~pools[0].isnan()).sum()) == 2 * 8


@pytest.mark.parametrize("stale", [-1, 2**31 - 1, -(2**31), 0])
def test_f25_padding_entries_of_a_block_table_are_never_read(stale):
    batch = Paged([5, 12], block_size=4)
    query, start = batch.queries([1, 1], 4)  # attended together, so the shorter one is padded
    expected = attend(batch, query, start)[0]
    for row, blocks in enumerate((2, 3)):
        batch.tables[row, blocks:] = stale
    assert torch.equal(attend(batch, query, start)[0], expected)
    batch.tables = torch.nn.functional.pad(batch.tables, (0, 9), value=stale)  # rows of another batch were longer
    assert torch.equal(attend(batch, query, start)[0], expected)


def test_f25_a_sequence_that_ends_in_the_last_slot_of_the_pool_is_still_right():
    manager, cache = BlockManager(2, 4), PagedCache(2, 4, fill=math.nan)
    manager.admit("a", 8)
    key = torch.randn(8, 1, 4)
    cache.write(0, key, key, torch.from_numpy(manager.slots("a", 0, 8)))
    cache.write(0, key[:2], key[:2], torch.tensor([-1, -1]))
    assert torch.equal(cache.gather(0, manager.table("a"), 8)[0], key)


@pytest.mark.parametrize("chunk", [None, 1, 4, 7])
def test_f26_a_window_of_6_equals_transformers_at_each_step_for_prompts_of_1_to_18_tokens(chunk):
    new, model = 8, tiny("mistral")
    assert model.config.sliding_window == 6
    prompts = [prompt(length) for length in range(1, 19)]
    paged, logits = PagedModel(model, 140, 4, fill=math.nan), [[] for _ in prompts]
    tokens = decode(paged, shuffled(140, 4, seed=6), prompts, new, chunk, logits=logits)
    for ids, found, steps in zip(prompts, tokens, logits, strict=True):
        given = torch.tensor([ids])
        said = model.generate(
            given, attention_mask=torch.ones_like(given), max_new_tokens=new, do_sample=False,
            output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        assert found == said.sequences[0, len(ids) :].tolist()
        torch.testing.assert_close(torch.stack(steps), torch.cat(said.logits), atol=2e-5, rtol=1e-4)


def projected(model, act) -> int:
    """Tokens whose keys the model's first layer projects while `act` runs."""
    counts = []
    layer = model.model.layers[0].self_attn.k_proj
    hook = layer.register_forward_hook(lambda module, inputs, output: counts.append(output.shape[:-1].numel()))
    try:
        act()
    finally:
        hook.remove()
    return sum(counts)


def test_f33_twelve_steps_project_twelve_tokens_with_a_cache_and_78_without():
    model = tiny("llama")
    engine = Engine(model, 8, 4)  # its probe of one token runs here
    generation = engine.submit([5], 12)
    assert projected(model, engine.run) == 12 == engine.projected_tokens

    def without_a_cache():
        ids = [5]
        with torch.no_grad():
            for _ in range(12):
                ids.append(int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        assert ids[1:] == generation.tokens  # the output alone does not tell the two apart

    assert projected(model, without_a_cache) == 78


def test_f33_every_prompt_token_and_every_sampled_token_but_the_last_is_projected_once_in_any_batch():
    model = tiny("llama")
    engine, cache = Engine(model, 40, 4, token_budget=7), GenerateCache(40, 4)
    asked = [(prompt(length), new) for length, new in ((1, 9), (6, 3), (13, 5), (4, 1))]
    for ids, new in asked:
        engine.submit(ids, new)
    assert projected(model, engine.run) == sum(len(ids) + new - 1 for ids, new in asked)
    ids = torch.tensor([prompt(6)])
    assert projected(model, lambda: model.generate(ids, max_new_tokens=5, do_sample=False, cache=cache)) == 6 + 4
