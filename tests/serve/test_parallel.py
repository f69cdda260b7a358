"""n samples of one prompt: run once, forked, different, reproducible; the best of more."""

from __future__ import annotations

import random

import pytest
import torch

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed
from kvlab.serve.admission import NeverFits
from kvlab.serve.sampling import Sampling
from tests.serve.models import VOCAB, prompt, tiny
from tests.serve.sampled import WARM, B, answers, engine
from tests.serve.tiny_engine import idle


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 13])
def test_each_sample_has_the_tokens_that_it_would_have_on_memory_of_its_own(length):
    """The same random numbers, one sequence at a time, without a fork: writes of siblings are nowhere to be seen."""
    shared, serving = answers(5, prompt(length)), engine()
    for number, tokens in enumerate(shared):
        alone = serving.submit(prompt(length), 9, WARM, eos=())
        alone._random, alone.draw = sample_of(length, number)
        serving.run()
        assert alone.tokens == tokens


def sample_of(length: int, number: int) -> tuple[random.Random, float]:
    other = engine().sample(prompt(length), 5, 9, WARM).samples[number]
    return other._random, other.draw


def test_the_first_sample_is_the_answer_of_a_single_request_with_that_seed():
    serving = engine()
    single = serving.submit(prompt(6), 9, WARM, eos=())
    serving.run()
    assert answers(3, prompt(6))[0] == single.tokens


def test_samples_of_neighbouring_seeds_have_nothing_in_common():
    found = [tokens for seed in range(4) for tokens in answers(4, prompt(6), 9, Sampling(1.5, seed=seed))]
    assert len({tuple(tokens) for tokens in found}) == 16


def test_without_a_seed_samples_differ_and_so_do_runs():
    setting = Sampling(temperature=1.5)
    assert len({tuple(tokens) for _ in range(2) for tokens in answers(4, prompt(6), 12, setting)}) == 8


def test_first_tokens_are_distributed_as_the_model_says():
    with torch.no_grad():
        logits = tiny("llama")(torch.tensor([prompt(5)])).logits[0, -1]
    found = answers(2000, prompt(5), 1, Sampling(1.5, seed=1), num_blocks=2001, max_running=2000)
    counts = torch.bincount(torch.tensor(found).flatten(), minlength=VOCAB)
    torch.testing.assert_close(counts / 2000, (logits / 1.5).softmax(-1), atol=0.03, rtol=0)


def test_a_prompt_runs_once_however_many_samples_there_are():
    serving = engine()
    serving.sample(prompt(13), 6, 5, WARM, eos=())
    serving.run()
    assert serving.projected_tokens == 13 + 6 * 4


def test_samples_end_each_by_itself():
    plain = answers(4, prompt(7), 12)
    ends = [plain[0][3], plain[1][0]]
    serving = engine()
    samples = serving.sample(prompt(7), 4, 12, WARM, eos=ends)
    serving.run()
    for tokens, sample in zip(plain, samples.samples, strict=True):
        cut = min((tokens.index(end) + 1 for end in ends if end in tokens), default=12)
        assert sample.tokens == tokens[:cut] and sample.reason == ("eos" if tokens[cut - 1] in ends else "length")
    assert samples.samples[1].tokens == plain[1][:1] and idle(serving)


def test_best_of_gives_the_samples_with_the_highest_log_probability_per_token():
    serving = engine()
    samples = serving.sample(prompt(7), 2, 8, WARM, best_of=6, eos=EOS)
    with pytest.raises(UsageError, match="6 of the 6 samples of request 0 have not ended"):
        _ = samples.best
    serving.run()
    model, scores = tiny("llama"), []
    for sample in samples.samples:
        with torch.no_grad():
            logits = model(torch.tensor([prompt(7) + sample.tokens])).logits[0, 6:-1].log_softmax(-1)
        scores.append(float(logits.gather(-1, torch.tensor(sample.tokens)[:, None]).mean()))
        assert sample.logprob / len(sample.tokens) == pytest.approx(scores[-1], abs=1e-4)
    order = sorted(range(6), key=lambda i: -scores[i])
    assert samples.best == [samples.samples[i] for i in order[:2]]
    assert [sample.tokens for sample in samples.samples] == answers_with_eos()


EOS = list(range(4, 24))


def answers_with_eos() -> list[list[int]]:
    serving = engine()
    samples = serving.sample(prompt(7), 6, 8, WARM, eos=EOS)
    serving.run()
    assert samples.best == samples.samples
    return [sample.tokens for sample in samples.samples]


def test_a_pool_just_large_enough_is_enough_and_one_block_less_is_refused():
    needed = 9 // B + 5 * (blocks_needed(9 + 10 - 1, B) - 9 // B)
    with pytest.raises(NeverFits, match=rf"may need {needed} blocks .* 5 ways\), and there are {needed - 1}"):
        engine(needed - 1).sample(prompt(9), 5, 10, WARM)
    serving = engine(needed)
    samples = serving.sample(prompt(9), 5, 10, WARM, eos=())
    serving.run()
    assert [sample.tokens for sample in samples.samples] == answers(5, prompt(9), 10) and idle(serving)


def test_samples_take_a_seat_each_and_those_who_wait_come_after_them():
    serving = engine(max_running=4)
    with pytest.raises(UsageError, match="needs 5 sequences at once, and at most 4 may run"):
        serving.sample(prompt(5), 5, 3, WARM)
    first, second = serving.sample(prompt(5), 3, 6, WARM, eos=()), serving.sample(prompt(5), 2, 6, WARM, eos=())
    for _ in range(3):
        serving.step()
    assert serving.running == first.samples and list(serving.waiting) == [second.stem]
    serving.run()
    assert idle(serving)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n": 0}, "n is at least 1"),
        ({"n": 3, "best_of": 2}, "at most best_of, not 3 of 2"),
        ({"n": 2, "sampling": Sampling()}, "2 greedy answers would all be the same"),
        ({"n": 2, "sampling": Sampling(0.7, top_k=1)}, "need a temperature"),
    ],
)
def test_samples_that_make_no_sense_are_refused_and_nothing_waits(arguments, says):
    serving = engine()
    with pytest.raises(UsageError, match=says):
        serving.sample([5], max_new_tokens=4, **arguments)
    assert idle(serving)


def test_a_name_is_taken_until_the_last_sample_has_ended():
    serving = engine()
    samples = serving.sample(prompt(5), 2, 6, WARM, eos=(), request_id="a")
    for _ in range(3):
        with pytest.raises(UsageError, match="'a' is there already"):
            serving.submit([5], 2, request_id="a")
        serving.step()
    serving.run()
    assert samples.id == "a" and serving.submit([5], 2, request_id="a")


def test_a_sample_can_be_streamed_from_before_the_fork_on():
    serving = engine(token_budget=4)
    samples = serving.sample(prompt(9), 3, 6, WARM, eos=())
    assert list(serving.stream(samples.samples[2])) == answers(3, prompt(9), 6)[2]
    serving.abort(samples)
    assert idle(serving)
    with pytest.raises(UsageError, match="neither waits nor runs"):
        engine().abort(serving.sample(prompt(9), 3, 6, WARM))
