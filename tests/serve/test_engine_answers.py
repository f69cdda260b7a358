"""What the engine keeps of answers for those who serve them: room, scores, and answers stopped from outside."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.serve import Engine, NeverFits, Sampling
from kvlab.serve.admission import Limits
from tests.serve.models import prompt, tiny


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.integers(1, 40), st.integers(1, 8), st.none() | st.integers(1, 90), st.integers(1, 200), st.integers(1, 5)
)
def test_room_is_the_most_that_is_not_refused(
    blocks: int, size: int, positions: int | None, tokens: int, branches: int
) -> None:
    limits = Limits(blocks, size, positions)
    room = limits.room(tokens, branches)
    if room:
        limits.share(tokens, room, branches)
    with pytest.raises(NeverFits):
        limits.share(tokens, room + 1, branches)


@pytest.mark.parametrize("blocks", [64, 7])
def test_scores_are_the_models_log_probabilities_also_of_those_who_had_to_leave(blocks: int) -> None:
    model = tiny("llama")
    engine = Engine(model, blocks, 4, checked=True)
    prompts = [prompt(6, seed) for seed in range(3)]
    asked = [engine.submit(ids, 10, Sampling(1.2, seed=i), alternatives=2) for i, ids in enumerate(prompts)]
    silent = engine.submit(prompts[0], 10)
    engine.run()
    assert silent.scores == [] and (blocks == 64 or engine.stats().preemptions)
    for ids, generation in zip(prompts, asked, strict=True):
        with torch.inference_mode():
            logits = model(torch.tensor([ids + generation.tokens])).logits[0, len(ids) - 1 : -1]
        expected = logits.log_softmax(-1)
        assert len(generation.scores) == len(generation.tokens) == 10
        for token, row, score in zip(generation.tokens, expected, generation.scores, strict=True):
            assert score.logprob == pytest.approx(float(row[token]), abs=1e-4)
            values, tokens = row.topk(2)
            assert [found for found, _ in score.best] == tokens.tolist()
            assert [logprob for _, logprob in score.best] == pytest.approx(values.tolist(), abs=1e-4)


def test_samples_of_one_prompt_have_scores_of_their_own() -> None:
    engine = Engine(tiny("llama"), 64, 4)
    samples = engine.sample(prompt(6), 3, 5, Sampling(1.5, seed=1), alternatives=0).samples
    engine.run()
    assert all(len(sample.scores) == 5 and sample.scores[0].best == () for sample in samples)
    assert len({tuple(sample.scores) for sample in samples}) == 3


def test_a_stopped_answer_counts_as_finished_and_frees_its_blocks_and_leaves_its_siblings_alone() -> None:
    engine = Engine(tiny("llama"), 64, 4, checked=True)
    samples = engine.sample(prompt(6), 2, 8, Sampling(1.0, seed=1)).samples
    alone = Engine(tiny("llama"), 64, 4).sample(prompt(6), 2, 8, Sampling(1.0, seed=1))
    engine.step()
    engine.stop(samples[0])
    engine.stop(samples[0])
    assert samples[0].reason == "stop" and len(samples[0].tokens) == 1
    engine.run()
    assert samples[1].reason == "length" and alone.samples[1].sampling == samples[1].sampling
    stats = engine.stats()
    assert (stats.finished, stats.aborted, stats.blocks_free) == (2, 0, 64)


def test_alternatives_that_cannot_be_counted_are_refused() -> None:
    engine = Engine(tiny("llama"), 8, 4)
    with pytest.raises(UsageError, match="counted from 0 on"):
        engine.submit(prompt(3), 2, alternatives=-1)
    assert not engine.has_work
