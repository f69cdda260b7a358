"""Conversations: an order, then questions and answers. Endless, seeded, split by order into training and held-out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from kvlab.models.training.facts import FACTS
from kvlab.models.training.fields import fields
from kvlab.models.training.grammar import Topic, Turn, say
from kvlab.models.training.howto import HOWTO, OTHER
from kvlab.models.training.long import GROWING
from kvlab.models.training.notes import draw_notes
from kvlab.models.training.orders import DELIVERED, Order, draw_order, instructions
from kvlab.models.training.situations import SITUATIONS
from kvlab.models.training.wordings import MORE
from kvlab.models.training.words import ALLERGENS

TOPICS = (*FACTS, *SITUATIONS, *HOWTO, *OTHER)
#: how often customers ask what: mostly for short answers, with a long tail
WEIGHTS = {
    "where": 14, "late": 12, "missing": 10, "cold": 6, "cancel": 5, "move": 4, "refund": 2, "refund time": 4,
    "credit": 3, "thanks": 6, "hello": 3, "how to": 12, "off topic": 2, "courier": 2, "address": 2, "number": 1,
    "restaurant": 1, "ordered": 1, "promised": 2, "when": 4, "delay": 2, "total": 3, "price": 3, "count": 2,
    "status": 2, "promo": 4, "allergens": 3, "items": 5, "itemised": 5, "timeline": 2, "letter": 3, "report": 5,
    "allergy": 6, "absent": 2, "missing two": 2, "read back": 2,
}
_EASY = {kind: 1 for kind in (*dict.fromkeys(topic.kind for topic in FACTS), "read back")}
_HARD = _EASY | {
    "courier": 4, "address": 4, "price": 5, "restaurant": 2, "allergens": 2, "where": 2, "itemised": 1, "allergy": 2,
}
_HARDER = _EASY | {
    "address": 4, "price": 5, "where": 4, "missing": 4, "move": 2, "itemised": 3, "allergy": 6, "items": 2,
}
DRILLS = (_EASY, _HARD, _HARDER)
COMPLAINTS = ("missing", "cold", "letter", "refund")
_NO_ORDER = (
    "[I cannot see an order in this chat|There is no order in this chat]. "
    "[Please open the order and ask again.|Open the order in the app and write to me from there.]"
)


@dataclass(frozen=True)
class Chat:
    """A system message and the turns that follow it. `order` is None if there is none, or only notes."""

    system: str
    turns: tuple[Turn, ...]
    order: Order | None

    def messages(self, last: int | None = None) -> list[dict[str, str]]:
        """The chat in the form that `apply_chat_template` takes, up to and with turn number `last`."""
        rows = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.turns[: None if last is None else last + 1]:
            rows += [{"role": "user", "content": turn.question}, {"role": "assistant", "content": turn.answer}]
        return rows


def _typed(r: Random, question: str) -> str:
    """A question as people type it: at times with a greeting, in small letters, or without its last mark."""
    if r.random() < 0.12:
        question = r.choice(("Hi. ", "Hello. ", "Hey. ", "Good evening. ", "Please help. ", "Excuse me. ")) + question
    if r.random() < 0.15:
        question = question.lower()
    if r.random() < 0.15:
        question = question.rstrip(".?")
    return question


def _reworded(r: Random, turn: Turn, topic: Topic | None, f: dict[str, str]) -> Turn:
    """Half the time the question in the looser words of the last stage."""
    asked = turn.question
    what = next((word for word in re.findall(r"\w+", asked) if word in ALLERGENS), "")
    key = turn.kind
    if key == "allergy":
        key += ", anything" if f["dish"] not in asked else ", to eat" if "eat" in asked else ", yes or no"
    more = topic.more if topic and topic.more else MORE.get(key, ())
    if not more or r.random() < 0.5 or " and the " in asked:
        return turn
    return replace(turn, question=say(r, r.choice(more), f | {"what": what}))


def draw_turn(r: Random, order: Order, kinds: dict[str, int], loose: bool = False) -> Turn:
    """A question about `order` of a kind drawn by the weights `kinds`, and its answer. `loose`: in more wordings."""
    while True:
        kind = r.choices(tuple(kinds), tuple(kinds.values()))[0]
        f = fields(order, r.choice(order.items))
        choices: list[Topic] = [topic for topic in TOPICS if topic.kind == kind and topic.fits(order)]
        if kind in COMPLAINTS and order.status != DELIVERED and r.random() < 0.6:
            continue
        topic = r.choice(choices) if choices else None
        turn = GROWING[kind](r, order, f) if kind in GROWING else topic.turn(r, f) if topic else None
        if turn:
            turn = _reworded(r, turn, topic, f) if loose else turn
            answer = say(r, turn.answer)  # an empty field leaves a doubled space behind
            return Turn(turn.kind, _typed(r, turn.question), answer, turn.facts)


def _without_order(r: Random) -> Chat:
    topic = r.choice(FACTS + SITUATIONS[:12]) if r.random() < 0.6 else r.choice(HOWTO)
    turn = topic.turn(r, fields(order := draw_order(r), order.items[0]))
    if topic not in HOWTO:
        turn = Turn("no order", turn.question, say(r, _NO_ORDER))
    return Chat(instructions(r, None), (turn,), None)


def draw_chat(r: Random, held_out: bool = False, drills: dict[str, int] | None = None, loose: bool = False) -> Chat:
    """A conversation of one to eight questions (held out: five). A drill asks for many single facts in a row."""
    if not held_out and not drills and r.random() < 0.04:
        return _without_order(r)
    order = draw_order(r, held_out)
    count = r.randint(9, 14) if drills else r.randint(1, 5) if held_out else r.randint(1, 8)
    kinds = drills or WEIGHTS
    return Chat(instructions(r, order), tuple(draw_turn(r, order, kinds, loose) for _ in range(count)), order)


def chats(
    seed: int, held_out: bool = False, drills: float = 0.0, notes: float = 0.0, hard: int = 0,
) -> Iterator[Chat]:
    """Conversations without end: the same for the same seed on every machine. `drills`, `notes`: shares of those.

    `hard` 1, 2: notes mix names and labels, drills ask for what is copied wrong most often. 2: also in looser words.
    """
    r = Random(seed)
    while True:
        kind = r.random()
        if kind < notes:
            system, turns = draw_notes(r, hard)
            yield Chat(system, turns, None)
        elif kind < notes + drills:
            yield draw_chat(r, held_out, DRILLS[hard], hard > 1)
        else:
            yield draw_chat(r, held_out, loose=hard > 1)
