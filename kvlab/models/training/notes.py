"""The first exercise: a few lines, and a question whose answer is one of them or what follows its label.

With so little to look at, and nearly all of the answer to be copied, copying is learned in a few hundred steps; from
whole conversations alone it takes many times as long.
"""

from __future__ import annotations

from random import Random

from kvlab.models.training.grammar import Turn
from kvlab.models.training.orders import Item, draw_order
from kvlab.models.training.words import ALLERGENS, COURIERS, DISHES, MENUS, PROMOS, STREETS

_LABELS = ("Address", "Courier", "Promo", "Restaurant", "Status")
_NAMES = (*COURIERS, *DISHES, *MENUS, *PROMOS, *STREETS)


def draw_notes(r: Random, hard: int = 0) -> tuple[str, tuple[Turn, ...]]:
    """`(system message, turns)`: lines of an order, or `hard` ones; at level 2 some turns read all lines back."""
    if hard:
        lines = _hard_lines(r, hard > 1)
    else:
        printed = [line for line in str(draw_order(r)).split("\n") if line != "Items:"]
        lines = r.sample(printed[1:], r.randint(2, 4))
    whole = "\n".join(lines)
    if hard > 1 and r.random() < 0.5:
        return whole, (Turn("note", "Everything?", whole, tuple(lines)),)
    return whole, tuple(_turn(r, r.choice(lines)) for _ in range(r.randint(1, 3)))


def _turn(r: Random, line: str) -> Turn:
    label, value = line.split(": ") if ": " in line else line.split(", ", 1)
    label = label.split(" x ")[-1]
    return Turn("note", f"{label}?", r.choice((line, value)), (value,))


def _hard_lines(r: Random, numbered: bool) -> list[str]:
    """Any name behind any label, dishes at any price: only reading helps. `numbered`: names after house numbers."""
    named = [f"{label}: {r.choice(_NAMES)}" for label in r.sample(_LABELS, r.randint(1, 4))]
    if numbered:
        kind = r.choice((_NAMES, STREETS))
        named = [f"{label}: {r.randint(1, 99)} {r.choice(kind)}" for label in r.sample(_LABELS, r.randint(1, 3))]
    dishes = r.sample(DISHES, r.randint(1, 5))
    lines = named + [str(_any_item(r, dish)) for dish in dishes]
    r.shuffle(lines)
    return lines


def _any_item(r: Random, dish: str) -> Item:
    return Item(r.randint(1, 4), dish, r.randint(2, 19), tuple(r.sample(ALLERGENS, r.randint(0, 3))))
