"""Step through a contiguous arena under churn: reservations, holes, and who waits for a larger one (lab 02)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

from kvlab.memory import POLICIES, Arena, external_fragmentation, lesson_trace
from kvlab.view.blockmap import block_map
from kvlab.view.churn import Chunk, History, Moment, arena_history
from kvlab.view.explorer import Explorer, Frame, Screen
from kvlab.view.kinds import FREE, HELD, HOLE, LATER, UNUSED, WORDS, counted, percent
from kvlab.view.player import player

COLUMNS, CELL, CELLS = 64, 12, 1024
SIZE = (COLUMNS * CELL + 5, CELLS // COLUMNS * CELL + 5)


def arena_explorer(trace: Iterable | None = None, capacity: int = 16384, steps: int = 1500) -> Explorer:
    """A contiguous arena, one decode step at a time, under each reservation policy, first fit or best fit.

    trace: requests with `prompt` and `answer`; the lesson's 200 if None. capacity: in slots, a multiple of 1,024.
    Settings, also for `.at(...)`: policy (as in `kvlab.memory.reserve`), fit ("first" or "best"), step.
    `.at(...).values`: moment (chunks, needed, free, largest), fragmented (share of all steps), steps (their number).
    """
    requests = list(lesson_trace() if trace is None else trace)

    @lru_cache
    def history(policy: str, fit: Literal["first", "best"]) -> History:
        return arena_history(requests, policy, capacity, lambda slots: Arena(slots, fit), steps=steps)

    def draw(policy: str, fit: Literal["first", "best"], step: int) -> Frame:
        return _frame(history(policy, fit), step)

    settings = {"policy": "power of two", "fit": "first", "step": 0}
    title = f"{capacity:,} slots in one line, step by step"
    return Explorer(title, draw, settings, lambda explorer, widgets: _panel(history, steps, explorer, widgets))


def _frame(history: History, step: int) -> Frame:
    step = min(max(step, 0), len(history.moments) - 1)
    now = history.moments[step]
    running = counted(len(now.chunks), "request")
    often = percent(history.share_fragmented, 0)
    lines = [
        f"- {running} running, {now.free:,} slots free, the largest hole has {now.largest:,}",
        f"- external fragmentation now: {percent(external_fragmentation(_holes(now, history.capacity)))}",
        f"- over {len(history.moments):,} steps: in {often} somebody waits although enough is free",
        f"- a square is {history.capacity // CELLS} slots",
    ]
    values = {"moment": now, "fragmented": history.share_fragmented, "steps": len(history.moments)}
    png = block_map(history.column(step, CELLS), COLUMNS, CELL)
    legend = [(kind, WORDS[kind]) for kind in (HELD, LATER, UNUSED, HOLE, FREE)]
    return Frame(png, SIZE, _headline(step, now), legend, lines, values)


def _holes(now: Moment, capacity: int) -> list[tuple[int, int]]:
    chunks = (Chunk(0, 0, 0, 0, 0), *now.chunks)
    ends = [chunk.start + chunk.size for chunk in chunks]
    starts = [*(chunk.start for chunk in now.chunks), capacity]
    return [(end, start - end) for end, start in zip(ends, starts, strict=True) if start > end]


def _headline(step: int, now: Moment) -> str:
    if not now.needed:
        return f"Step {step:,}: nobody waits."
    free = f"{now.free:,} are free, but not in one piece" if now.fragmented else f"only {now.free:,} are free"
    return f"Step {step:,}: the next request asks for {now.needed:,} slots; {free}."


def _panel(history: Any, steps: int, explorer: Explorer, widgets: Any) -> Any:
    screen = Screen(widgets, explorer.frame())
    policy = widgets.ToggleButtons(options=POLICIES, value=explorer.settings["policy"], style={"button_width": "auto"})
    fit = widgets.Dropdown(options=[("first fit", "first"), ("best fit", "best")], value=explorer.settings["fit"])
    fit.layout.width = "8em"

    def show(step: int) -> None:
        screen.show(explorer.frame(policy=policy.value, fit=fit.value, step=step))

    def next_refusal(now: int) -> int | None:
        moments = history(policy.value, fit.value).moments
        later = range(min(now, len(moments) - 1) + 1, len(moments))
        return next((step for step in later if moments[step].fragmented and not moments[step - 1].fragmented), None)

    for control in (policy, fit):
        control.observe(lambda _: show(explorer.settings["step"]), "value")
    controls = player(widgets, steps - 1, explorer.settings["step"], show, "step", next_refusal, "refusal")
    choices = widgets.HBox([policy, fit], layout=widgets.Layout(flex_flow="row wrap"))
    return widgets.VBox([choices, controls, screen.box])
