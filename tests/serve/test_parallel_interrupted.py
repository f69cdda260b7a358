"""n samples of one prompt, aborted or interrupted at any moment: siblings say the same, and no block is lost."""

from __future__ import annotations

import functools
import importlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny
from tests.serve.sampled import WARM, answers, engine
from tests.serve.tiny_engine import idle, interrupts


@functools.cache
def shared_engine() -> Engine:
    return engine(30)


@functools.cache
def undisturbed() -> list[list[int]]:
    return answers(4, prompt(10), 9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=4), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_samples_aborted_one_by_one_or_all_at_any_moment_lose_no_block_and_change_no_sibling(aborts, budget):
    """4 is the whole group. Some are aborted while the model runs."""
    serving = shared_engine()
    serving.token_budget = budget
    samples, other = serving.sample(prompt(10), 4, 9, WARM, eos=()), serving.submit(prompt(6), 6)
    gone = set()
    for steps, which, while_it_runs in aborts:
        for _ in range(steps):
            serving.step()
        what = samples if which == 4 else samples.samples[which]
        gone |= {which} if which < 4 else {0, 1, 2, 3}
        if while_it_runs:
            hook = tiny("llama").model.layers[0].register_forward_hook(lambda *_, what=what: serving.abort(what))
            try:
                serving.step()
            finally:
                hook.remove()
        serving.abort(what)
        serving.check()
    serving.run()
    for number, (sample, want) in enumerate(zip(samples.samples, undisturbed(), strict=True)):
        assert sample.tokens == want[: len(sample.tokens)]
        assert (number in gone) >= (sample.reason == "aborted") and (number in gone or sample.tokens == want)
    assert other.tokens == greedy(tiny("llama"), prompt(6), 6) and samples.finished and idle(serving)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    "where",
    ["engine.decide", "roster.Roster.fork", "placement.Placement.copy", "line.Line.branch", "roster.Roster.commit",
     "request.Generation.accept", "roster.Roster.end", "placement.Placement.place", "scheduler.Scheduler.schedule"],
)  # fmt: skip
def test_samples_interrupted_anywhere_are_the_same(monkeypatch, where, late):
    module, *names = where.split(".")
    function = functools.reduce(getattr, names, importlib.import_module(f"kvlab.serve.{module}"))
    draw, serving, interrupted = random.Random(5), engine(token_budget=6), 0
    want = undisturbed()

    def unreliable(*arguments):
        result = function(*arguments) if late else None
        if not interrupted or draw.random() < 0.3:
            raise KeyboardInterrupt
        return result if late else function(*arguments)

    samples = serving.sample(prompt(10), 4, 9, WARM, eos=())
    monkeypatch.setattr(f"kvlab.serve.{where}", unreliable)
    for interrupted in interrupts(serving):  # noqa: B007  which `unreliable` reads
        pass
    assert interrupted and [sample.tokens for sample in samples.samples] == want and idle(serving)
