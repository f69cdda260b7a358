"""Numbers that a learner types, and how sentences show them."""

from __future__ import annotations

import math
import numbers
from typing import Any


def number(value: Any) -> float | int | None:
    """`value` as a plain int or finite float, or None. Text, bools, NaN and arrays of several numbers are none."""
    try:
        if type(value).__module__ == "numpy" and getattr(value, "size", 0) == 1:
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return None
        plain = int(value) if isinstance(value, numbers.Integral) else float(value)
        return plain if math.isfinite(plain) else None
    except (ArithmeticError, TypeError, ValueError):  # a whole number too large for a float, for one
        return None


def shown(value: float, unit: str = "") -> str:
    """A number as a sentence has it: thousands apart, at most four digits of a fraction, the unit behind it."""
    if value == int(value) and abs(value) < 1e15:
        text = f"{int(value):,}"
    else:
        text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:,.4g}"
    return f"{text} {unit}".strip()
