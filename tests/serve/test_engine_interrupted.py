"""A step that fails or is interrupted anywhere: no token is lost or doubled, and no block is kept."""

from __future__ import annotations

import random

import pytest

from kvlab.memory import BlockManager
from kvlab.serve.request import Generation
from kvlab.serve.sampling import Sampling, sample
from tests.serve.models import prompt
from tests.serve.tiny_engine import PROMPTS, B, engine, expected, idle, interrupts


def test_a_request_that_ended_in_an_interrupted_step_takes_no_block_more(monkeypatch):
    serving, accept = engine(2), Generation.accept
    generation = serving.submit(prompt(2 * B), 1)

    def interrupted(*arguments):
        accept(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Generation, "accept", interrupted)
    with pytest.raises(KeyboardInterrupt):
        serving.step()
    assert serving.step() == [] and len(generation.tokens) == 1 and idle(serving)


def test_a_step_that_fails_loses_no_token_and_doubles_none():
    serving = engine()
    asked = [serving.submit(ids, 8) for ids in PROMPTS[2:6]]
    forward, calls = serving.paged.forward, random.Random(0)

    def unreliable(batch):
        if calls.random() < 0.4:
            raise KeyboardInterrupt
        return forward(batch)

    serving.paged.forward = unreliable
    for _ in interrupts(serving):
        serving.check()
        if calls.random() < 0.3:  # meanwhile another comes, and the chunks are cut elsewhere
            serving.token_budget = calls.randint(3, 12)
    assert [g.tokens for g in asked] == [want[:8] for want in expected()[2:6]] and idle(serving)


@pytest.mark.parametrize("where", ["before a token", "after a token", "after sampling"])
def test_a_step_interrupted_anywhere_repeats_its_random_numbers_and_ends_where_it_should(monkeypatch, where):
    setting, serving, calls = Sampling(temperature=1.5, seed=3), engine(), random.Random(1)
    calm = engine()
    want = [calm.submit(ids, 6, setting) for ids in PROMPTS[2:5]]
    calm.run()
    asked = [serving.submit(ids, 6, setting) for ids in PROMPTS[2:5]]

    def unreliable(function, late):
        def call(*arguments):
            result = function(*arguments) if late else None
            if calls.random() < 0.3:
                raise KeyboardInterrupt
            return result if late else function(*arguments)

        return call

    if where == "after sampling":
        monkeypatch.setattr("kvlab.serve.outcome.sample", unreliable(sample, late=True))
    else:
        monkeypatch.setattr(Generation, "accept", unreliable(Generation.accept, late=where == "after a token"))
    interrupted = [serving.check() for _ in interrupts(serving)]
    assert interrupted and [g.tokens for g in asked] == [g.tokens for g in want] and idle(serving)


def test_a_manager_that_fails_to_admit_costs_no_request():
    class Moody(BlockManager):
        failed = False

        def admit(self, seq_id, num_tokens):
            if not self.failed:
                self.failed = True
                raise RuntimeError("not now")
            return super().admit(seq_id, num_tokens)

    serving = engine(manager=Moody(40, B))
    generation = serving.submit(PROMPTS[4], 5)
    with pytest.raises(RuntimeError, match="not now"):
        serving.step()
    serving.check()
    serving.run()
    assert generation.tokens == expected()[4][:5] and idle(serving)
