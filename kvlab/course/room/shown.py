"""A board as text, as HTML and as JSON."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Iterator

from kvlab.course import registry
from kvlab.course.room.board import CAUGHT_UP, CHANGED, FAILING, OPEN, PASSED, SIGNS, Board, Cell, Seat
from kvlab.course.shorten import clip

_COLOURS = {PASSED: "#009E73", FAILING: "#E69F00", CHANGED: "#E69F00", CAUGHT_UP: "#0072B2", OPEN: "#f2f2f2"}
MOST = 5  # mistakes that are shown


def minutes(seconds: float) -> str:
    """"12 min", or "3 h" from two hours on."""
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def text(board: Board, width: int = 100) -> str:
    """The board in lines of at most about `width` characters: the heat map, the people, who is stuck, the mistakes."""
    if not board.seats:
        return "Nobody yet: no progress file in these folders."
    parts = [*_map(board, width), "", *_people(board, width), "", *_stuck(board), "", *_mistakes(board, width)]
    return "\n".join(parts)


def _map(board: Board, width: int) -> Iterator[str]:
    """Exercises down, people across, each under a number; as many people beside each other as fit."""
    if not board.exercises:
        yield "Nobody has tried an exercise yet."
        return
    head = max(map(len, board.exercises)) + 1
    most = max(1, (width - head) // 3)
    for start in range(0, len(board.seats), most):
        part = board.seats[start : start + most]
        yield " " * head + "".join(f"{start + place:>3}" for place in range(1, len(part) + 1))
        for name in board.exercises:
            yield f"{name:<{head}}" + "".join(f"  {seat.cells.get(name, Cell()).sign}" for seat in part)
    yield "  ".join(f"{sign} {word}" for sign, word in SIGNS.items())


def _people(board: Board, width: int) -> Iterator[str]:
    name = min(24, max(len(seat.name) for seat in board.seats))
    for number, seat in enumerate(board.seats, 1):
        yield clip(f"{number:>2} {clip(seat.name, name):<{name}}  {seat.passed:>2} passed  {_doing(seat)}", width)


def _doing(seat: Seat) -> str:
    cell = seat.cells.get(seat.at, Cell())
    tries = f", {cell.tries} {'try' if cell.tries == 1 else 'tries'}" if seat.at else ""
    where = f"last at {seat.at}{tries}" if seat.at else "has tried nothing yet"
    stuck = f", stuck for {minutes(seat.stuck)}" if seat.needs_help else ""
    away = f", nothing for {minutes(seat.quiet)}" if seat.away else ""
    return f"{where}{stuck}{away}{f' ({seat.note})' if seat.note else ''}"


def _stuck(board: Board) -> Iterator[str]:
    if not board.stuck:
        yield "Nobody has been stuck for ten minutes."
        return
    yield "Stuck for ten minutes or more:"
    for seat in board.stuck:
        yield f"  {seat.name}: {seat.at}, {minutes(seat.stuck)}, {seat.cells[seat.at].tries} tries"


def _mistakes(board: Board, width: int) -> Iterator[str]:
    if not board.mistakes:
        yield "No known mistake in anybody's last try."
        return
    yield "Known mistakes in last tries, the most frequent first:"
    for count, name, says in board.mistakes[:MOST]:
        yield clip(f"  {count} x {name}: {says}", width)


def as_html(board: Board) -> str:
    """The board as a table for a notebook: every cell has a sign besides its colour, and the tries as its title."""
    if not board.exercises:
        return f"<pre>{html.escape(text(board))}</pre>"
    heads = "".join(f"<th title='{_safe(seat.name)}'>{number}</th>" for number, seat in enumerate(board.seats, 1))
    rows = "".join(f"<tr><td style='text-align:left'><code>{_safe(name)}</code></td>"
                   + "".join(_square(seat, name) for seat in board.seats) + "</tr>" for name in board.exercises)
    below = "\n".join([*_people(board, 140), "", *_stuck(board), "", *_mistakes(board, 160)])
    legend = "  ".join(f"{sign} {word}" for sign, word in SIGNS.items())
    return (f"<table style='background:white;color:black'><tr><th></th>{heads}</tr>{rows}</table>"
            f"<pre>{_safe(legend)}\n\n{_safe(below)}</pre>")


def _square(seat: Seat, name: str) -> str:
    cell = seat.cells.get(name, Cell())
    edge = "outline:2px solid #000000;" if seat.needs_help and seat.at == name else ""
    said = cell.mistake or cell.said
    title = f"{seat.name}: {SIGNS[cell.sign]}, {cell.tries} tries{f'. {said}' if said else ''}"
    style = f"background:{_COLOURS[cell.sign]};{edge}text-align:center"
    return f"<td style='{style}' title='{_safe(title)}'>{cell.sign}</td>"


def _safe(words: str) -> str:
    return html.escape(words, quote=True)


def as_json(board: Board) -> str:
    """Everything that the board knows, without learners' sources."""
    lab = {entry.name: entry.lab for entry in registry.every()}
    people = [{"name": seat.name, "passed": seat.passed, "at": seat.at, "stuck_seconds": round(seat.stuck),
               "needs_help": seat.needs_help, "quiet_seconds": round(seat.quiet), "away": seat.away, "note": seat.note,
               "exercises": {name: dataclasses.asdict(cell) | {"state": SIGNS[cell.sign]}
                             for name, cell in seat.cells.items() if name in lab}} for seat in board.seats]
    mistakes = [{"people": count, "exercise": name, "mistake": says} for count, name, says in board.mistakes]
    exercises = [{"name": name, "lab": lab[name]} for name in board.exercises]
    return json.dumps({"people": people, "exercises": exercises, "mistakes": mistakes}, indent=1, ensure_ascii=False)
