"""`predict` and `reveal`: a number written down before it is computed, and how close it came."""

from __future__ import annotations

import math
import numbers
from typing import Any

from kvlab.course import state
from kvlab.course.session import session
from kvlab.course.shorten import show


def predict(key: str, guess: Any = ..., unit: str = "") -> None:
    """Writes down a prediction under `key`. `...` means none yet; what is no finite number is answered with a sentence."""
    if guess is ... or guess is None:
        print("○ No prediction yet: put a number in place of `...` and run the cell again.")
        return
    number = _number(guess)
    if number is None:
        print(f"A prediction is one number, such as 64 or 2.5, not {show(guess, 40)}.")
        return
    record = {"guess": number, "unit": unit, "at": state.now()}
    session().progress.change(lambda all_: all_["predictions"].__setitem__(str(key), record))
    print(f"Your prediction: {shown(number, unit)}.")


def reveal(key: str, actual: Any, unit: str | None = None) -> None:
    """Prints the actual value beside the prediction, and by what ratio they differ."""
    record = session().progress.read()["predictions"].get(str(key), {})
    number, guess = _number(actual), record.get("guess")
    if number is None:
        print(f"reveal() needs the number that came out, not {show(actual, 40)}.")
        return
    unit = record.get("unit", "") if unit is None else unit
    if guess is None:
        print(f"Actual: {shown(number, unit)}. There was no prediction.")
        return
    print(f"Predicted {shown(guess, unit)}, actual {shown(number, unit)}: {score(guess, number)}.")
    session().progress.change(lambda all_: all_["predictions"].setdefault(str(key), record).update(actual=number))


def score(guess: float, actual: float) -> str:
    """How close a guess came, by ratio: "within 1.3x"."""
    if guess == actual:
        return "exactly right"
    if guess == 0 or actual == 0 or (guess < 0) != (actual < 0):
        return f"off by {shown(abs(guess - actual))}"
    ratio = max(guess / actual, actual / guess)
    words = next((word for limit, word in ((1.1, "very close"), (1.5, "close"), (3, "the right size")) if ratio <= limit),
                 "a surprise worth keeping" if ratio < 10 else "another order of magnitude")
    return f"within {ratio:.2f}x, {words}" if ratio < 1.1 else f"within {ratio:.1f}x, {words}"


def shown(number: float, unit: str = "") -> str:
    """A number as a sentence has it: thousands apart, no more digits than needed, the unit behind."""
    text = f"{number:,}" if isinstance(number, int) else f"{number:,.4g}" if abs(number) < 1e6 else f"{number:,.0f}"
    return f"{text} {unit}".strip()


def _number(value: Any) -> float | int | None:
    """`value` as a plain int or finite float, or None. Text, bools and arrays of more than one number are none."""
    value = value.item() if type(value).__module__ == "numpy" and getattr(value, "size", 0) == 1 else value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    number = int(value) if isinstance(value, numbers.Integral) else float(value)
    return number if math.isfinite(number) else None
