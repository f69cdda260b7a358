"""What a sentence can say about an order: its facts in words."""

from __future__ import annotations

from kvlab.models.training.orders import DELIVERED, Item, Order, clock, listed

CREDIT_FROM = 20  # minutes of delay


def fields(order: Order, item: Item) -> dict[str, str]:
    """Every field that a sentence can name, for an order and one of its items."""
    return _of_order(order) | _of_item(item) | _of_credit(order)


def _of_order(order: Order) -> dict[str, str]:
    delivered = order.status == DELIVERED
    return {
        "number": str(order.number), "restaurant": order.restaurant, "courier": order.courier, "address": order.address,
        "ordered": clock(order.ordered), "promised": clock(order.promised), "expected": order.expected,
        "delay": str(order.delay), "wait": f"{order.delay} minutes", "promo": order.promo, "off": str(order.off),
        "saved": f"{order.off} euros", "total": str(order.total), "cost": f"{order.total} euros",
        "status": order.status, "was": "was" if delivered else "is",
        "is_status": "has been delivered" if delivered else f"is {order.status}",
    }


def _of_item(item: Item) -> dict[str, str]:
    return {
        "dish": item.dish, "count": str(item.count), "line": f"{item.count} x {item.dish}", "each": str(item.price),
        "refund": f"{item.price} euros", "price": item.cost,
        "contains": f"contains {listed(item.contains) if item.contains else 'no allergens'}",
    }


def _of_credit(order: Order) -> dict[str, str]:
    if order.delay < CREDIT_FROM:
        reply = f"Not this time: a credit starts at {CREDIT_FROM} minutes, and the delay is {order.delay} minutes."
        return {"credit_fact": "20 minutes", "credit_note": "", "credit_tail": "", "credit_reply": reply}
    return {
        "credit_fact": "5 euros",
        "credit_note": f"Since it is {CREDIT_FROM} minutes or more, you get a credit of 5 euros.",
        "credit_tail": " The delay earns a credit of 5 euros.",
        "credit_reply": f"Yes: the delay is {order.delay} minutes, so you get a credit of 5 euros.",
    }
