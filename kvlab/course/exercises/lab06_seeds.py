"""Lab 06: n samples of one prompt, with a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvlab.course.declare import Exercise, Mistake, Property
from kvlab.course.exercises import lab06_seeds_bench as bench
from kvlab.course.exercises import lab06_seeds_mistakes as wrong

IN_PIECES = "Python mixes a long whole number in pieces of 32 bits, and these two meet: a seed can be a string as well."


def _property(name: str, run: Callable[[Any], None], next: str) -> Property:
    return Property(name, run, next=next)


SAMPLE_GENERATORS = Exercise(
    name="sample_generators", lab="06", part="kvlab.serve.sample_generators", stars=2, core=False, minutes=10,
    checks=(
        _property("a list of generators", bench.a_list_of_generators, "return a list of random.Random"),
        _property("different from each other", bench.different_from_each_other,
                  "seed each from the seed and its number"),
        _property("the same again", bench.the_same_again, "let seed and number decide, and nothing else"),
        _property("each its own", bench.each_its_own, "give each sample a generator of its own"),
        _property("no neighbours", bench.no_neighbours, "mix seed and number so that no two pairs give the same"),
        _property("many samples", bench.many_samples, "mix seed and number so that no two pairs give the same"),
        _property("however many", bench.however_many, "let sample i depend on the seed and on i alone"),
        _property("leaves the module alone", bench.leaves_the_module_alone, "use random.Random, and not random itself"),
    ),
    mistakes=(
        Mistake(wrong.one_for_all,
                "There is one generator, named n times. When one answer ends early, all others draw other numbers.",
                next="make a generator in each turn of the loop"),
        Mistake(wrong.the_same_seed, "Every generator has the same seed, so the server gives one answer n times.",
                next="seed each from the seed and its number"),
        Mistake(wrong.seed_plus_number,
                "Looks like seed + i. Sample 1 of seed 7 is sample 0 of seed 8, and customers like small seeds.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(wrong.seed_plus_thousands,
                "Looks like seed + 1000 * i. Sample 1 of seed 0 is sample 0 of seed 1000; a wider step only moves it.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(wrong.seed_times_number,
                "Looks like seed * i. Sample 0 is the same for every seed, and seed 0 has one answer.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(wrong.seed_times_number_from_one,
                "Looks like seed * (i + 1). Seed 0 has one answer, and sample 1 of seed 3 is sample 0 of seed 6.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(wrong.seed_times_n,
                "Looks like seed * n + i. Whoever asks for more samples loses the ones he had, and small seeds meet.",
                next="let sample i depend on the seed and on i alone"),
        Mistake(wrong.seed_times_thousand,
                "Looks like seed * 1000 + i, or seed + i / 1000. Sample 1000 of seed 0 is sample 0 of seed 1.",
                next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(wrong.number_in_high_bits, IN_PIECES, next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(wrong.seed_in_high_bits, IN_PIECES, next='mix the two, as in random.Random(f"{seed} {i}")'),
        Mistake(wrong.number_alone, "The seed is not used: every request gets the same n answers.",
                next="use seed as well"),
        Mistake(wrong.no_seed, "Something besides seed and number decides, so nobody can have the same answers again.",
                next="let seed and number decide, and nothing else"),
        Mistake(wrong.the_modules_own,
                "Seeds the module's own generator. It belongs to the whole server: every other request now repeats "
                "itself.", next="use random.Random(seed), and not random.seed"),
        Mistake(wrong.the_module_itself,
                "Hands out the module itself, once seeded. That is one generator, and the whole server's.",
                next="use random.Random, one for each sample"),
        Mistake(wrong.seeds_from_the_module,
                "Mixes in a number of the module's own generator, so the same seed gives other answers next time.",
                next="let seed and number decide, and nothing else"),
        Mistake(wrong.numbers, "Gives n numbers. A sample needs one for each of its tokens, so it needs the generator.",
                next="return the generators themselves"),
        Mistake(wrong.one_generator, "Gives one generator for all. When one answer ends early, the others change.",
                next="return a list of n"),
        Mistake(wrong.text_glued, "Glues the digits together: sample 11 of seed 1 is sample 1 of seed 11.",
                next='put something between them, as in f"{seed} {i}"'),
    ),
    hints=(
        "Two samples take turns, and one ends early. How do you make sure that the other still draws the same numbers?",
        "A generator for each sample, seeded by the request's seed and the sample's number in a way that no other pair "
        "gives.",
        '[random.Random(f"{...} {...}") for i in range(n)]',
    ),
)
