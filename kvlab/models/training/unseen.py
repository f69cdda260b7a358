"""Questions that the generator did not write: six for the card, and forty that were written without a look at it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from kvlab.models.training.answers import Message, answer
from kvlab.models.training.conversations import TOPICS
from kvlab.models.training.fields import fields
from kvlab.models.training.grammar import Topic
from kvlab.models.training.howto import GUIDES
from kvlab.models.training.long import GROWING
from kvlab.models.training.orders import INTRO, Item, Order, draw_order
from kvlab.models.training.words import ALLERGENS

#: settled before the last stage; {fields} are those of the order they are asked about
SIX = (
    "Who is riding over with my dinner?",
    "It has been ages. Where did my order end up?",
    "The {dish} never made it into the bag.",
    "My son cannot have {allergen}. Is the {dish} all right for him?",
    "How would I put another card into the app?",
    "Please put together a complete report about what I ordered.",
)
#: two of each kind, written by somebody who had seen neither the generator nor an answer
FORTY: dict[str, tuple[str, ...]] = {
    "courier": (
        "whos bringing my food tonight",
        "Could you tell me the name of the person delivering this, please?",
    ),
    "where": (
        "any idea where my dinner has got to",
        "Hi love, I can't see my order on the map, whereabouts is it now?",
    ),
    "late": (
        "this is ridiculous, it should've been here ages ago and the kids are starving",
        "Still nothing at my door. Why is it taking so much longer than you said?",
    ),
    "missing": (
        "just unpacked everything and there's no {dish}",
        "You lot forgot my {dish}, I paid for it and it isn't in the bag.",
    ),
    "cold": (
        "{dish} turned up stone cold",
        "Sorry to moan, but the {dish} smells off and I don't think it's safe to eat.",
    ),
    "cancel": (
        "changed my mind, can you call the whole thing off",
        "I need to cancel please, something's come up and I won't be home.",
    ),
    "address": (
        "which address did I put on this one? I moved last month",
        "is it going to my work or my flat",
    ),
    "restaurant": (
        "what place did I order from again lol",
        "May I ask which kitchen is preparing my meal?",
    ),
    "when": (
        "how long til it gets here",
        "What time should I expect the doorbell? I want to jump in the shower.",
    ),
    "total": (
        "how much am I paying altogether",
        "My husband wants to know what the whole order came to, delivery and all.",
    ),
    "price": (
        "how much was the {dish} on its own",
        "What did you charge me for the {dish}?",
    ),
    "count": (
        "did i get one {dish} or two",
        "Just checking how many portions of {dish} I ordered, we've got guests coming.",
    ),
    "promo": (
        "did my discount code go through",
        "I typed in a voucher at checkout, can you see whether it was applied?",
    ),
    "allergens": (
        "allergens in the {dish}?",
        "Before I dish up, can you list what the {dish} contains allergy-wise?",
    ),
    "allergy": (
        "My grandson can't have {allergen}, is the {dish} all right for him?",
        "i react badly to {allergen}, can i eat the {dish} or not",
    ),
    "items": (
        "what did i actually order",
        "Remind me what's in the bag, my flatmate placed the order and I've no clue.",
    ),
    "itemised": (
        "can i see the bill broken down by item with prices",
        "We're splitting this between four, so I need each thing and what it cost.",
    ),
    "report": (
        "Please write me a full report on this order, covering everything from start to finish.",
        "need a complete written summary of this order for my boss, all the details",
    ),
    "how to card": (
        "how do I put a second card on my account",
        "Got a new bank card, where do I go in the app to add it?",
    ),
    "how to receipt": (
        "where do i find a receipt for this, need it for expenses",
        "Could you explain how I get a receipt emailed to me?",
    ),
}
ORDERS_EACH = 5
TALKED_OF = {topic.kind for topic in TOPICS}


def asked(question: str, order: Order, item: Item, allergen: str) -> list[Message]:
    """The chat in which the order's customer asks it."""
    text = question.format(dish=item.dish, allergen=allergen)
    return [{"role": "system", "content": f"{INTRO}\n{order}"}, {"role": "user", "content": text}]


def _topics(kind: str, order: Order) -> list[Topic]:
    return [topic for topic in TOPICS if topic.kind == kind and topic.fits(order)]


def needed(kind: str, order: Order, item: Item, allergen: str) -> tuple[str, ...]:
    """What an answer to a question of that kind has to contain, all of it, to count as complete."""
    f = fields(order, item)
    if kind.startswith("how to "):
        return tuple(step.split("[")[0].rstrip(".") for step in GUIDES[kind.removeprefix("how to ")][2])
    if kind == "allergy":
        return (f"there is {allergen}" if allergen in item.contains else f"no {allergen}", item.dish)
    if kind in GROWING:
        turn = GROWING[kind](Random(0), order, f)
        return turn.facts if turn else ()
    facts = tuple(f[name] for name in _topics(kind, order)[0].facts)
    return facts or ("promo code",)  # that none was used is said with these words


def drawn(forty: dict[str, tuple[str, ...]], seed: int) -> Iterator[tuple[str, list[Message], tuple[str, ...]]]:
    """`(kind, chat, what the answer needs)`: each question about five held-out orders."""
    r = Random(seed)
    for kind, questions in forty.items():
        for question in questions:
            for _ in range(ORDERS_EACH):
                order = draw_order(r, held_out=True)
                while kind in TALKED_OF and not _topics(kind, order):  # nothing is cold before it is delivered
                    order = draw_order(r, held_out=True)
                item = r.choice(order.items)
                allergen = r.choice(item.contains if item.contains and r.random() < 0.5 else ALLERGENS)
                yield kind, asked(question, order, item, allergen), needed(kind, order, item, allergen)


def complete(model: Any, tokenizer: Any, temperature: float, seed: int = 41) -> dict[str, dict[str, int]]:
    """For each kind of question, how many of the answers are complete, of how many."""
    kinds, chats, facts = zip(*drawn(FORTY, seed), strict=True)
    found: dict[str, dict[str, int]] = {kind: {"complete": 0, "all": 0} for kind in FORTY}
    for kind, wanted, given in zip(kinds, facts, answer(model, tokenizer, list(chats), temperature, seed), strict=True):
        found[kind]["all"] += 1
        found[kind]["complete"] += all(fact in given.text for fact in wanted)
    return found


def six(model: Any, tokenizer: Any, temperature: float, seed: int = 23) -> list[dict[str, str]]:
    """The six questions about six held-out orders, each answered greedily and sampled at `temperature`."""
    r = Random(seed)
    rows = []
    for question in SIX:
        order = draw_order(r, held_out=True)
        item = order.items[0]
        chat = asked(question, order, item, (*item.contains, "nuts")[0])
        greedy, sampled = (answer(model, tokenizer, [chat], heat, seed)[0].text for heat in (0.0, temperature))
        rows.append({"order": str(order), "question": chat[-1]["content"], "greedy": greedy, "sampled": sampled})
    return rows
