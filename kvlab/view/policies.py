"""Play with the published table: four settings, every number on a slider, "try to break it" (labs 02 and 03)."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from kvlab.errors import UsageError
from kvlab.view.blockmap import block_map
from kvlab.view.explorer import Explorer, Frame, Screen
from kvlab.view.settings import CELLS, FREE, HELD, LATER, POLICIES, UNUSED, Knobs, Row, label, memory_map, row

COLUMNS, CELL = 128, 6
SIZE = (COLUMNS * CELL + 5, CELLS // COLUMNS * CELL + 5)
CHOICES = {  # setting -> (words beside the slider, values it can take)
    "context": ("context", (2048, 4096, 8192, 16384, 32768, 131072)),
    "max_answer": ("longest answer", (128, 256, 512, 1024, 2048, 4096, 8192)),
    "answers": ("answers, % of the trace's", (25, 50, 75, 100, 150, 200, 300, 400)),
    "memory": ("memory, GiB", (8, 16, 24, 32, 48, 64, 80)),
    "block_size": ("your block size", (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)),
    "written": ("answers written, %", (0, 25, 50, 75, 100)),
}


def policy_explorer(trace: Iterable | None = None) -> Explorer:
    """The memory of all requests that fit, under one of four settings, beside the two numbers of all four.

    trace: requests with `prompt` and `answer`, the lesson's 200 if None. Settings, also for `.at(...)`: policy (one of
    `POLICIES`), context, max_answer, answers (percent of the recorded lengths), memory (GiB), block_size (of "own
    blocks"), written (percent of each answer at the moment shown). `.at(...).values`: share_held, fit, cut, rows.
    """
    if trace is None:
        from kvlab.memory import lesson_trace

        trace = lesson_trace()
    requests = list(trace)
    settings = {"policy": "full"} | {name: getattr(Knobs(), name) for name in CHOICES}
    return Explorer("Four ways to hand out KV memory", lambda **chosen: _frame(requests, **chosen), settings, _panel)


def _frame(requests: list, policy: str, **numbers: int) -> Frame:
    if policy not in POLICIES:
        raise UsageError(f"no policy {policy!r}; there are {', '.join(map(repr, POLICIES))}")
    knobs = Knobs(**numbers)
    rows = {name: row(requests, name, knobs) for name in POLICIES}
    states, shares = memory_map(requests, policy, knobs)
    shown = rows[policy]
    values = {"share_held": shown.share_held, "fit": shown.fit, "cut": shown.cut, "rows": rows, "shares": shares}
    png = block_map(states, COLUMNS, CELL)
    notes = _notes(shown, knobs, len(requests))
    return Frame(png, SIZE, _headline(shown), _legend(shares), _text(rows, notes), _html(rows, policy, notes), values)


def _headline(shown: Row) -> str:
    return f"{shown.label.capitalize()}: {shown.fit:,} requests fit; at their end {shown.share_held:.1%} of what they take holds tokens."


def _legend(shares: dict[str, float]) -> list[tuple[int, str]]:
    return [
        (HELD, f"holds a token {shares['held']:.1%}"),
        (LATER, f"reserved, used later {shares['later']:.1%}"),
        (UNUSED, f"taken, never used {shares['unused']:.1%}"),
        (FREE, f"free {shares['free']:.1%}"),
    ]


def _notes(shown: Row, knobs: Knobs, requests: int) -> list[str]:
    cell = knobs.capacity / CELLS
    notes = [f"A square is {cell:,.0f} tokens; requests lie one after another, the last square is the end of memory."]
    if shown.cut:
        notes.append(f"{shown.cut} of {requests} answers hit a limit and are cut short.")
    return notes


def _text(rows: dict[str, Row], notes: list[str]) -> str:
    lines = [f"- {shown.label}: {shown.share_held:.1%} holds tokens, {shown.fit:,} requests fit" for shown in rows.values()]
    return "\n".join([*lines, "", *notes])


def _html(rows: dict[str, Row], policy: str, notes: list[str]) -> str:
    head = "<tr><th>setting</th><th>holds tokens</th><th>requests that fit</th><th></th></tr>"
    body = "".join(_html_row(shown, name == policy) for name, shown in rows.items())
    lines = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
    return f'<table style="margin:.5em 0">{head}{body}</table>{lines}'


def _html_row(shown: Row, chosen: bool) -> str:
    weight = "bold" if chosen else "normal"
    cells = (shown.label, f"{shown.share_held:.1%}", f"{shown.fit:,}", "shown above" if chosen else "")
    body = "".join(f'<td style="padding:0 1.5em 0 0">{html.escape(cell)}</td>' for cell in cells)
    return f'<tr style="font-weight:{weight}">{body}</tr>'


def _panel(explorer: Explorer, widgets: Any) -> Any:
    screen = Screen(widgets, explorer.frame())
    policy = widgets.ToggleButtons(options=_policy_options(explorer), value=explorer.settings["policy"])
    policy.style.button_width = "auto"
    sliders = {name: _slider(widgets, name, explorer.settings[name]) for name in CHOICES}

    def redraw(_: Any = None) -> None:
        chosen = {name: slider.value for name, slider in sliders.items()}
        screen.show(explorer.frame(policy=policy.value, **chosen))

    for control in (policy, *sliders.values()):
        control.observe(redraw, "value")
    grid = widgets.GridBox(list(sliders.values()), layout=widgets.Layout(grid_template_columns="repeat(2, minmax(300px, 1fr))"))
    return widgets.VBox([policy, grid, screen.box])


def _policy_options(explorer: Explorer) -> list[tuple[str, str]]:
    words = ("reserve full context", "reserve prompt + longest answer", "16-token blocks", "blocks of your size")
    return list(zip(words, POLICIES, strict=True))


def _slider(widgets: Any, name: str, value: int) -> Any:
    words, options = CHOICES[name]
    return widgets.SelectionSlider(
        options=[(f"{option:,}", option) for option in options],
        value=value,
        description=words,
        style={"description_width": "12em"},
        layout=widgets.Layout(width="auto"),
    )
