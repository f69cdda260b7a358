"""A picture that answers to sliders and buttons where a kernel runs, and stays a picture with its text elsewhere."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kvlab.errors import UsageError
from kvlab.view.blockmap import PALETTE
from kvlab.view.picture import Picture


class Frame(NamedTuple):
    """What an explorer shows for one setting of its controls."""

    png: bytes
    size: tuple[int, int]  # pixels on the screen
    headline: str  # one sentence: what is seen now
    legend: Sequence[tuple[int, str]]  # (palette index, words)
    text: str  # the numbers, as lines of plain text
    html: str  # the same for the widget
    values: Mapping[str, Any]  # the same as data


class Explorer:
    """Wraps a function from settings to a `Frame`.

    title: names the explorer. draw: called with every setting by name, returns the `Frame`. settings: their values at
    the start. panel: builds the controls; called with the explorer, and only where ipywidgets is installed.
    In a notebook the object shows the widget; GitHub, nbviewer, a print and a screen reader get the PNG or the text.
    """

    def __init__(self, title: str, draw: Callable[..., Frame], settings: Mapping[str, Any], panel: Callable[..., Any]) -> None:
        self.title, self.settings = title, dict(settings)
        self._draw, self._panel = draw, panel

    def at(self, **changes: Any) -> Picture:
        """The picture at other settings, without widgets; settings that are not named stay as they are now."""
        unknown = sorted(set(changes) - set(self.settings))
        if unknown:
            raise UsageError(f"{self.title}: no setting {', '.join(unknown)}; there are {', '.join(self.settings)}")
        return self._picture(self._draw(**self.settings | changes))

    def frame(self, **changes: Any) -> Frame:
        """Remembers the changed settings and draws."""
        self.settings |= changes
        return self._draw(**self.settings)

    def _picture(self, frame: Frame) -> Picture:
        words = "\n".join(f"- {colour_name(index)}: {meaning}" for index, meaning in frame.legend)
        text = f"{frame.headline}\n\n{frame.text}\n\n{words}"
        return Picture(self.title, text, lambda: frame.png, frame.size, **frame.values)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = self.at()._repr_mimebundle_()
        widget = self.widget()
        return data | (widget._repr_mimebundle_() if widget is not None else {}) | {"text/plain": data["text/plain"]}, metadata

    def widget(self) -> Any | None:
        """The controls with the picture, as an ipywidgets box; None where ipywidgets is not installed."""
        try:
            import ipywidgets
        except ImportError:
            return None
        return self._panel(self, ipywidgets)

    def __repr__(self) -> str:
        return self.at().story


COLOUR_NAMES = ("light grey", "blue", "orange", "green", "black")


def colour_name(index: int) -> str:
    return COLOUR_NAMES[index]


def legend_html(legend: Sequence[tuple[int, str]]) -> str:
    """Swatches with words, readable on a light and on a dark page."""
    box = "display:inline-block;width:1em;height:1em;vertical-align:-2px;margin-right:.4em;border:1px solid #767676"
    items = (
        f'<span style="white-space:nowrap;margin-right:1.4em"><span aria-hidden="true" style="{box};background:{PALETTE[index]}">'
        f"</span>{html.escape(meaning)}</span> "
        for index, meaning in legend
    )
    return f"<div>{''.join(items)}</div>"


class Screen:
    """The part of a widget that changes: headline, picture, legend, numbers."""

    def __init__(self, widgets: Any, frame: Frame) -> None:
        self.headline, self.details = widgets.HTML(), widgets.HTML()
        self.image = widgets.Image(format="png", layout=widgets.Layout(max_width="100%", width=f"{frame.size[0]}px"))
        self.box = widgets.VBox([self.headline, self.image, self.details])
        self.show(frame)

    def show(self, frame: Frame) -> None:
        self.image.value = frame.png
        self.image.tooltip = frame.headline  # becomes the accessible name of the picture
        self.headline.value = f'<div role="status" aria-live="polite"><b>{html.escape(frame.headline)}</b></div>'
        self.details.value = legend_html(frame.legend) + frame.html
