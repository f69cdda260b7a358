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
from kvlab.models.training.more_wordings import ASIDES, SHORT, STILL_MORE, STRAY, YET_MORE
from kvlab.models.training.notes import draw_notes
from kvlab.models.training.orders import DELIVERED, Order, draw_order, instructions
from kvlab.models.training.situations import SITUATIONS
from kvlab.models.training.wordings import MORE
from kvlab.models.training.words import ALLERGENS, DISHES

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
_HARDEST = {
    "price": 3, "allergens": 4, "allergy": 9, "missing": 6, "missing two": 2, "absent": 3, "itemised": 3, "report": 1,
    "how to": 3, "where": 3, "courier": 3, "address": 1, "cold": 2, "cancel": 1, "late": 2, "count": 2, "items": 2,
}
_LAST = {
    "price": 4, "allergens": 5, "allergy": 10, "missing": 4, "missing two": 1, "absent": 1, "itemised": 2, "report": 1,
    "how to": 4, "where": 3, "courier": 3, "address": 3, "cold": 3, "cancel": 1, "late": 3, "count": 3, "items": 3,
    "restaurant": 2, "total": 3, "promo": 2, "when": 2,
}
DRILLS = (_EASY, _HARD, _HARDER, _HARDEST, _LAST)
LOOSER = (MORE, STILL_MORE, YET_MORE)  # by how loose
COMPLAINTS = ("missing", "cold", "letter", "refund")
DISH = re.compile("|".join(sorted(DISHES, key=len, reverse=True)))
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


def _surrounded(r: Random, question: str) -> str:
    """A question with something before or after it that does not change it."""
    aside = r.choice(ASIDES)
    if r.random() < 0.5:
        return f"{question.rstrip('.')}{r.choice((', ', '. ', ' '))}{aside}"
    return f"{aside}{r.choice((', ', '. ', ': '))}{question}"


def _shortened(r: Random, question: str) -> str:
    """`I'm` for `I am`, and now and then in small letters or without its last mark."""
    if r.random() < 0.6:
        for whole, short in SHORT:
            question = question.replace(whole, short)
    if r.random() < 0.25:
        question = question.lower()
    return question.rstrip(".?") if r.random() < 0.3 else question


def _typed(r: Random, question: str) -> str:
    """A question as people type it: at times with a greeting, in small letters, or without its last mark."""
    if r.random() < 0.12:
        question = r.choice(("Hi. ", "Hello. ", "Hey. ", "Good evening. ", "Please help. ", "Excuse me. ")) + question
    if r.random() < 0.15:
        question = question.lower()
    if r.random() < 0.15:
        question = question.rstrip(".?")
    return question


def _key(turn: Turn, f: dict[str, str]) -> str:
    """What its looser wordings are listed under: yes-or-no answers depend on how they were asked for."""
    if turn.kind != "allergy":
        return turn.kind
    if f["dish"] not in turn.question:
        return "allergy, anything"
    return "allergy, to eat" if re.search(r"\beat\b", turn.question) else "allergy, yes or no"  # and not "wheat"


def _reworded(r: Random, turn: Turn, topic: Topic | None, f: dict[str, str], loose: int) -> Turn:
    """Half the time or more the question in the looser words of the later stages."""
    key = _key(turn, f)
    levels = topic.more if topic and topic.more else tuple(wordings.get(key, ()) for wordings in LOOSER)
    more = [wording for level in levels[:loose] for wording in level]
    if not more or r.random() < (0.3 if loose > 1 else 0.5) or len(DISH.findall(turn.question)) > 1:
        return turn
    what = next((word for word in re.findall(r"\w+", turn.question) if word in ALLERGENS), "")
    dish = next((name for name in DISHES if turn.kind == "absent" and name in turn.question), f["dish"])
    return replace(turn, question=say(r, r.choice(more), f | {"what": what, "dish": dish}))


def _blurred(r: Random, question: str, order: Order) -> str:
    """One word in four or five dropped, replaced or preceded by a stray one; what the order holds stays as it is."""
    words = question.split(" ")
    if len(words) < 4:
        return question
    kept = {"allergy", "allergic", *re.findall(r"\w+", " ".join((str(order), *ALLERGENS, *DISHES)))}
    for place in r.sample(range(len(words)), max(1, len(words) // 5)):
        if re.sub(r"\W", "", words[place]) not in kept:
            words[place] = r.choice(("", r.choice(STRAY), f"{r.choice(STRAY)} {words[place]}"))
    return " ".join(word for word in words if word)


def draw_turn(r: Random, order: Order, kinds: dict[str, int], loose: int = 0) -> Turn:
    """A question about `order` of a kind drawn by the weights `kinds`, and its answer.

    `loose` 1: in more wordings; 2: in still more, and blurred; 3: in yet more, and with asides.
    """
    while True:
        kind = r.choices(tuple(kinds), tuple(kinds.values()))[0]
        f = fields(order, r.choice(order.items))
        choices: list[Topic] = [topic for topic in TOPICS if topic.kind == kind and topic.fits(order)]
        if kind in COMPLAINTS and order.status != DELIVERED and r.random() < 0.6:
            continue
        topic = r.choice(choices) if choices else None
        turn = GROWING[kind](r, order, f) if kind in GROWING else topic.turn(r, f) if topic else None
        if turn:
            turn = _reworded(r, turn, topic, f, loose) if loose else turn
            asked = _blurred(r, turn.question, order) if loose > 1 and r.random() < 0.3 else turn.question
            asked = _surrounded(r, asked) if loose > 2 and r.random() < 0.25 else asked
            asked = _shortened(r, asked) if loose > 1 and r.random() < 0.5 else asked
            answer = say(r, turn.answer)  # an empty field leaves a doubled space behind
            return Turn(turn.kind, _typed(r, asked), answer, turn.facts)


def _without_order(r: Random) -> Chat:
    topic = r.choice(FACTS + SITUATIONS[:12]) if r.random() < 0.6 else r.choice(HOWTO)
    turn = topic.turn(r, fields(order := draw_order(r), order.items[0]))
    if topic not in HOWTO:
        turn = Turn("no order", turn.question, say(r, _NO_ORDER))
    return Chat(instructions(r, None), (turn,), None)


def draw_chat(r: Random, held_out: bool = False, drills: dict[str, int] | None = None, loose: int = 0) -> Chat:
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

    `hard` 1, 2, 3: notes mix names and labels, drills ask for what is copied wrong most often. 2: also in looser words.
    3, 4: in looser ones still, some of them blurred or with an aside.
    """
    r = Random(seed)
    while True:
        kind = r.random()
        if kind < notes:
            system, turns = draw_notes(r, hard)
            yield Chat(system, turns, None)
        elif kind < notes + drills:
            yield draw_chat(r, held_out, DRILLS[hard], max(0, hard - 1))
        else:
            yield draw_chat(r, held_out, loose=max(0, hard - 1))
