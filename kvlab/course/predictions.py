"""`predict` and `reveal`: a number written down before it is computed, and how close it came."""

from __future__ import annotations

from typing import Any

from kvlab.course import state
from kvlab.course.numbers import number, shown
from kvlab.course.say import paragraph, say
from kvlab.course.session import session
from kvlab.course.shorten import show

_WORDS = ((1.1, "very close"), (1.5, "close"), (3.0, "the right size"), (10.0, "a surprise worth keeping"))


def predict(key: str, guess: Any = ..., unit: str = "") -> None:
    """Writes down a prediction under `key`, a number in `unit`. `...` means that there is none yet.

    It can be changed until `reveal` has shown the answer; then the first one stays. What is no finite number is
    answered with a sentence and not written down.
    """
    if guess is ... or guess is None:
        say("○ No prediction yet: put a number in place of `...` and run the cell again.")
        return
    guessed = number(guess)
    if guessed is None:
        say(f"○ A prediction is one number, such as 64 or 2.5, not {show(guess, 40)}.")
        return
    earlier = _record(key)
    if "actual" in earlier and earlier.get("guess") not in (None, guessed):
        first = shown(earlier["guess"], earlier.get("unit", ""))
        say(f"You have seen the answer, so your first prediction stays: {first}.")
        return
    record = earlier | {"guess": guessed, "unit": unit, "at": state.now()}
    session().progress.change(lambda all_: all_["predictions"].__setitem__(str(key), record))
    say(f"Your prediction: {shown(guessed, unit)}.")


def reveal(key: str, actual: Any, unit: str | None = None) -> None:
    """Prints the actual value beside the prediction, and by what ratio they differ. `unit`: else the prediction's."""
    record, came = _record(key), number(actual)
    if came is None:
        say(f"reveal() needs the number that came out, not {show(actual, 40)}.")
        return
    unit, guess = record.get("unit", "") if unit is None else unit, record.get("guess")
    if guess is None:
        say(f"Actual: {shown(came, unit)}. There was no prediction to compare it with.")
        return
    say(paragraph(f"Predicted {shown(guess, unit)}, actual {shown(came, unit)}: {score(guess, came)}."))
    session().progress.change(lambda all_: all_["predictions"].setdefault(str(key), record).update(actual=came))


def score(guess: float, actual: float) -> str:
    """How close a guess came, by ratio: "within 1.3x, close"."""
    if guess == actual:
        return "exactly right"
    if guess == 0 or actual == 0 or (guess < 0) != (actual < 0):
        return f"off by {shown(abs(guess - actual))}"
    ratio = max(guess / actual, actual / guess)
    words = next((words for limit, words in _WORDS if ratio <= limit), None)
    if words is None:
        return f"off by {shown(float(f'{ratio:.2g}'))}x, another order of magnitude"
    return f"within {ratio:.2f}x, {words}" if ratio <= 1.1 else f"within {ratio:.1f}x, {words}"


def is_close(guess: float, actual: float) -> bool:
    """Whether a guess came within a ratio of 1.5."""
    return guess == actual or (guess * actual > 0 and max(guess / actual, actual / guess) <= 1.5)


def _record(key: str) -> dict[str, Any]:
    return session().progress.read()["predictions"].get(str(key), {})
