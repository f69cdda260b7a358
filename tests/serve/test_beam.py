"""Beam search in the engine: token for token what transformers' `generate(num_beams=...)` finds, and no block lost."""

from __future__ import annotations

import functools
import importlib
import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import block_counts, blocks_needed
from kvlab.models import load_courier
from kvlab.serve.admission import NeverFits
from kvlab.serve.beam import BeamSearch
from kvlab.serve.engine import Engine
from tests.serve.models import VOCAB, greedy, prompt, tiny
from tests.serve.tiny_engine import idle, interrupts

B = 4
PROMPTS = [prompt(length, seed) for seed, length in enumerate([1, 4, 7, 11])]
EOS = list(range(4, 24))  # a fifth of the vocabulary, so that answers end at many lengths


def engine(num_blocks: int = 200, name: str = "llama", **options) -> Engine:
    return Engine(tiny(name), num_blocks, B, checked=True, fill=math.nan, **options)


def oracle(model, prompts, width: int, new: int, eos, num_return: int = 1, **options) -> list[list[list[int]]]:
    """What `generate` finds for all prompts in one left-padded batch: for each the answers, best first."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    found = model.generate(
        ids, attention_mask=mask, num_beams=width, max_new_tokens=new, do_sample=False, eos_token_id=eos or None,
        pad_token_id=0, num_return_sequences=num_return, return_dict_in_generate=True, output_scores=True, **options,
    )  # fmt: skip
    answers, scores = found.sequences[:, longest:].tolist(), found.sequences_scores.tolist()
    groups = []
    for at in range(0, len(answers), num_return):
        cut = [_until_eos(answer, eos) for answer in answers[at : at + num_return]]
        groups.append((cut, scores[at : at + num_return]))
    return groups


def _until_eos(answer: list[int], eos) -> list[int]:
    for i, token in enumerate(answer):
        if token in (eos or ()):
            return answer[: i + 1]
    return answer


def same(searches: list[BeamSearch], expected) -> None:
    for search, (answers, scores) in zip(searches, expected, strict=True):
        assert [hypothesis.tokens for hypothesis in search.hypotheses] == answers
        assert [hypothesis.score for hypothesis in search.hypotheses] == pytest.approx(scores, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("early_stopping", [False, True, "never"])
@pytest.mark.parametrize("length_penalty", [1.0, 0.0, 2.5, -1.0])
@pytest.mark.parametrize("width", [2, 3, 4, 6])
def test_several_prompts_in_one_batch_give_the_answers_of_transformers(width, length_penalty, early_stopping):
    options = {"length_penalty": length_penalty, "early_stopping": early_stopping, "num_return": width}
    serving = engine()
    searches = [serving.beam(ids, width, 14, eos=EOS, **options) for ids in PROMPTS]
    serving.run()
    options["num_return"] = width
    same(searches, oracle(tiny("llama"), PROMPTS, width, 14, EOS, **options))
    assert idle(serving) and all(search.finished and search.reason == "done" for search in searches)
    assert {hypothesis.reason for search in searches for hypothesis in search.hypotheses} <= {"eos", "length"}


@pytest.mark.parametrize("name", ["gemma2", "deepseek_v3", "opt", "mistral"])
def test_other_families_give_the_answers_of_transformers_too(name):
    serving = engine(name=name)
    searches = [serving.beam(ids, 4, 12, eos=EOS, num_return=2) for ids in PROMPTS[1:]]
    serving.run()
    for search, ids in zip(searches, PROMPTS[1:], strict=True):  # one by one: transformers masks padding its own way
        same([search], oracle(tiny(name), [ids], 4, 12, EOS, num_return=2))
    assert idle(serving)


@functools.cache
def courier():
    return load_courier()


def test_courier_gives_the_answers_of_transformers():
    model, tokenizer = courier()
    questions = ["Where is my order?", "I want a refund for the soup.", "Which courier brings it, and when?"]
    prompts = [tokenizer(f"Order 12 from Tokyo Corner. {question}")["input_ids"] for question in questions]
    serving = Engine(model, 400, 16, checked=True, fill=math.nan)
    searches = [serving.beam(ids, 4, 24, num_return=4) for ids in prompts]
    serving.run()
    same(searches, oracle(model, prompts, 4, 24, [model.config.eos_token_id], num_return=4))
    assert idle(serving)


def test_a_prompt_runs_once_and_each_further_token_once_a_beam():
    serving = engine()
    serving.beam(PROMPTS[3], 4, 6, eos=())
    serving.run()
    assert serving.projected_tokens == len(PROMPTS[3]) + 4 * 5 and serving.steps == 6


def test_searches_samples_and_single_answers_share_steps_chunks_and_a_small_pool_and_none_changes():
    serving = engine(24, token_budget=7, max_running=9)
    searches, singles = [], []
    for ids in PROMPTS:
        searches.append(serving.beam(ids, 3, 8, eos=EOS))
        singles.append(serving.submit(ids, 8))
    serving.run()
    same(searches, oracle(tiny("llama"), PROMPTS, 3, 8, EOS))
    assert [single.tokens for single in singles] == [greedy(tiny("llama"), ids, 8) for ids in PROMPTS]
    assert idle(serving)


def test_a_search_that_takes_all_it_was_promised_just_fits():
    needed = 7 // B + 3 * (blocks_needed(7 + 9, B) - 7 // B)
    with pytest.raises(NeverFits, match=rf"may need {needed} blocks .* \(7 \+ 10 tokens, 3 ways\), and there are 9"):
        engine(needed - 1).beam(PROMPTS[2], 3, 10, eos=())
    serving = engine(needed)
    search = serving.beam(PROMPTS[2], 3, 10, eos=())
    serving.run()
    same([search], oracle(tiny("llama"), PROMPTS[2:3], 3, 10, ()))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"width": 1}, "at least 2 beams"),
        ({"width": 3, "num_return": 4}, "returns 1 to as many, not 3 and 4"),
        ({"width": 3, "early_stopping": "always"}, "early_stopping is True, False or \"never\", not 'always'"),
        ({"width": 3, "length_penalty": math.nan}, "length_penalty a finite number, not nan"),
        ({"width": 9}, "needs 9 sequences at once, and at most 8 may run"),
        ({"width": 3, "eos": range(VOCAB)}, "97 of 97 tokens end the answer"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused_and_nothing_waits(arguments, says):
    serving = engine(token_budget=8)
    with pytest.raises(UsageError, match=says):
        serving.beam([5], max_new_tokens=4, **arguments)
    assert idle(serving)


def test_a_budget_made_smaller_than_a_search_does_not_stop_it():
    serving = engine()
    search = serving.beam(PROMPTS[2], 4, 8, eos=EOS)
    serving.step()
    serving.token_budget = 2
    serving.run()
    same([search], oracle(tiny("llama"), PROMPTS[2:3], 4, 8, EOS))


@given(st.integers(0, 12), st.integers(1, 12), st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_search_aborted_at_any_moment_loses_no_block_and_changes_nobody_else(moment, budget, while_it_runs):
    serving = shared_engine()
    serving.token_budget = max(budget, 4)
    aborted, other = serving.beam(PROMPTS[3], 4, 9, eos=EOS), serving.beam(PROMPTS[2], 4, 9, eos=EOS)
    for _ in range(moment):
        serving.step()
    if while_it_runs and not aborted.finished:
        hook = tiny("llama").model.layers[0].register_forward_hook(lambda *_: serving.abort(aborted))
        try:
            serving.step()
        finally:
            hook.remove()
    serving.abort(aborted)
    serving.check()
    serving.run()
    same([other], oracle_of_the_third())
    assert aborted.finished and idle(serving) and (aborted.reason == "done") == bool(aborted.hypotheses)


@functools.cache
def shared_engine() -> Engine:
    return engine(40)


@functools.cache
def oracle_of_the_third():
    return oracle(tiny("llama"), PROMPTS[2:3], 4, 9, EOS)


@pytest.mark.parametrize(
    "where",
    ["engine.decide", "roster.Roster.fork", "placement.Placement.copy", "line.Line.branch", "roster.Roster.commit",
     "beam.BeamSearch.become", "roster.Roster.end", "placement.Placement.place", "scheduler.Scheduler.schedule"],
)  # fmt: skip
@pytest.mark.parametrize("late", [False, True])
def test_a_search_interrupted_anywhere_finds_what_it_would_have_found(monkeypatch, where, late):
    module, *names = where.split(".")
    function = functools.reduce(getattr, names, importlib.import_module(f"kvlab.serve.{module}"))
    draw, serving, interrupted = random.Random(7), engine(), 0

    def unreliable(*arguments):
        result = function(*arguments) if late else None
        if not interrupted or draw.random() < 0.3:
            raise KeyboardInterrupt
        return result if late else function(*arguments)

    searches = [serving.beam(ids, 3, 9, eos=EOS, num_return=3) for ids in PROMPTS]
    monkeypatch.setattr(f"kvlab.serve.{where}", unreliable)
    for interrupted in interrupts(serving):  # noqa: B007  which `unreliable` reads
        pass
    assert interrupted and idle(serving)
    same(searches, oracle(tiny("llama"), PROMPTS, 3, 9, EOS, num_return=3))


def test_beams_share_what_they_have_in_common():
    serving, blocks, unshared = engine(), 0, 0
    serving.beam(prompt(21), 4, 20, eos=())
    while serving.has_work:
        serving.step()
        used, apart = block_counts(serving.manager.table(name) for name in serving.manager)
        blocks, unshared = blocks + used, unshared + apart
        assert used == serving.num_blocks - serving.manager.pool.num_free
    assert blocks / unshared < 0.5
