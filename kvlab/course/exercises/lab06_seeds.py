"""Lab 06: n samples of one prompt, with a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kvlab.course.declare import Exercise, Mistake, Property, Wrong
from kvlab.course.shorten import show


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


def draws(part: Any, seed: int, n: int, count: int = 4) -> list[list[float]]:
    """The first numbers of each generator, one generator after the other."""
    return [[generator.random() for _ in range(count)] for generator in made(part, seed, n)]


def made(part: Any, seed: int, n: int) -> list[Any]:
    """The generators, or `Wrong` if they are none or not n."""
    call = f"sample_generators({seed}, {n})"
    try:
        got = part(seed, n)
    except TypeError as error:
        if "supported seed types" not in str(error):
            raise
        raise Wrong(f"{call} gave random.Random what is no seed: a seed is a number or a string.",
                    next='make one string of both, as in f"{seed} {i}"') from error
    wanted = f"{n} generator{'s' * (n != 1)}"
    if got is None:
        raise Wrong(f"{call} returned nothing (None), expected {wanted}; is a `return` missing?",
                    next="end with return")
    if not isinstance(got, (list, tuple)):
        raise Wrong(f"{call} returned {_named(got)}, expected a list of {wanted}.", next="return a list")
    odd = [one for one in got if not callable(getattr(one, "random", None))]
    if odd:
        raise Wrong(f"{call} returned a list with {_named(odd[0])} in it, expected generators, such as random.Random.",
                    next="return the generators themselves; they are asked later")
    if len(got) != n:
        raise Wrong(f"{call} returned {len(got)} generator{'s' * (len(got) != 1)}, expected {n}.",
                    next="one generator for each sample")
    return list(got)


def _named(thing: Any) -> str:
    return show(thing, 30) if isinstance(thing, (int, float, str)) else f"an object of type {type(thing).__name__}"


def a_list_of_generators(part: Any) -> None:
    for n in (1, 3):
        draws(part, 7, n, 1)


def different_from_each_other(part: Any) -> None:
    alike = [(seed, i, j) for seed in (0, 7) for i, j in _pairs([first for first, *_ in draws(part, seed, 8)])]
    if alike:
        seed, i, j = alike[0]
        raise Wrong(f"with seed {seed}, samples {i} and {j} draw the same numbers, expected different ones.",
                    alike=alike)


def _pairs(numbers_: list[float]) -> list[tuple[int, int]]:
    return [(i, j) for j in range(len(numbers_)) for i in range(j) if numbers_[i] == numbers_[j]]


def the_same_again(part: Any) -> None:
    before = random.getstate()
    try:
        random.seed(1)
        first = draws(part, 7, 3)
        random.seed(2)
        second = draws(part, 7, 3)
    finally:
        random.setstate(before)
    if first != second:
        raise Wrong(f"asked twice for seed 7, sample 0 draws {first[0][0]:.3f} and then {second[0][0]:.3f}, expected "
                    "the same number.", alike="again")


def each_its_own(part: Any) -> None:
    """Sample 1 must draw the same, whether or not sample 0 has drawn: answers end at different times."""
    alone, busy = made(part, 7, 2), made(part, 7, 2)
    wanted = alone[1].random()
    for _ in range(3):
        busy[0].random()
    if busy[1].random() != wanted:
        raise Wrong("sample 1 draws another number after sample 0 has drawn three, expected the same one.")


def no_neighbours(part: Any) -> None:
    seen: dict[float, tuple[int, int]] = {}
    met = []
    for seed in (*range(14), *(10**k * m for k in (2, 3, 4, 6) for m in (1, 2))):
        for i, (first, *_) in enumerate(draws(part, seed, 13, 1)):
            if first in seen:
                met.append((seed, i, *seen[first]))
            seen.setdefault(first, (seed, i))
    if met:
        seed, i, other, j = met[0]
        raise Wrong(f"sample {i} of seed {seed} draws what sample {j} of seed {other} draws: two requests, one answer.",
                    alike=met)


def many_samples(part: Any) -> None:
    """What meets only from some hundred samples on: seed * 1000 + i."""
    first = {numbers_[0]: i for i, numbers_ in enumerate(draws(part, 0, 1100, 1))}
    met = [(i, first[numbers_[0]]) for i, numbers_ in enumerate(draws(part, 1, 1100, 1)) if numbers_[0] in first]
    if met:
        raise Wrong(f"sample {met[0][0]} of seed 1 draws what sample {met[0][1]} of seed 0 draws: two requests, one "
                    "answer.", alike=met)


def however_many(part: Any) -> None:
    few, many = draws(part, 7, 2), draws(part, 7, 5)
    if many[:2] != few:
        i = 0 if few[0] != many[0] else 1
        raise Wrong(f"sample {i} of 2 draws {few[i][0]:.3f}, and sample {i} of 5 draws {many[i][0]:.3f}, expected the "
                    "same number.", alike=i)


def leaves_the_module_alone(part: Any) -> None:
    before = random.getstate()
    try:
        draws(part, 7, 3)
        changed = random.getstate() != before
    finally:
        random.setstate(before)
    if changed:
        raise Wrong("it used or seeded the module's own generator, which every other request uses too.")


IN_PIECES = "Python mixes a long whole number in pieces of 32 bits, and these two meet: a seed can be a string as well."


def _property(name: str, run: Callable[[Any], None], next: str) -> Property:
    return Property(name, run, next=next)


SAMPLE_GENERATORS = Exercise(
    name="sample_generators", lab="06", part="kvlab.serve.sample_generators", stars=2, core=False, minutes=10,
    checks=(
        _property("a list of generators", a_list_of_generators, "return a list of random.Random"),
        _property("different from each other", different_from_each_other, "seed each from the seed and its number"),
        _property("the same again", the_same_again, "let seed and number decide, and nothing else"),
        _property("each its own", each_its_own, "give each sample a generator of its own"),
        _property("no neighbours", no_neighbours, "mix seed and number so that no two pairs give the same"),
        _property("many samples", many_samples, "mix seed and number so that no two pairs give the same"),
        _property("however many", however_many, "let sample i depend on the seed and on i alone"),
        _property("leaves the module alone", leaves_the_module_alone, "use random.Random, and not random itself"),
    ),
    mistakes=(
        Mistake(one_for_all,
                "There is one generator, named n times. When one answer ends early, all others draw other numbers.",
                next="make a generator in each turn of the loop"),
        Mistake(the_same_seed, "Every generator has the same seed, so the server gives one answer n times.",
                next="seed each from the seed and its number"),
        Mistake(seed_plus_number,
                "Looks like seed + i. Sample 1 of seed 7 is sample 0 of seed 8, and customers like small seeds.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(seed_plus_thousands,
                "Looks like seed + 1000 * i. Sample 1 of seed 0 is sample 0 of seed 1000; a wider step only moves it.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(seed_times_number,
                "Looks like seed * i. Sample 0 is the same for every seed, and seed 0 has one answer.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(seed_times_number_from_one,
                "Looks like seed * (i + 1). Seed 0 has one answer, and sample 1 of seed 3 is sample 0 of seed 6.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(seed_times_n,
                "Looks like seed * n + i. Whoever asks for more samples loses the ones he had, and small seeds meet.",
                next="let sample i depend on the seed and on i alone"),
        Mistake(seed_times_thousand,
                "Looks like seed * 1000 + i, or seed + i / 1000. Sample 1000 of seed 0 is sample 0 of seed 1.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(number_in_high_bits, IN_PIECES, next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(seed_in_high_bits, IN_PIECES, next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(number_alone, "The seed is not used: every request gets the same n answers.", next="use seed as well"),
        Mistake(no_seed, "Something besides seed and number decides, so nobody can have the same answers again.",
                next="let seed and number decide, and nothing else"),
        Mistake(the_modules_own,
                "Seeds the module's own generator. It belongs to the whole server: every other request now repeats "
                "itself.",
                next="use random.Random(seed), and not random.seed"),
        Mistake(the_module_itself,
                "Hands out the module itself, once seeded. That is one generator, and the whole server's.",
                next="use random.Random, one for each sample"),
        Mistake(seeds_from_the_module,
                "Mixes in a number of the module's own generator, so the same seed gives other answers next time.",
                next="let seed and number decide, and nothing else"),
        Mistake(numbers, "Gives n numbers. A sample needs one for each of its tokens, so it needs the generator.",
                next="return the generators themselves"),
        Mistake(one_generator, "Gives one generator for all. When one answer ends early, the others change.",
                next="return a list of n"),
        Mistake(text_glued, "Glues the digits together: sample 11 of seed 1 is sample 1 of seed 11.",
                next='put something between them, as in f"{seed} {i}"'),
    ),
    hints=(
        "Two samples take turns, and one ends early. How do you make sure that the other still draws the same numbers?",
        "A generator for each sample, seeded by the request's seed and the sample's number in a way that no other pair "
        "gives.",
        '[random.Random(f"{...} {...}") for i in range(n)]',
    ),
)
