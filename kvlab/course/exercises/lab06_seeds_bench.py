"""What `sample_generators` must do: n generators, each its own, the same again for the same seed and for no other."""

from __future__ import annotations

import random
from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.shorten import show


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
