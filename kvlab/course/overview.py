"""`progress()`: the course at a glance, as text and as HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from kvlab.course import registry
from kvlab.course.declare import Exercise
from kvlab.course.session import session


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

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def __str__(self) -> str:
        lines: list[str] = []
        for lab in dict.fromkeys(row.lab for row in self.rows):
            lines.append(self._heading(lab))
            lines += [f"  {row.mark} {row.name:<26}{'★' * row.stars:<4}{row.status}{'' if row.core else '  (extra)'}"
                      for row in self.rows if row.lab == lab]
        return "\n".join(lines) or "No exercises are declared yet."

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
        return f"<table>{''.join(body)}</table>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def progress() -> Overview:
    """The course at a glance: which exercises passed, which are open, how many tries and hints each took."""
    records = session().progress.read()["exercises"]
    return Overview([_row(entry, records.get(entry.name, {})) for entry in registry.every()])


def _row(entry: Exercise, record: dict[str, Any]) -> Row:
    attempts = record.get("attempts", [])
    passed, changed = "passed_at" in record, bool(attempts) and not attempts[-1].get("passed")
    caught_up = record.get("caught_up_at", "")
    if passed:
        mark, status = "✓", "passed, but changed since" if changed else "passed"
    elif caught_up and all(attempt.get("at", "") <= caught_up for attempt in attempts):
        mark, status = "»", "caught up with, not solved"
    elif attempts:
        mark, status = "✗", "not there yet"
    else:
        mark, status = "○", "not attempted"
    counts = [_count(record.get("tries", len(attempts)), "try", "tries"),
              _count(len(record.get("hints", [])), "hint", "hints"),
              "solution seen" if record.get("solutions") else ""]
    notes = ", ".join(filter(None, counts))
    return Row(entry.lab, entry.name, mark, f"{status} ({notes})" if notes else status, entry.core, entry.stars)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""
