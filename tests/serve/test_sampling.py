"""Choosing tokens: greedy, and the distribution that temperature, top-k and top-p leave."""

from __future__ import annotations

import math
import random

import pytest
import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from kvlab.errors import UsageError
from kvlab.serve.sampling import GREEDY, Sampling, sample


def test_greedy_rows_take_the_most_likely_token_whatever_their_number():
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    assert sample(logits, [GREEDY, Sampling(temperature=2, top_k=1)], [0.999, 0.999]) == [1, 0]


@pytest.mark.parametrize(
    "setting", [Sampling(0.7), Sampling(1.3, top_k=5), Sampling(1.0, top_p=0.7), Sampling(2.0, 12, 0.8)]
)
def test_frequencies_are_those_of_the_warpers_of_transformers(setting):
    logits = torch.randn(1, 20, generator=torch.Generator().manual_seed(4)) * 2
    warped = TemperatureLogitsWarper(setting.temperature)(None, logits)
    warped = TopKLogitsWarper(setting.top_k)(None, warped) if setting.top_k else warped
    warped = TopPLogitsWarper(setting.top_p)(None, warped) if setting.top_p < 1 else warped
    expected = warped.softmax(-1)[0]
    count, draw = 20_000, random.Random(0)
    tokens = torch.tensor(sample(logits.expand(count, -1), [setting] * count, [draw.random() for _ in range(count)]))
    found = torch.bincount(tokens, minlength=20) / count
    assert not found[expected == 0].any()
    torch.testing.assert_close(found, expected, atol=0.015, rtol=0)


def test_a_row_is_sampled_by_its_own_settings_and_numbers_whatever_stands_beside_it():
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    settings = [Sampling(1.0, seed=1), GREEDY, Sampling(0.5, top_k=3, seed=2)]
    numbers = [0.3, 0.9, 0.7]
    together = sample(logits, settings, numbers)
    apart = [sample(logits[i : i + 1], [s], [numbers[i]])[0] for i, s in enumerate(settings)]
    assert together == apart


def test_the_first_and_the_last_random_number_name_tokens_that_have_a_chance():
    logits = torch.tensor([[1.0, 5.0, 3.0, 4.0]])
    setting = Sampling(1.0, top_k=3)
    assert sample(logits, [setting], [0.0]) == [1]
    assert sample(logits, [setting], [1 - 2**-53]) == [2]
    assert sample(logits, [Sampling(1.0, top_p=1e-9)], [1 - 2**-53]) == [1]


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 1e-300])
def test_a_temperature_near_0_takes_the_most_likely_token(temperature):
    logits = torch.tensor([[1.0, 2.0, 5.0, 4.0], [-9.0, -7.0, -8.0, -9.0]])
    assert sample(logits, [Sampling(temperature)] * 2, [0.999, 0.0]) == [2, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": -1},
        {"top_p": 0},
        {"top_p": 1.1},
    ],
)
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(UsageError, match="cannot be negative"):
        Sampling(**wrong)


@pytest.mark.parametrize("seed", [-1, -(2**40), 1.5, "1"])
def test_seeds_are_whole_numbers_from_0_on_so_that_no_two_of_them_mean_the_same(seed):
    with pytest.raises(UsageError, match="a seed is a whole number from 0 on"):
        Sampling(1.0, seed=seed)
    assert Sampling(1.0, seed=0).seed == 0
