"""Play with the published table: four settings, every number on a slider, "try to break it" (labs 02 and 03)."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from kvlab.errors import UsageError
from kvlab.memory import lesson_trace
from kvlab.view.blockmap import block_map
from kvlab.view.explorer import Explorer, Frame, Screen
from kvlab.view.kinds import FREE, HELD, LATER, UNUSED, percent, word_for
from kvlab.view.settings import CELLS, POLICIES, Knobs, Row, memory_map, row

COLUMNS, CELL = 128, 6
SIZE = (COLUMNS * CELL + 5, CELLS // COLUMNS * CELL + 5)
BUTTONS = ("reserve full context", "reserve prompt + longest answer", "16-token blocks", "blocks of your size")
SLIDERS = {  # setting -> (words beside the slider, values it can take)
    "context": ("context", (2048, 4096, 8192, 16384, 32768, 131072)),
    "max_answer": ("longest answer", (128, 256, 512, 1024, 2048, 4096, 8192)),
    "answers": ("answer length, %", (25, 50, 75, 100, 150, 200, 300, 400)),
    "memory": ("memory, GiB", (8, 16, 24, 32, 48, 64, 80)),
    "block_size": ("your block size", (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)),
    "written": ("written so far, %", (0, 25, 50, 75, 100)),
}


def policy_explorer(trace: Iterable | None = None) -> Explorer:
    """The memory of all requests that fit, under one of four settings, beside the two numbers of all four.

    trace: requests with `prompt` and `answer`; the lesson's 200 if None. Settings, also for `.at(...)`: policy (one of
    "full", "prompt+max", "16-token blocks", "own blocks"), context, max_answer, answers (percent of the recorded
    lengths), memory (GiB), block_size (of "own blocks"), written (percent of each answer at the moment shown).
    `.at(...).values`: share_held, fit, cut (answers that a limit cuts short), rows (policy -> Row), shares.
    """
    requests = list(lesson_trace() if trace is None else trace)
    settings = {"policy": "full"} | {name: getattr(Knobs(), name) for name in SLIDERS}
    return Explorer("Four ways to hand out KV memory", lambda **chosen: _frame(requests, **chosen), settings, _panel)


def _frame(requests: list, policy: str, **numbers: int) -> Frame:
    if policy not in POLICIES:
        raise UsageError(f"no policy {policy!r}; there are {', '.join(map(repr, POLICIES))}")
    knobs = Knobs(**numbers).checked()
    rows = {name: row(requests, name, knobs) for name in POLICIES}
    states, shares = memory_map(requests, policy, knobs)
    shown, notes = rows[policy], _notes(rows[policy], knobs, len(requests))
    values = {"share_held": shown.share_held, "fit": shown.fit, "cut": shown.cut, "rows": rows, "shares": shares}
    lines = [*map(_line, rows.values()), "", *notes]
    png = block_map(states, COLUMNS, CELL)
    return Frame(png, SIZE, _headline(shown), _legend(policy, shares), lines, values, _html(rows, policy, notes))


def _headline(shown: Row) -> str:
    name, held = shown.label[0].upper() + shown.label[1:], percent(shown.share_held)
    return f"{name}: {shown.fit:,} requests fit; at their end {held} of what they take holds tokens."


def _legend(policy: str, shares: Mapping[int, float]) -> list[tuple[int, str]]:
    return [(kind, f"{word_for(kind, policy)}: {percent(shares[kind])}") for kind in (HELD, LATER, UNUSED, FREE)]


def _line(shown: Row) -> str:
    return f"- {shown.label}: {percent(shown.share_held)} holds tokens, {shown.fit:,} requests fit"


def _notes(shown: Row, knobs: Knobs, requests: int) -> list[str]:
    notes = [f"A square is {knobs.capacity // CELLS:,} tokens of memory; requests lie one after another."]
    if shown.cut:
        notes.append(f"{shown.cut} of {requests} answers hit a limit and are cut short.")
    return notes


def _html(rows: Mapping[str, Row], policy: str, notes: list[str]) -> str:
    names = ("setting", "holds tokens", "requests that fit", "")
    head = "".join(f'<th style="text-align:left;padding:.1em 2em .1em 0">{words}</th>' for words in names)
    body = "".join(_html_row(shown, name == policy) for name, shown in rows.items())
    lines = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
    return f'<table style="margin:.5em 0"><tr>{head}</tr>{body}</table>{lines}'


def _html_row(shown: Row, chosen: bool) -> str:
    cells = (shown.label, percent(shown.share_held), f"{shown.fit:,}", "shown above" if chosen else "")
    body = "".join(f'<td style="padding:.1em 2em .1em 0">{html.escape(cell)}</td>' for cell in cells)
    return f'<tr style="font-weight:{"bold" if chosen else "normal"}">{body}</tr>'


def _panel(explorer: Explorer, widgets: Any) -> Any:
    screen = Screen(widgets, explorer.frame())
    options = list(zip(BUTTONS, POLICIES, strict=True))
    policy = widgets.ToggleButtons(options=options, value=explorer.settings["policy"], style={"button_width": "auto"})
    sliders = {name: _slider(widgets, name, explorer.settings[name]) for name in SLIDERS}

    def redraw(_: Any) -> None:
        chosen = {name: slider.value for name, slider in sliders.items()}
        screen.show(explorer.frame(policy=policy.value, **chosen))

    for control in (policy, *sliders.values()):
        control.observe(redraw, "value")
    columns = widgets.Layout(grid_template_columns="repeat(auto-fit, minmax(330px, 1fr))", max_width="800px")
    return widgets.VBox([policy, widgets.GridBox(list(sliders.values()), layout=columns), screen.box])


def _slider(widgets: Any, name: str, value: int) -> Any:
    words, usual = SLIDERS[name]
    options = sorted({*usual, value})
    return widgets.SelectionSlider(
        options=[(f"{option:,}", option) for option in options],
        value=value,
        description=words,
        style={"description_width": "10em"},
        layout=widgets.Layout(width="auto"),
    )
