# ruff: noqa: E501  (a sentence with its alternatives stays on one line)
"""Answers that grow with the order: the itemised list, the timeline, a message to the restaurant, the full report."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kvlab.models.training.grammar import Turn, say
from kvlab.models.training.orders import DELIVERED, PREPARED, Order, clock, listed
from kvlab.models.training.words import ALLERGENS, DISHES

_LIST = ("[List|Show me|Read me|Itemise] [my order|the order|all items|the items][, please|].", "What [did I order|is in my order|have I ordered|is in the bag]?", "[Can|Could] you [list|itemise|go through] [the items|my order|everything]?", "Which items [did I order|are in my order|are in the order]?")
_PRICES = ("[Itemise|List|Show] [my order|the items|everything] with [prices|all prices|the price of each].", "What did [each item|everything|every item] cost?", "[I need|Give me] an itemised [list|bill][, please|].", "[Why is it so much|How do you get to that total]?", "[Can|Could] you [itemise|break down] the [bill|total|price]?")
_TIMES = ("[Give me|Show me] [a|the] timeline [of my order|of order {number}|].", "What happened [so far|with my order until now]?", "[List|Show me] [all the|the] times[, please|].", "When did what happen?")
_REPORT = ("[Write|Give me|I need|Please write] a [full|complete|detailed] report [on|about] [my order|order {number}|this order].", "[Tell|Show] me everything [about|you know about] [my order|order {number}|this order].", "[Full|Complete] report[, please|].", "[Can|Could] you write a [full|complete] report?", "[Explain|Summarise] [my whole order|the whole order|everything] in [detail|full].")
_LETTER = ("[Write|Draft] a [message|letter|note] to [the restaurant|{restaurant}] about the {dish}.", "[Can|Could] you [write|send] [the restaurant|{restaurant}] a [message|letter] about the [missing|cold] {dish}?", "[I want to|Help me] complain to [the restaurant|{restaurant}] about the {dish}.")


_RULES = ("[Good to know|The rules]:\n- A refund reaches the card within 3 days.\n- A delay of 20 minutes or more earns a credit of 5 euros.\n"
          "- An order can be cancelled while it is being prepared.\n- The courier waits 10 minutes at the door[, so please keep the phone close|].")


def listing(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """The items without prices, as a sentence or as a list."""
    names = [f"{item.count} x {item.dish}" for item in order.items]
    shape = r.choice(("[You ordered|Your order has|Order {number} has|In the bag:] {names}.", "[Order {number} from {restaurant}|Your order]:{lines}", "Here is your order from {restaurant}:{lines}"))
    lines = "".join(f"\n- {name}" for name in names)
    return Turn("items", say(r, r.choice(_LIST), f), say(r, shape, f | {"names": listed(names), "lines": lines}), tuple(names))


def itemised(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """One line for each item with its price, and the total."""
    lines = [f"{item.count} x {item.dish}, {item.cost}" for item in order.items]
    head = r.choice(("[Here is|This is] [the itemised list of|the bill for] order {number}:", "Order {number} from {restaurant}:", "[Of course|Here you are]:"))
    code = f"\n- Promo code {order.promo}: {order.off} euros off" if order.promo else ""
    answer = say(r, head, f) + "".join(f"\n- {line}" for line in lines) + code + f"\nTotal: {order.total} euros"
    return Turn("itemised", say(r, r.choice(_PRICES), f), answer, (*lines, f["cost"]))


def _arrival(order: Order) -> str:
    return f"arrived at {order.expected}" if order.status == DELIVERED else f"is expected at {order.expected}"


def timeline(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """What happened when."""
    end = "Delivered" if order.status == DELIVERED else "Expected"
    late = f", {order.delay} minutes late" if order.delay else ", on time"
    lines = say(r, "\n- {ordered}: [Order placed|You placed the order] with {restaurant}\n- {promised}: Promised time\n- {expected}: " + end + " at {address}" + late, f)
    head = say(r, r.choice(("[Here is|This is] the timeline of order {number}:", "Order {number} is {status}:", "[So far|In short]:")), f)
    return Turn("timeline", say(r, r.choice(_TIMES), f), f"{head}\n{lines}", (f["ordered"], f["promised"], f["expected"]))


def letter(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """A message to the restaurant about one item."""
    text = say(r, "[I have sent this message|Here is a message you can send|This is my draft]:\n\nDear team of {restaurant},\n[I am writing|This is] about order {number}, placed at {ordered}. The {dish} was not [as it should be|right]. "
               "[It {cost_verb} {each} euros, which we refund.|We refund {each} euros for it.] [The customer would have liked to enjoy it.|The customer was looking forward to it.|] "
               "[Please check the bag before the courier leaves.|Please look into it with the kitchen.] [{courier} took the order to {address}.|The courier was {courier}.]\n[Kind regards|With thanks],\nCourier", f | {"cost_verb": "cost"})
    return Turn("letter", say(r, r.choice(_LETTER), f), text, (f["restaurant"], f["number"], f["dish"], f["refund"]))


def _report_items(order: Order) -> str:
    return "".join(f"\n- {item.count} x {item.dish}, {item.cost}. It contains {listed(item.contains) if item.contains else 'no allergens'}." for item in order.items)


def _report_end(r: Random, order: Order, f: dict[str, str]) -> str:
    done = {PREPARED: "it is still being prepared, so you can cancel it or change the address.", DELIVERED: "if something was missing or wrong, tell me which item, and I refund it."}
    advice = done.get(order.status, f"it can no longer be cancelled. You can call {order.courier} from the order page.")
    note = r.choice(("", " A refund reaches your card within 3 days.", " You find the receipt under Orders."))
    rules = say(r, _RULES) + "\n\n" if r.random() < 0.5 else ""
    return f"Next: {advice}{note}\n\n{rules}" + say(r, "That is [everything|all] I [have|know] about order {number}.", f)


def report(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """Everything about the order: the longest answer. Its last sentence is always the same, so that it ends."""
    start = say(r, "[Here is|This is] the full report on order {number}.\n\nOrder: [it was placed|you placed it] at {ordered} with {restaurant} and [it |]goes to {address}. [It|The order] {is_status}.", f)
    late = f"{order.delay} minutes after the promised time" if order.delay else "which is on time"
    way = f"Delivery: {order.courier} is the courier. It was promised for {clock(order.promised)} and {_arrival(order)}, {late}.{f['credit_tail']}"
    money = f"Payment: {f'the code {order.promo} took {order.off} euros off, and ' if order.promo else ''}the total is {order.total} euros."
    answer = f"{start}\n\nItems:{_report_items(order)}\n\n{money}\n\n{way}\n\n{_report_end(r, order, f)}"
    facts = [f[name] for name in ("number", "restaurant", "address", "courier", "ordered", "promised", "expected", "cost")]
    return Turn("report", say(r, r.choice(_REPORT), f), answer, (*facts, *(f"{item.count} x {item.dish}, {item.cost}" for item in order.items)))


def _one_dish(r: Random, f: dict[str, str], inside: bool) -> Turn:
    """Whether the dish contains `what`. Only the first kind of question is answered by yes or no: the other asks the opposite."""
    asked = r.randrange(2)
    ask = (("[Does|Would] the {dish} [contain|have] {what}?", "Is there [any |]{what} in the {dish}?"),
           ("I am allergic to {what}. [Can I eat|Is it safe to eat|Is it all right to eat] the {dish}?", "[Can|Could] I eat the {dish} with [my|a] {what} allergy?"))[asked]
    # What it contains is copied first, so that the verdict can be read off the sentence itself.
    reply = (("The {dish} {contains}, so [there is|it has] no {what}[ in it|]. [If you are very sensitive, please call the restaurant.|]", "[Yes: the|The] {dish} {contains}, so there is {what} in it. [Please do not eat it if you are allergic.|]"),
             ("The {dish} {contains}, so no {what}[: you can eat it|]. [If you are very sensitive, please call the restaurant.|]", "[Better not: the|The] {dish} {contains}, so there is {what} in it. [Please do not eat it.|]"))[asked][inside]
    return Turn("allergy", say(r, r.choice(ask), f), say(r, reply, f), ((f"there is {f['what']}" if inside else f"no {f['what']}"), f["dish"]))


def allergy(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """Whether one dish, or any, contains one allergen."""
    item = next(item for item in order.items if item.dish == f["dish"])
    what = r.choice(item.contains) if item.contains and r.random() < 0.5 else r.choice(ALLERGENS)
    if r.random() < 0.6:
        return _one_dish(r, f | {"what": what}, what in item.contains)
    with_it = [line.dish for line in order.items if what in line.contains]
    ask = say(r, r.choice(("[Which|What] [items|dishes] [contain|have] {what}?", "I am allergic to {what}. [What can I not eat|What should I avoid|Is anything unsafe]?", "Is there [any |]{what} in my order?")), {"what": what})
    answer = f"[These|The following] contain {what}: {listed(with_it)}." if len(with_it) > 1 else f"[Only the|The] {with_it[0]} contains {what}." if with_it else f"[Nothing|No item] in order {order.number} contains {what}."
    return Turn("allergy", ask, say(r, answer), tuple(with_it) or (what,))


def absent(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """A question about a dish that was never ordered."""
    dish = r.choice([dish for dish in DISHES if dish not in {item.dish for item in order.items}])
    ask = say(r, r.choice(("[My|The] {dish} [is missing|was cold].", "How much [is|was] the {dish}?", "How many {dish} did I order?", "Where is my {dish}?", "Does the {dish} contain [milk|nuts|egg|wheat]?")), {"dish": dish})
    names = listed([item.dish for item in order.items])
    return Turn("absent", ask, say(r, "[I do not see a|There is no] {other} in order {number}. [It has {names}.|You ordered {names}.]", f | {"other": dish, "names": names}), (dish, *(item.dish for item in order.items)))


def missing_two(r: Random, order: Order, f: dict[str, str]) -> Turn | None:
    """Two items missing from a delivered order: a refund for each."""
    if order.status != DELIVERED or len(order.items) < 2:
        return None
    one, two = r.sample(order.items, 2)
    ask = say(r, r.choice(("[My|The] {one} and [the|my] {two} are missing.", "[I did not get|You forgot] the {one} and the {two}.", "Two things are missing: the {one} and the {two}.")), {"one": one.dish, "two": two.dish})
    answer = say(r, "[I am sorry|Sorry|I apologise][ about that|]. I refund {x} euros for the {one} and {y} euros for the {two}. [The money reaches your card within 3 days.|I have told {restaurant}.|]",
                 f | {"one": one.dish, "two": two.dish, "x": str(one.price), "y": str(two.price)})
    return Turn("missing", ask, answer, (f"{one.price} euros for the {one.dish}", f"{two.price} euros for the {two.dish}"))


def read_back(r: Random, order: Order, f: dict[str, str]) -> Turn:
    """The order word for word. As a drill it teaches copying faster than anything else."""
    ask = say(r, r.choice(("[Read|Show] me the [order|whole order] [as it is|word for word].", "[What does the order say|What do you have on file]?", "[Copy|Repeat] [the|my] order[, please|].")), f)
    return Turn("read back", ask, str(order), tuple(str(order).split("\n")))


GROWING: dict[str, Callable[[Random, Order, dict[str, str]], Turn | None]] = {
    "items": listing, "itemised": itemised, "timeline": timeline, "letter": letter, "report": report, "allergy": allergy,
    "absent": absent, "missing two": missing_two, "read back": read_back,
}
