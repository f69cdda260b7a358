# ruff: noqa: E501  (a sentence with its alternatives stays on one line)
"""How the app works: the answers that do not depend on the order. They are the longer ones."""

from __future__ import annotations

from kvlab.models.training.grammar import Topic
from kvlab.models.training.more_wordings import STILL_MORE, STILL_MORE_GUIDES, YET_MORE
from kvlab.models.training.wordings import MORE_GUIDES

_NOTE = "[That is all it takes.|If something looks different on your phone, update the app first.|Write again if you get stuck, and I go through it with you.|]"

# what is asked -> (ways to name it, an opening, the steps, a closing remark)
GUIDES: dict[str, tuple[str, str, tuple[str, ...], str]] = {
    "address": ("[change|add|edit] [an|my] address", "You can keep several addresses in your account.",
                ("Open the app and tap your name.", "Choose Addresses.", "Tap the address you want to change, or the plus sign for a new one.", "Type the street and the number[, and add a note for the courier if the door is hard to find|].", "Tap Save."),
                "An order that is on the way keeps its old address."),
    "promo": ("use a [promo code|code|discount]", "A promo code is used before you pay.",
              ("Fill your basket and open it.", "Tap Promo code under the total.", "Type the code[ exactly as it is written, in capital letters|].", "Check that the total has changed.", "Pay as usual."),
              "Only one code works for each order, and it cannot be added later."),
    "tip": ("[tip|give a tip to] [the|my] courier", "The whole tip goes to the courier.",
            ("Open the order.", "Tap the name of the courier.", "Choose an amount[, or type your own|].", "Confirm with your card."),
            "You can tip until 3 days after the delivery."),
    "call": ("[call|reach|contact|talk to] [the|my] courier", "You can reach the courier while the order is on the way.",
             ("Open the order.", "Tap the name of the courier below the map.", "Choose Call or Message.", "Keep it short, since the courier is riding."),
             "The courier sees your name but not your number."),
    "receipt": ("[get|find|download] a [receipt|bill|invoice]", "There is a receipt for every order.",
                ("Tap Orders.", "Choose the order[ by its date or its number|].", "Tap Receipt at the bottom.", "Choose Send to have it by mail, or Save to keep it on your phone."),
                "A company name can be added in your account before you order."),
    "report": ("report [a missing item|a problem|something missing]", "Tell us on the day of the delivery[, so that we can ask the kitchen|].",
               ("Open the order and tap Help.", "Choose the item that was missing or wrong.", "Say in a few words what happened.", "Add a photo if you have one.", "Tap Send."),
               "The refund reaches your card within 3 days."),
    "card": ("[change|add|remove] [my card|a card|a payment card]", "Cards are kept in your account.",
             ("Tap your name and choose Payment.", "Tap Add card and type the number.", "Confirm with your bank.", "Move the card to the top if you want to pay with it from now on.", "Swipe the old card to the left to remove it."),
             "An order that is already paid stays on the old card."),
    "again": ("[order the same again|repeat an order|reorder]", "It takes only a few taps.",
              ("Tap Orders.", "Choose the order you liked.", "Tap Order again.", "Check the address and the prices[, since they may have changed|].", "Pay as usual."),
              "Items that are sold out are shown in grey."),
    "later": ("[order for later|schedule an order|plan an order]", "You can order up to 7 days ahead.",
              ("Fill your basket and open it.", "Tap Deliver now at the top.", "Choose a day and a time.", "Tap Confirm and pay."),
              "You can cancel a planned order until the restaurant begins to prepare it."),
    "allergy": ("[save|set|store] [my allergies|an allergy]", "The app can warn you before you order.",
                ("Tap your name and choose Allergies.", "Mark everything that you do not tolerate.", "Tap Save.", "Look for the yellow sign beside a dish: it contains something that you marked."),
                "If you are very sensitive, please call the restaurant as well."),
    "delete": ("[delete|close|remove] my account", "I am sorry to see you go.",
               ("Tap your name and choose Settings.", "Scroll down to Account.", "Tap Delete account.", "Confirm with the code that we send by mail."),
               "Open refunds are still paid, and receipts are kept for as long as the law asks."),
    "rate": ("[rate|review] [the restaurant|my food|an order]", "Your stars help other people to choose.",
             ("Open the order.", "Tap Rate.", "Give one to five stars for the food and for the delivery.", "Write a line or two if you like.", "Tap Send."),
             "You can change your rating for 7 days."),
}
_SHAPES = ("{opening} {numbered}\n{closing} {note}", "{numbered}\n{closing} {note}", "{opening} {numbered} \n{note}", "{opening} {told} {closing}", "{told} {closing} {note}")


def _answer(opening: str, steps: tuple[str, ...], closing: str, shape: str) -> str:
    numbered = "".join(f"\n{place}. {step}" for place, step in enumerate(steps, 1))
    return shape.format(opening=opening, numbered=numbered, told=" ".join(steps), closing=closing, note=_NOTE)


_MORE = ("[How do|How can|How should|Where do|Where can] I {what}?", "[I would like to|I need to|I am trying to|Help me] {what}.", "[Is there a way to|Is it possible to|Am I able to|What is the way to] {what}?",
         "[Where in the app|In which menu] [can|do] I {what}?", "[I do not know|I cannot find out] how to {what}.")
HOWTO = tuple(
    Topic("how to", (f"How [do|can] I {what}?", f"[Can|Could] you [tell me|explain] how to {what}?", f"[How to|I want to] {what}.", f"[Explain|Show me] how to {what}[, please|].", f"What [do I have to|must I] do to {what}?"),
          tuple(_answer(opening, steps, closing, shape) for shape in _SHAPES),
          more=(tuple(ask.replace("{what}", f"[{MORE_GUIDES[key]}|{what}]") for ask in _MORE),
                tuple(ask.replace("{what}", f"[{STILL_MORE_GUIDES[key]}|{MORE_GUIDES[key]}|{what}]") for ask in (*_MORE, *STILL_MORE["how to"], *YET_MORE["how to"]))))
    for key, (what, opening, steps, closing) in GUIDES.items()
)

_ONLY = "[I can only help with your order|I only know about food orders|That is not something I know]. [Is there anything about order {number} I can do for you?|Ask me about order {number}.|]"
OTHER = (
    Topic("off topic", ("What is the capital of [France|Peru|Japan|Italy]?", "[Tell|Write] me a [joke|story|poem|song].", "Who [won the game|is the president|wrote Hamlet]?", "What is [the weather like|two plus two|the time in Tokyo]?",
                        "[Can you write|Write] some code.", "Do you [like music|dream|have a name for my cat]?", "Translate [this|a word] [for me|into French].", "Which phone should I buy?", "Are you a [human|robot|person]?"), (_ONLY,)),
)
