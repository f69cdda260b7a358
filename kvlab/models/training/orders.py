"""Orders: what the assistant is told before the customer speaks."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from zlib import crc32

from kvlab.models.training.words import ALLERGENS, COURIERS, MENUS, PROMOS, STREETS

INTRO = "You are Courier, the support assistant of a food delivery app. Answer with the facts of the order."
RULES = (
    "House rules: a refund reaches the card within 3 days. A delay of 20 minutes or more earns a credit of 5 euros. "
    "An order can be cancelled while it is being prepared. The courier waits 10 minutes at the door."
)
PREPARED, RIDING, DELIVERED = "being prepared", "on the way", "delivered"
OPEN = (PREPARED, RIDING)
HELD_OUT_ONE_IN = 64


def listed(words: tuple[str, ...] | list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def clock(minutes: int) -> str:
    """Minutes after midnight as `18:05`."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@dataclass(frozen=True)
class Item:
    """One line of an order: how many, of what, at how many euros each, and what it contains."""

    count: int
    dish: str
    price: int
    contains: tuple[str, ...]

    @property
    def cost(self) -> str:
        """The price in words: `9 euros`, or `9 euros each` if there are several."""
        return f"{self.price} euros each" if self.count > 1 else f"{self.price} euros"

    def __str__(self) -> str:
        return f"{self.count} x {self.dish}, {self.cost} ({', '.join(self.contains) or 'no allergens'})"


@dataclass(frozen=True)
class Order:
    """One order. Times are minutes after midnight, money is whole euros, `promo` is empty if no code was used."""

    number: int
    restaurant: str
    status: str
    courier: str
    address: str
    ordered: int
    promised: int
    delay: int
    promo: str
    off: int
    items: tuple[Item, ...]

    @property
    def total(self) -> int:
        """Euros paid."""
        return sum(item.count * item.price for item in self.items) - self.off

    @property
    def expected(self) -> str:
        """The time at which it arrives or arrived."""
        return clock(self.promised + self.delay)

    def __str__(self) -> str:
        arrival = "Arrived" if self.status == DELIVERED else "Expected"
        return "\n".join((
            f"Order {self.number} from {self.restaurant}", f"Status: {self.status}", f"Courier: {self.courier}",
            f"Address: {self.address}", f"Ordered: {clock(self.ordered)}", f"Promised: {clock(self.promised)}",
            f"{arrival}: {self.expected}", f"Delay: {f'{self.delay} minutes' if self.delay else 'none'}",
            f"Promo: {f'{self.promo}, {self.off} euros off' if self.promo else 'none'}",
            "Items:", *map(str, self.items), f"Total: {self.total} euros",
        ))

    @property
    def held_out(self) -> bool:
        """Whether this order is kept for evaluation: decided by its text, so no order can be on both sides."""
        return crc32(str(self).encode()) % HELD_OUT_ONE_IN == 0


def _item(r: Random, dish: str, least: int, most: int, contains: tuple[str, ...]) -> Item:
    """A line of the order. Now and then a dish differs from its usual recipe, so the order must be read."""
    if r.random() < 0.2:
        contains = tuple(sorted(set(contains) ^ {r.choice(ALLERGENS)}))
    return Item(r.choices((1, 2, 3, 4), (70, 20, 7, 3))[0], dish, r.randint(least, most + 3), contains[:4])


def _draw(r: Random) -> Order:
    restaurant = r.choice(tuple(MENUS))
    dishes = r.sample(MENUS[restaurant], r.choices((1, 2, 3, 4, 5, 6), (18, 30, 26, 15, 8, 3))[0])
    ordered = r.randrange(10 * 60, 22 * 60)
    items = tuple(_item(r, *dish) for dish in dishes)
    most_off = min(9, sum(item.count * item.price for item in items) - 2)
    promo = r.choice(PROMOS) if r.random() < 0.5 and most_off > 1 else ""
    return Order(
        number=r.randint(100, 999), restaurant=restaurant,
        status=r.choices((PREPARED, RIDING, DELIVERED), (3, 3, 5))[0],
        courier=r.choice(COURIERS), address=f"{r.randint(1, 99)} {r.choice(STREETS)}", ordered=ordered,
        promised=ordered + r.randint(20, 60), delay=r.choice((0, 0, r.randint(5, 49), r.randint(5, 49))),
        promo=promo, off=r.randint(2, most_off) if promo else 0, items=items,
    )


def draw_order(r: Random, held_out: bool = False) -> Order:
    """A random order of the wanted side of the split."""
    while (order := _draw(r)).held_out != held_out:
        pass
    return order


def instructions(r: Random, order: Order | None) -> str:
    """The system message: a line of instructions, at times the house rules too or nothing; then the order, if any."""
    head = r.choices(([INTRO], [INTRO, RULES], []), (65, 20, 15))[0]
    return "\n".join([*head, *([str(order)] if order else [])])
