"""`progress()`: the course at a glance, as text and as HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from kvlab.course import registry, state
from kvlab.course.declare import Exercise
from kvlab.course.predictions import is_close
from kvlab.course.session import session
from kvlab.course.verdict import CHANGED


@dataclass(frozen=True)
class Row:
    """One exercise in the overview."""

    lab: str
    name: str
    mark: str
    status: str
    core: bool
    stars: int


class Overview:
    """The course at a glance: shows itself as a table in a notebook and as text elsewhere."""

    def __init__(self, rows: list[Row], notes: str = "") -> None:
        self.rows, self.notes = rows, notes

    def __str__(self) -> str:
        lines: list[str] = []
        for lab in dict.fromkeys(row.lab for row in self.rows):
            lines.append(self._heading(lab))
            lines += [f"  {row.mark} {row.name:<26}{'★' * row.stars:<4}{row.status}{'' if row.core else '  (extra)'}"
                      for row in self.rows if row.lab == lab]
        return "\n".join([*lines, *filter(None, [self.notes])])

    __repr__ = __str__

    def _heading(self, lab: str) -> str:
        rows = [row for row in self.rows if row.lab == lab]
        done = sum(row.mark == "✓" for row in rows)
        return f"{registry.titled(lab)}: {done} of {len(rows)} passed"

    def _repr_html_(self) -> str:
        body = []
        for lab in dict.fromkeys(row.lab for row in self.rows):
            body.append(f"<tr><th colspan=4 style='text-align:left'>{html.escape(self._heading(lab))}</th></tr>")
            body += [f"<tr><td>{row.mark}</td><td style='text-align:left'><code>{html.escape(row.name)}</code></td>"
                     f"<td>{'★' * row.stars}</td><td style='text-align:left'>{html.escape(row.status)}"
                     f"{'' if row.core else ' (extra)'}</td></tr>" for row in self.rows if row.lab == lab]
        return f"<table>{''.join(body)}</table><p>{html.escape(self.notes)}</p>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def progress() -> Overview:
    """The course at a glance: which exercises passed, which are open, how many tries and hints each took."""
    all_ = session().progress.read()
    rows = [_row(entry, all_["exercises"].get(entry.name, {})) for entry in registry.every()]
    return Overview(rows, _notes(all_))


def _notes(all_: state.State) -> str:
    """Predictions, recall questions and "say it" in a line; empty before the first of them."""
    scored = [one for one in all_["predictions"].values() if "guess" in one and "actual" in one]
    close = sum(one["guess"] == one["actual"] if one.get("exact") else
                is_close(one["guess"], one["actual"], one.get("unit", "")) for one in scored)
    right = sum(bool(one.get("right")) for one in all_["recall"].values())
    labs = sorted({key.partition("-")[0] for key in all_["say_it"]})  # lab 11 asks more than one thing
    notes = [f"{close} of {len(scored)} predictions close" if scored else "",
             f"{right} of {len(all_['recall'])} recall questions right" if all_["recall"] else "",
             f"said aloud: lab {', '.join(labs)}" if labs else ""]
    return " · ".join(filter(None, notes))


def _row(entry: Exercise, record: dict[str, Any]) -> Row:
    attempts = record.get("attempts", [])
    mark, status = _status(record, attempts)
    counts = [_count(record.get("tries", len(attempts)), "try", "tries"),
              _count(len(record.get("hints", [])), "hint", "hints"),
              "solution seen" if record.get("solutions") else ""]
    notes = ", ".join(filter(None, counts))
    return Row(entry.lab, entry.name, mark, f"{status} ({notes})" if notes else status, entry.core, entry.stars)


def _status(record: dict[str, Any], attempts: list[dict[str, Any]]) -> tuple[str, str]:
    """The mark and the words for one record. What `kvlab catch-up` filled in was not solved, until a later try."""
    caught_up = record.get("caught_up_at")
    if "passed_at" in record:
        return ("✓", "passed") if not attempts or attempts[-1].get("passed") else ("✗", CHANGED)
    if caught_up and all(attempt.get("at", "") <= caught_up for attempt in attempts):
        return "»", "caught up with, not solved"
    return ("✗", "not there yet") if attempts else ("○", "not attempted")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""
