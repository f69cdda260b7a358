"""Failures of other systems where one prompt has many owners, by the course's numbers (FAILURES.md F12, F13, F19)."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from kvlab.compute import PagedCache
from kvlab.memory import BlockManager
from kvlab.models import EXAMPLE_ORDER, courier_trace, load_courier
from kvlab.serve.engine import Engine
from kvlab.serve.sampling import Sampling
from tests.serve.models import prompt, tiny
from tests.serve.test_beam import oracle, same


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen3"])
def test_f12_beam_search_of_width_4_over_several_prompts_is_token_identical_to_transformers(name):
    prompts, serving = [prompt(length) for length in (2, 5, 9, 16)], Engine(tiny(name), 200, 4, checked=True)
    searches = [serving.beam(ids, 4, 12, eos=range(4, 14), num_return=4) for ids in prompts]
    serving.run()
    same(searches, oracle(tiny(name), prompts, 4, 12, list(range(4, 14)), num_return=4))
    assert serving.manager.pool.num_free == 200


def test_f13_a_block_that_is_target_of_one_copy_and_source_of_another_is_read_before_it_is_written():
    for pairs in itertools.permutations([(0, 1), (1, 2), (2, 3), (3, 0)]):
        cache = PagedCache(5, 2, fill=math.nan)
        content = torch.arange(8.0).view(8, 1, 1)
        cache.write(0, content, -content, torch.arange(8))
        cache.copy_blocks(pairs)
        assert cache.keys[0][:4, :, 0, 0].tolist() == [[6.0, 7.0], [0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        assert torch.equal(cache.values[0][:4], -cache.keys[0][:4]) and bool(cache.keys[0][4].isnan().all())


def test_f13_plans_of_one_step_joined_in_one_list_leave_every_sequence_its_own_bytes():
    manager, cache = BlockManager(6, 2), PagedCache(6, 2)
    for name, value in (("a", 1.0), ("x", 9.0)):
        manager.admit(name, 3)
        row = torch.full((3, 1, 1), value)
        cache.write(0, row, row, torch.from_numpy(manager.slots(name)))
    manager.fork("a", ["b"])
    manager.fork("x", ["y"])
    first = manager.append_cow("b")
    manager.free("a")
    second = manager.append_cow("y")
    assert first.copies[0][0] == second.copies[0][1]  # what "b" is copied from is what "y" is copied into
    cache.copy_blocks([*second.copies, *first.copies])
    assert cache.gather(0, manager.table("b"), 3)[0].flatten().tolist() == [1.0] * 3
    assert cache.gather(0, manager.table("y"), 3)[0].flatten().tolist() == [9.0] * 3


def test_f19_samples_of_one_prompt_with_a_seed_are_reproducible_and_different_from_each_other():
    def run(company: int, **options) -> list[list[int]]:
        serving = Engine(tiny("llama"), 200, 4, checked=True, fill=math.nan, **options)
        others = [serving.submit(prompt(7, seed), 5) for seed in range(company)]
        samples = serving.sample(prompt(9), 6, 10, Sampling(1.3, top_p=0.95, seed=11), eos=())
        serving.run()
        assert all(other.finished for other in others) and serving.manager.pool.num_free == 200
        return [sample.tokens for sample in samples.samples]

    first = run(0)
    assert len({tuple(tokens) for tokens in first}) == 6
    assert run(0) == run(3) == run(3, token_budget=7) == first


def used_and_unshared(engine: Engine) -> tuple[int, int]:
    """Blocks summed over all steps until nothing runs: in use, and if nobody shared."""
    used = unshared = 0
    while engine.has_work:
        engine.step()
        used += engine.num_blocks - engine.manager.pool.num_free
        unshared += sum(len(engine.manager.table(name)) for name in engine.manager)
    return used, unshared


def test_beams_of_width_4_on_courier_use_at_most_60_percent_of_the_blocks_they_would_without_sharing():
    """Real chats, and every tenth request of courier's own trace: its lengths, and texts of random words."""
    model, tokenizer = load_courier()
    questions = ["Where is my order?", "Which courier brings it?", "Is there soy in the miso soup?"]
    chats = [
        [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": question}] for question in questions
    ]
    text = [tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats]
    serving = Engine(model, 2000, 16)
    for ids in tokenizer(text)["input_ids"]:
        serving.beam(ids, 4, 60)
    chatted = used_and_unshared(serving)
    draw = torch.Generator().manual_seed(0)
    for request in list(courier_trace())[::10]:
        words = torch.randint(5, 1280, (request.prompt,), generator=draw).tolist()
        serving.beam(words, 4, max(1, request.answer), eos=())
    traced = used_and_unshared(serving)
    for name, (used, unshared) in (("chats", chatted), ("its trace", traced)):
        print(f"beam search of width 4 on courier, {name}: {used / unshared:.1%} of the blocks without sharing")
        assert used / unshared <= 0.6
