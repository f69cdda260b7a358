"""Sentences with alternatives, `[Sorry|I am sorry] about that.`, nested at will, and `{fields}` of the order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from kvlab.models.training.orders import Order

_INNERMOST = re.compile(r"\[([^\[\]]*)\]")


def say(r: Random, text: str, fields: Mapping[str, str] | None = None) -> str:
    """One of the sentences that `text` stands for, with its fields filled in and doubled spaces removed."""
    while found := _INNERMOST.search(text):
        text = text[: found.start()] + r.choice(found[1].split("|")) + text[found.end():]
    text = re.sub(r" +([.,?\n]|$)", r"\1", re.sub(r" {2,}", " ", text)).strip()
    return text.format_map(fields) if fields else text


@dataclass(frozen=True)
class Turn:
    """A question and its answer. `facts` are strings that every right answer to this question contains."""

    kind: str
    question: str
    answer: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topic:
    """A kind of question in one state of the order: how it is asked and answered, and which fields are its facts.

    more: looser ways to ask, those of each level of looseness; none for those that are listed by kind.
    """

    kind: str
    asks: tuple[str, ...]
    replies: tuple[str, ...]
    facts: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    late: bool | None = None
    promo: bool | None = None
    more: tuple[tuple[str, ...], ...] = ()

    def fits(self, order: Order) -> bool:
        """Whether the order is in the state this topic is about."""
        status = not self.statuses or order.status in self.statuses
        return status and self.late in (None, order.delay > 0) and self.promo in (None, bool(order.promo))

    def turn(self, r: Random, fields: Mapping[str, str]) -> Turn:
        """A question and an answer about the order and the item that `fields` describe."""
        question, answer = (say(r, r.choice(texts), fields) for texts in (self.asks, self.replies))
        return Turn(self.kind, question, answer, tuple(fields[name] for name in self.facts))
