"""`predict` and `reveal`: a number written down before it is computed, and how close it came."""

from __future__ import annotations

import re
from typing import Any

from kvlab.course import notebooks, state
from kvlab.course.numbers import number, shown
from kvlab.course.registry import suggestion
from kvlab.course.say import paragraph, say
from kvlab.course.session import session
from kvlab.course.shorten import clip, show

_OF = re.compile(r"of ([\d,]*\d)")  # a unit such as "of 100 refusals"
_POINTS = ((0.02, ", very close"), (0.1, ", close"), (0.25, ""), (1.0, ", a surprise worth keeping"))
_FEW = 10  # below this, whole numbers are compared by counting
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
    say(f"Your prediction: {shown(guessed, unit)}.{_share(guessed, unit)}{_not_asked(str(key))}")


def _share(guess: float, unit: str) -> str:
    """A word on a share, such as 0.6, that was given where the number is in percent."""
    if unit.strip() != "%" or not 0 < guess < 1:
        return ""
    return f" That is less than 1 in 100; if you meant a share of {guess:g}, put {shown(100 * guess)}."


def _not_asked(key: str) -> str:
    """A word on a key that no reveal() of the open lab asks for, which is usually a misspelt one."""
    asked = [*dict.fromkeys(re.findall(r"^\s*reveal\([\"']([\w-]+)", "\n".join(_cells()), re.MULTILINE))]
    if not asked or key in asked:
        return ""
    near = suggestion(key, asked) or f" It reveals {', '.join(asked)}."
    return f" But this lab never reveals {clip(key, 40)!r}.{near}"


def _cells() -> list[str]:
    """The code of the lab that is open, as it is handed out; nothing if there is none."""
    try:
        lab = session().lab
        return list(notebooks.cells("labs", lab)) if lab else []
    except (OSError, ValueError, KeyError):
        return []


def reveal(key: str, actual: Any, unit: str | None = None, exact: str = "") -> None:
    """Prints the actual value beside the prediction, and by what ratio they differ. `unit`: else the prediction's.

    `exact`: for a count of which the point is the exact number, why it is that: "the last owner needs no copy". Then
    they are compared by counting, however large they are: "Predicted 10, actual 9: 1 less, the last owner needs no
    copy."
    """
    record, came = _record(key), number(actual)
    if came is None:
        say(f"reveal() needs the number that came out, not {show(actual, 40)}.")
        return
    unit, guess = record.get("unit", "") if unit is None else unit, record.get("guess")
    if guess is None:
        say(f"Actual: {shown(came, unit)}. There was no prediction to compare it with.{_near(str(key))}")
        return
    words = f"{_counted(guess, came)} {exact}" if exact else score(guess, came, unit)
    say(paragraph(f"Predicted {shown(guess, unit)}, actual {shown(came, unit)}: {words}."))
    found = {"actual": came} | ({"exact": True} if exact else {})
    session().progress.change(lambda all_: all_["predictions"].setdefault(str(key), record).update(found))


def _counted(guess: float, actual: float) -> str:
    """The actual number against the guess, before the reason: "1 less,", "exactly right:"."""
    if guess == actual:
        return "exactly right:"
    return f"{shown(abs(guess - actual))} {'less' if actual < guess else 'more'},"


def _near(key: str) -> str:
    """The predictions of the same lab that were made and not revealed, for a key that was misspelt."""
    made = session().progress.read()["predictions"]
    waiting = [other for other, one in made.items() if other.split("-")[0] == key.split("-")[0] and "guess" in one
               and "actual" not in one]
    return f" There is one for {', '.join(map(repr, waiting))}." if waiting else ""


def score(guess: float, actual: float, unit: str = "") -> str:
    """How close a guess came: by ratio, "within 1.3x, close"; parts of a whole in points, few things by counting."""
    if guess == actual:
        return "exactly right"
    whole, apart = _whole(unit), abs(guess - actual)
    if whole:
        near = next(words for limit, words in _POINTS if apart <= limit * whole or limit == 1.0)
        if 0 < actual < whole / 20 and guess > 0:  # of a small part, the size is the point
            near = _by_ratio(guess, actual)
        if actual in (0, whole):  # none and all are answers of their own: a few points off is not close
            near = ""
        points = f"point{'s' * (apart != 1)}" if whole == 100 else f"of {shown(whole)}"
        return f"off by {shown(apart)} {points}{near}"
    if _few(guess, actual):
        return f"off by {shown(apart)}"
    if guess == 0 or actual == 0 or (guess < 0) != (actual < 0):
        return f"off by {shown(abs(guess - actual))}"
    ratio = max(guess / actual, actual / guess)
    words = next((words for limit, words in _WORDS if ratio <= limit), None)
    if words is None:
        return f"off by {shown(float(f'{ratio:.2g}'))}x, another order of magnitude"
    return f"within {ratio:.2f}x, {words}" if ratio <= 1.1 else f"within {ratio:.1f}x, {words}"


def _by_ratio(guess: float, actual: float) -> str:
    """What is said behind the points where the actual part is small: 3 % for 0.01 % is few points and far too much."""
    ratio = max(guess / actual, actual / guess)
    words = next((words for limit, words in _WORDS if ratio <= limit), "another order of magnitude")
    side = "too much" if guess > actual else "too little"
    return f", {words}" if ratio <= 3 else f", {shown(float(f'{ratio:.2g}'))} times {side}, {words}"


def _whole(unit: str) -> float:
    """What the number is a part of: 100 for "%" or "percent", 5 for "of 5 lists"; 0 if it is not a part."""
    if found := _OF.match(unit.strip()):
        return float(found[1].replace(",", ""))
    return 100.0 if unit.strip().startswith(("%", "percent", "per cent")) else 0.0


def _few(guess: float, actual: float) -> bool:
    return abs(actual) < _FEW and guess == int(guess) and actual == int(actual) and abs(guess) < _FEW


def is_close(guess: float, actual: float, unit: str = "") -> bool:
    """Whether a guess came within a ratio of 1.5; a part of a whole, within a tenth of it; few things, exactly."""
    if whole := _whole(unit):
        if 0 < actual < whole / 20 and guess > 0:
            return max(guess / actual, actual / guess) <= 1.5
        return guess == actual if actual in (0, whole) else abs(guess - actual) <= whole / 10
    if _few(guess, actual):
        return guess == actual
    return guess == actual or (guess * actual > 0 and max(guess / actual, actual / guess) <= 1.5)


def _record(key: str) -> dict[str, Any]:
    return session().progress.read()["predictions"].get(str(key), {})
