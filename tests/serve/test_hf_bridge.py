"""The bridge: what it puts back, what a batch says, and how close it stays in bf16."""

from __future__ import annotations

import math

import pytest
import torch
from transformers import (
    GPT2LMHeadModel,
    LlamaForCausalLM,
)

from kvlab.errors import UsageError
from kvlab.memory import BlockManager
from kvlab.serve.batch import Row, flatten
from kvlab.serve.hf import PagedModel
from kvlab.serve.hf_flat import _Expanded
from tests.serve.models import COMMON, CONFIGS, greedy, prompt, tiny
from tests.serve.running import decode, shuffled


def test_the_model_is_as_it_was_after_a_step_that_worked_and_after_one_that_failed():
    model = LlamaForCausalLM(CONFIGS["llama"]())
    model.set_attn_implementation("eager")
    model.train()
    model.model.layers[0].eval()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    before = [part.training for part in model.modules()]
    paged = PagedModel(model, 4, 4)

    def unchanged():
        same = all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
        return (
            same
            and model.config._attn_implementation == "eager"
            and [part.training for part in model.modules()] == before
        )

    row = Row([5, 6], 0, [1], [4, 5])
    seen = []
    hook = model.model.layers[1].register_forward_hook(
        lambda *_: seen.append((model.config._attn_implementation, model.training))
    )
    paged.run([row])
    hook.remove()
    assert seen == [("kvlab", False)] and unchanged()

    def fail(*_):
        raise KeyboardInterrupt

    hook = model.model.layers[1].register_forward_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        paged.run([row])
    hook.remove()
    assert unchanged() and paged._step.batch is None
    assert len(greedy(model.eval(), [5, 6], 3)) == 3


def test_a_part_of_the_model_in_training_drops_nothing_out_and_is_left_so():
    model = GPT2LMHeadModel(CONFIGS["gpt2"]()).eval()
    model.generation_config.eos_token_id = None
    want = greedy(model, prompt(5), 6)
    model.transformer.h[0].train()
    before = [part.training for part in model.modules()]
    assert decode(PagedModel(model, 8, 4), shuffled(8, 4, 0), [prompt(5)], 6) == [want]
    assert [part.training for part in model.modules()] == before and any(before)


def test_slots_of_latents_may_lie_beyond_two_to_the_31():
    far = 2**29 + 1
    expanded = _Expanded(flatten([Row([5] * 6, 0, [far, 2], [-1] * 6)], 4), 4)
    assert expanded.slots.tolist() == [4 * far, 4 * far + 1, 4 * far + 2, 4 * far + 3, 8, 9]


def test_a_row_writes_its_slots_and_no_others_and_minus_one_none():
    paged = PagedModel(tiny("llama"), 3, 4)
    paged.run([Row([5, 6, 7], 0, [2], [8, -1, 10], False)])
    for pool in (*paged.cache.keys.values(), *paged.cache.values.values()):
        assert pool.view(12, -1).all(-1).nonzero().flatten().tolist() == [8, 10]


def test_a_batch_says_where_everything_lies():
    batch = flatten([Row([7, 8, 9], 0, [3], [12, 13, 14], False), Row([5], 6, [0, 2], [10])], 4)
    assert batch.token_ids.tolist() == [[7, 8, 9, 5]] and batch.positions.tolist() == [[0, 1, 2, 6]]
    assert batch.slots.tolist() == [12, 13, 14, 10] and batch.tables.tolist() == [[3, 0], [0, 2]]
    assert (
        batch.query_start.tolist() == [0, 3, 4]
        and batch.context_lengths.tolist() == [3, 7]
        and batch.logit_rows.tolist() == [3]
    )
    for rows in ([], [Row([], 0, [], [])]):
        with pytest.raises(UsageError, match="at least 1 token"):
            flatten(rows, 4)


def plain_logits(model, ids):
    """The model's logits for each position, attended by transformers."""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].float()


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_in_bf16_logits_stay_within_a_tolerance_and_clear_choices_are_the_same(name):
    """Token identity does not hold between any two implementations in bf16, transformers' own two included.

    So: logits stay as close to eager's as a few roundings allow, and wherever eager's best token leads by more than
    that, it is ours too.
    """
    model, ids = tiny(name, torch.bfloat16), prompt(11)
    paged, manager = PagedModel(model, 8, 4, fill=math.nan), BlockManager(8, 4)
    table, slots = manager.admit("a", 11), manager.slots("a")
    close, clear = [], 0
    expected = plain_logits(model, ids)
    tolerance = 0.05 * float(expected.abs().max())
    for start, stop in ((0, 5), (5, 6), (6, 11)):
        found = paged.run([Row(ids[start:stop], start, table, slots[start:stop])])[0].float()
        close.append(float((found - expected[stop - 1]).abs().max()))
        best = expected[stop - 1].topk(2)
        if best.values[0] - best.values[1] > 2 * tolerance:
            clear += 1
            assert int(found.argmax()) == int(best.indices[0])
    assert max(close) <= tolerance


def test_a_model_that_cannot_choose_logits_still_gives_the_last_row_of_each_sequence(monkeypatch):
    model = tiny("llama")
    paged = PagedModel(model, 8, 4)
    monkeypatch.setattr(paged, "_keeps_logits", False)
    assert decode(paged, shuffled(8, 4, 0), [prompt(5)], 4) == [greedy(model, prompt(5), 4)]


def test_two_paged_models_can_share_one_model():
    model = LlamaForCausalLM(type(CONFIGS["llama"]())(**COMMON)).eval()
    model.generation_config.eos_token_id = None
    first, second = PagedModel(model, 8, 4), PagedModel(model, 16, 2)
    want = greedy(model, prompt(5), 4)
    assert (
        decode(first, shuffled(8, 4, 0), [prompt(5)], 4) == decode(second, shuffled(16, 2, 1), [prompt(5)], 4) == [want]
    )
