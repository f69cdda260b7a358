"""Random numbers of several samples of one request."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kvlab.serve.draws import sample_generator, sample_generators
from kvlab.serve.request import Generation
from kvlab.serve.sampling import Sampling


def test_generators_repeat_for_a_seed_and_no_two_of_many_requests_draw_the_same():
    first = [generator.random() for seed in range(40) for generator in sample_generators(seed, 40)]
    again = [generator.random() for seed in range(40) for generator in sample_generators(seed, 40)]
    assert first == again and len(set(first)) == 1600


def test_a_sample_stays_the_same_however_many_are_asked_for_and_whoever_draws_before_it():
    few, many = sample_generators(5, 2), sample_generators(5, 6)
    many[0].random(), many[5].random()
    assert few[1].random() == many[1].random() == sample_generator(5, 1).random()


def test_without_a_seed_they_differ_each_time():
    assert len({generator.random() for _ in range(3) for generator in sample_generators(None, 3)}) == 9


@pytest.mark.parametrize("number", [0, 3])
def test_the_engine_draws_from_them(number):
    generation = Generation("a", [1], 4, Sampling(1.0, seed=9), number=number)
    generator = sample_generators(9, 4)[number]
    drawn = [generator.random() for _ in range(3)]
    for wanted in drawn:
        assert generation.draw == wanted
        generation.accept(2)


def test_they_need_no_torch():
    code = "import sys; from kvlab.serve import sample_generators; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
