"""Slider, play and step buttons that move through numbered events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kvlab.view.explorer import Explorer, Screen


def player(
    widgets: Any,
    last: int,
    start: int,
    show: Callable[[int], Any],
    noun: str,
    next_mark: Callable[[int], int | None],
    mark: str,
) -> Any:
    """Controls for positions 0 to `last`; `show(position)` runs at each move.

    noun: what a position is called. A button leads to `next_mark(position)`, and stays where that is None.
    """
    slider = widgets.IntSlider(value=start, min=0, max=last, description=noun, layout=widgets.Layout(width="330px"))
    play = widgets.Play(value=start, min=0, max=last, interval=400, tooltip="Play, pause, stop")
    widgets.jslink((play, "value"), (slider, "value"))
    slider.observe(lambda change: show(change["new"]), "value")

    def button(words: str, tooltip: str, target: Callable[[int], int | None]) -> Any:
        def move(_: Any) -> None:
            wanted = target(slider.value)
            slider.value = slider.value if wanted is None else min(max(wanted, 0), last)

        made = widgets.Button(description=words, tooltip=tooltip, layout=widgets.Layout(width="auto"))
        made.on_click(move)
        return made

    buttons = (
        button("back", f"One {noun} back", lambda now: now - 1),
        button("forward", f"One {noun} forward", lambda now: now + 1),
        button(f"next {mark}", f"To the next {mark}", next_mark),
    )
    return widgets.HBox([play, slider, *buttons], layout=widgets.Layout(flex_flow="row wrap"))


def event_panel(widgets: Any, explorer: Explorer, events: int, marks: Iterable[int], mark: str) -> Any:
    """The screen of an explorer whose one setting is its event, below controls for events 0 to `events - 1`.

    marks: the numbers, in order, that the button "next `mark`" goes to.
    """
    screen, marked = Screen(widgets, explorer.frame()), list(marks)
    controls = player(
        widgets,
        last=events - 1,
        start=explorer.settings["event"],
        show=lambda event: screen.show(explorer.frame(event=event)),
        noun="event",
        next_mark=lambda now: next((number for number in marked if number > now), None),
        mark=mark,
    )
    return widgets.VBox([controls, screen.box])
