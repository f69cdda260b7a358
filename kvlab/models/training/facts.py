# ruff: noqa: E501  (a sentence with its alternatives stays on one line)
"""Short questions about one fact of the order. They are the drills that teach the model to read the order."""

from __future__ import annotations

from kvlab.models.training.grammar import Topic
from kvlab.models.training.orders import DELIVERED, OPEN

_WHEN = ("When [will it arrive|does it arrive|will my food be here|will my order arrive|does my food come]?", "[What|At what] time [will it|does it|will my food] [arrive|come|be here]?", "How [long|much longer] [will it take|do I have to wait|until my food is here]?",
         "When did [it|my food|my order] [arrive|come]?", "[What|At what] time did [it|my food|my order] [arrive|come]?", "When was [it|my order|my food] delivered?")

FACTS = (
    Topic("courier", ("Who [is my courier|is the courier|brings my order|delivers my order|is bringing my food]?", "What is the [name of the courier|courier called|name of my courier]?",
                      "[Can|Could] you tell me who [is delivering|delivers|brings] [it|my food|the order]?", "[The courier's name|Courier name][, please|]?", "What is my courier's name?"),
          ("Your courier is {courier}.", "{courier} [brings|delivers|is bringing] your order.", "The courier [of|for] order {number} is {courier}.", "It is {courier}."), ("courier",)),
    Topic("address", ("[Where does|Which address does|What address does] [it|my order|the order] go to?", "[What|Which] address [do you have|is on the order|did I give]?",
                      "Can you [check|confirm|read me] [the address|my address|the delivery address]?", "Is my address right?", "Where will [it|my food|the order] be delivered?"),
          ("[It|The order|Your order] goes to {address}.", "The address on order {number} is {address}.", "[I have|We have] {address} [on the order|as the address]."), ("address",)),
    Topic("number", ("[What|Which] is my order number?", "[What|Which] number [does my order have|is my order|is this order]?", "[Can|Could] you [give|tell] me the [order number|number of my order]?", "Order number[, please|]?"),
          ("[It|Your order] is [number|order] {number}.", "Your order number is {number}.", "The number of [your|this] order is {number}."), ("number",)),
    Topic("restaurant", ("[Which|What] restaurant [is it from|did I order from|is cooking|makes my food]?", "Where [did I order|does my food come from|is my food from]?", "Who [cooks|is cooking|made|makes] my food?"),
          ("[It|Your order|Your food] [is|comes] from {restaurant}.", "You ordered from {restaurant}.", "{restaurant} [makes|prepares] [this order|order {number}|your food]."), ("restaurant",)),
    Topic("ordered", ("When did I [order|place the order|place this order]?", "[What|At what] time did I order?", "When was [it|the order|my order] [placed|made]?"),
          ("You ordered at {ordered}.", "[The|Your] order was placed at {ordered}.", "Order {number} was placed at {ordered}."), ("ordered",)),
    Topic("promised", ("[What|Which] time was [promised|I promised]?", "When was [it|my order|my food] [promised|due|supposed to arrive]?", "[What|Which] delivery time did you promise?"),
          ("[It|Your order] was promised for {promised}.", "The promised time [was|is] {promised}.", "Order {number} was promised for {promised}."), ("promised",)),
    Topic("when", _WHEN, ("[It|Your order|Your food] [is expected|should arrive] at {expected}.", "{courier} should be [with you|there|at your door] at {expected}.", "Please expect it at {expected}."), ("expected",), OPEN),
    Topic("when", _WHEN, ("[It|Your order] arrived at {expected}.", "{courier} delivered it at {expected}.", "Order {number} was delivered at {expected}."), ("expected",), (DELIVERED,)),
    Topic("delay", ("How late is [it|my order|my food|the order]?", "How [big|long|large] is the delay?", "[How many minutes late is it|By how much is it late]?", "What is the delay?"),
          ("[It|Your order] {was} {delay} minutes late.", "The delay is {delay} minutes.", "Order {number} {was} {delay} minutes late[, and I am sorry about that|]."), ("wait",), late=True),
    Topic("delay", ("How late is [it|my order|my food|the order]?", "How [big|long|large] is the delay?", "Is [it|my order|the order] [late|delayed]?", "Is there a delay?"),
          ("[It|Your order] {was} on time.", "There is no delay[, order {number} {was} on time|].", "[It|Order {number}] {was} on time."), late=False),
    Topic("total", ("[How much did I pay|What did I pay|How much was it|What was the total|What is the total|How much is it]?", "[How much|What] is [my order|the order|everything|it all] [together|in total]?", "[What is|Tell me] the [sum|total price|amount]?", "What does my order cost?"),
          ("The total is {total} euros.", "You paid {total} euros [for order {number}|in total|].", "[It is|That is|It comes to] {total} euros [in total|]."), ("cost",)),
    Topic("price", ("[How much is|What is the price of|How much was] the {dish} [cost|]?", "What [does|did] the {dish} cost?", "[Price of the|The price of the] {dish}[, please|]?"),
          ("The {dish} [is|costs] {price}.", "[It|The {dish}] is {price}."), ("price",)),
    Topic("count", ("How many {dish} [did I order|are in the order|do I get|are there]?", "How many of the {dish} [did I order|are there]?"),
          ("You ordered {count} x {dish}.", "Order {number} has {count} x {dish}.", "Your order has {count} x {dish}."), ("line",)),
    Topic("status", ("[What is the status|What is the state|Any update|Any news|How is it going]?", "What is [the status of|happening with|going on with] [my order|order {number}|my food]?", "[Is there any|Do you have any|Can I have a quick] [update|word] [on|about] my order?"),
          ("[It|Your order|Order {number}] {is_status}.", "The status is: {status}.", "Order {number} from {restaurant} {is_status}."), ("status",)),
    Topic("promo", ("[Which|What] [promo code|code|promo] did I use?", "[Did I use|Is there|Was there] a [promo code|code|discount]?", "How much [did the promo code save|did I save|was the discount]?", "What [did the code take off|discount did I get]?"),
          ("You used {promo}, [which took|and it took] {off} euros off.", "The code {promo} took {off} euros off.", "[Yes, t|T]he promo code {promo} saved you {off} euros."), ("promo", "saved"), promo=True),
    Topic("promo", ("[Which|What] [promo code|code|promo] did I use?", "[Did I use|Is there|Was there] a [promo code|code|discount]?", "How much [did the promo code save|did I save|was the discount]?", "What [did the code take off|discount did I get]?"),
          ("No promo code was used on [this order|order {number}].", "You did not use a promo code[ on this order|]."), promo=False),
    Topic("allergens", ("[Which|What] allergens does the {dish} [have|contain]?", "What allergens are in the {dish}?", "[Allergens of the|What allergens has the] {dish}?", "I have [an allergy|allergies]. What is in the {dish}?"),
          ("The {dish} {contains}.", "[The order says that|According to the order,] the {dish} {contains}."), ("contains",)),
)
