"""What a class's files come to: a cell for each person and exercise, who is stuck, and which mistake is most frequent.

Clocks. A record's times are those of the learner's machine, and the file's that of the file system. Only differences
within one clock are taken: how long somebody has been stuck is the time from their first failed try to their last
record, by their clock, and from the file's last change to now, by ours. A clock that is wrong, or of another time zone,
changes neither.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvlab.course import registry
from kvlab.course.room.folders import Person

STUCK = 600.0  # seconds of failed tries on one exercise, and no pass
AWAY = 3600.0  # seconds without a record, after which a person is not at it
PASSED, FAILING, OPEN, CAUGHT_UP, CHANGED = "✓", "✗", "·", "»", "~"
SIGNS = {PASSED: "passed", FAILING: "not there yet", CHANGED: "passed, and wrong since", CAUGHT_UP: "filled in",
         OPEN: "not attempted"}


@dataclass(frozen=True)
class Cell:
    """One person at one exercise: a sign, how many tries, and the last thing said of it."""

    sign: str = OPEN
    tries: int = 0
    mistake: str = ""
    said: str = ""


@dataclass(frozen=True)
class Seat:
    """One person. `at`: the exercise of their last try; `stuck`: seconds they have been failing at it, 0.0 if not.
    `quiet`: seconds since their file changed. `note`: what is odd about the file, if anything."""

    name: str
    passed: int
    at: str
    stuck: float
    quiet: float
    note: str
    cells: Mapping[str, Cell]

    @property
    def away(self) -> bool:
        """Whether nothing has come from them for an hour."""
        return self.quiet > AWAY

    @property
    def needs_help(self) -> bool:
        """Whether they have been stuck for ten minutes, and are still at it."""
        return self.stuck >= STUCK and not self.away


@dataclass(frozen=True)
class Board:
    """A class. `exercises`: those that anybody has begun, with the rest of their labs, in the course's order.
    `mistakes`: (people, exercise, sentence) of the known mistakes that last tries show now, the most frequent first."""

    seats: tuple[Seat, ...]
    exercises: tuple[str, ...]
    mistakes: tuple[tuple[int, str, str], ...]

    @property
    def stuck(self) -> list[Seat]:
        """Who needs help, the longest stuck first."""
        return sorted((seat for seat in self.seats if seat.needs_help), key=lambda seat: -seat.stuck)


def board(people: Mapping[str, Person], now: float) -> Board:
    """The board of these people. now: seconds, by the clock that the files' times are of."""
    seats = tuple(_seat(name, person, now) for name, person in sorted(people.items()))
    begun = {name for seat in seats for name, cell in seat.cells.items() if cell.sign != OPEN}
    labs = {entry.lab for entry in registry.every() if entry.name in begun}
    exercises = tuple(entry.name for entry in registry.every() if entry.lab in labs)
    seen = Counter((seat.at, cell.mistake) for seat in seats if not seat.away
                   and (cell := seat.cells.get(seat.at, Cell())).sign in (FAILING, CHANGED) and cell.mistake)
    ranked = sorted(seen.items(), key=lambda one: (-one[1], one[0]))
    return Board(seats, exercises, tuple((count, name, says) for (name, says), count in ranked))


def _seat(name: str, person: Person, now: float) -> Seat:
    records = person.state.get("exercises", {})
    cells = {key: _cell(record) for key, record in records.items()}
    last = {key: moment for key, record in records.items() if (moment := _last(record)) is not None}
    at = max(last, key=lambda key: (last[key], key), default="")
    quiet = max(0.0, now - person.written) if person.written else 0.0
    failing = bool(at) and cells[at].sign in (FAILING, CHANGED)
    stuck = max(0.0, _newest(records) - _failing_since(records[at])) + quiet if failing else 0.0
    note = "" if person.readable else "file cannot be read just now" if person.there else "folder is gone"
    return Seat(name, sum(cell.sign == PASSED for cell in cells.values()), at, stuck, quiet, note, cells)


def _cell(record: dict[str, Any]) -> Cell:
    attempts = record.get("attempts", [])
    tries = record.get("tries", len(attempts))
    if not attempts:
        return Cell(PASSED if "passed_at" in record else CAUGHT_UP if record.get("caught_up_at") else OPEN, tries)
    last = attempts[-1]
    if last.get("passed"):
        return Cell(PASSED, tries)
    sign = CHANGED if "passed_at" in record else FAILING
    return Cell(sign, tries, _words(last.get("mistake")), _words(last.get("said")))


def _words(value: Any) -> str:
    """A sentence of the file on one line; what is none is none."""
    return "".join(sign if sign.isprintable() else " " for sign in value)[:300] if isinstance(value, str) else ""


def _last(record: dict[str, Any]) -> float | None:
    moments = [moment for one in record.get("attempts", [])[-1:] if (moment := _moment(one.get("at"))) is not None]
    return moments[0] if moments else None


def _newest(records: Mapping[str, dict[str, Any]]) -> float:
    """The last thing recorded of anything: a try, a hint, a solution."""
    moments = [_moment(one.get("at")) for record in records.values() for one in record.get("attempts", [])[-1:]]
    moments += [_moment(one) for record in records.values() for key in ("hints", "solutions")
                for one in record.get(key, [])[-1:]]
    return max((moment for moment in moments if moment is not None), default=0.0)


def _failing_since(record: dict[str, Any]) -> float:
    """When the failed tries at the end of a record began, without those before a break of an hour."""
    since = _last(record) or 0.0
    for attempt in reversed(record["attempts"]):
        moment = _moment(attempt.get("at"))
        if attempt.get("passed") or moment is None or since - moment > AWAY:
            break
        since = min(since, moment)
    return since


def _moment(text: Any) -> float | None:
    """A time of the file as seconds; without a time zone it is UTC. None for what is no time."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
