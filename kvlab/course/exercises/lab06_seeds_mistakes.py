"""`sample_generators` as beginners write it."""

from __future__ import annotations

import random


def one_for_all(seed, n):
    return [random.Random(seed)] * n


def the_same_seed(seed, n):
    return [random.Random(seed) for _ in range(n)]


def seed_plus_number(seed, n):
    return [random.Random(seed + i) for i in range(n)]


def seed_plus_thousands(seed, n):
    return [random.Random(seed + 1000 * i) for i in range(n)]


def seed_times_number(seed, n):
    return [random.Random(seed * i) for i in range(n)]


def seed_times_number_from_one(seed, n):
    return [random.Random(seed * (i + 1)) for i in range(n)]


def seed_times_n(seed, n):
    return [random.Random(seed * n + i) for i in range(n)]


def seed_times_thousand(seed, n):
    return [random.Random(seed * 1000 + i) for i in range(n)]


def number_in_high_bits(seed, n):
    return [random.Random(seed ^ (i << 32)) for i in range(n)]


def seed_in_high_bits(seed, n):
    return [random.Random((seed << 32) + i) for i in range(n)]


def number_alone(seed, n):
    return [random.Random(i) for i in range(n)]


def no_seed(seed, n):
    return [random.Random() for _ in range(n)]


def the_modules_own(seed, n):
    random.seed(seed)
    return [random.Random(random.random()) for _ in range(n)]


def the_module_itself(seed, n):
    random.seed(seed)
    return [random] * n


def seeds_from_the_module(seed, n):
    return [random.Random(f"{seed} {i} {random.random()}") for i in range(n)]


def numbers(seed, n):
    generator = random.Random(seed)
    return [generator.random() for _ in range(n)]


def one_generator(seed, n):
    return random.Random(seed)


def text_glued(seed, n):
    return [random.Random(f"{seed}{i}") for i in range(n)]
