"""Slider, play and step buttons that move through numbered events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def player(widgets: Any, last: int, start: int, show: Callable[[int], Any], marks: Sequence[int] = (), mark_name: str = "") -> Any:
    """Controls for positions 0 to `last`; `show(position)` runs at each move. A button leads to the next of `marks`."""
    slider = widgets.IntSlider(value=start, min=0, max=last, description="event", layout=widgets.Layout(width="46%", min_width="260px"))
    play = widgets.Play(value=start, min=0, max=last, interval=400, tooltip="Play, pause, stop")
    widgets.jslink((play, "value"), (slider, "value"))
    slider.observe(lambda change: show(change["new"]), "value")

    def button(words: str, tooltip: str, target: Callable[[int], int]) -> Any:
        made = widgets.Button(description=words, tooltip=tooltip, layout=widgets.Layout(width="auto"))
        made.on_click(lambda _: setattr(slider, "value", min(max(target(slider.value), 0), last)))
        return made

    buttons = [
        button("back", "One event back", lambda now: now - 1),
        button("forward", "One event forward", lambda now: now + 1),
    ]
    if marks:
        buttons.append(button(f"next {mark_name}", f"To the next {mark_name}", lambda now: next((m for m in marks if m > now), now)))
    return widgets.HBox([play, slider, *buttons], layout=widgets.Layout(flex_flow="row wrap"))
