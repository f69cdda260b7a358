"""A picture that answers to sliders and buttons where a kernel runs, and stays a picture with its text elsewhere."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kvlab.errors import UsageError
from kvlab.mode import widgets
from kvlab.view.card import card_png
from kvlab.view.kinds import COLOUR_NAMES, PALETTE
from kvlab.view.picture import Picture

LINES = "line-height:1.5"


class Frame(NamedTuple):
    """What an explorer shows for one setting of its controls."""

    png: bytes
    size: tuple[int, int]  # pixels on the screen
    headline: str  # one sentence: what is seen now
    legend: Sequence[tuple[int, str]]  # (palette index, words)
    lines: Sequence[str]  # the numbers, in plain words
    values: Mapping[str, Any]  # the same as data
    html: str = ""  # the same for the widget, where lines are not the best form

    @property
    def text(self) -> str:
        words = [f"- {COLOUR_NAMES[index]}: {meaning}" for index, meaning in self.legend]
        return "\n".join([self.headline, "", *self.lines, "", *words])


class Explorer:
    """Wraps a function from settings to a `Frame`.

    title: names the explorer. draw: called with every setting by name, returns the `Frame`. settings: their values at
    the start. panel: builds the controls from (explorer, ipywidgets), only where ipywidgets is installed.
    A notebook shows the widget; GitHub, nbviewer and a print get the picture with its numbers in it; nbval compares
    the text.
    """

    def __init__(
        self,
        title: str,
        draw: Callable[..., Frame],
        settings: Mapping[str, Any],
        panel: Callable[[Explorer, Any], Any],
    ) -> None:
        self.title, self.settings = title, dict(settings)
        self._draw, self._panel = draw, panel

    def at(self, **changes: Any) -> Picture:
        """The picture at other settings, without widgets; settings that are not named stay as they are now."""
        frame = self._draw(**self.settings | self._known(changes))
        return Picture(self.title, frame.text, lambda: frame.png, frame.size, **frame.values)

    def start(self, **changes: Any) -> Explorer:
        """The explorer itself, with other settings to begin with."""
        self.frame(**self._known(changes))
        return self

    def _known(self, changes: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(changes) - set(self.settings))
        if unknown:
            raise UsageError(f"{self.title}: no setting {', '.join(unknown)}; there are {', '.join(self.settings)}")
        return changes

    def frame(self, **changes: Any) -> Frame:
        """Draws with changed settings, and remembers them if they could be drawn."""
        wanted = self.settings | changes
        frame = self._draw(**wanted)
        self.settings = wanted
        return frame

    def widget(self) -> Any | None:
        """The controls with the picture, as an ipywidgets box; None where there is no ipywidgets 8."""
        found = widgets()
        return self._panel(self, found) if found else None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        frame, widget = self.frame(), self.widget()
        png, (width, height) = card_png(self.title, frame)
        live = widget._repr_mimebundle_() if widget is not None else {}
        shown = {"width": width, "height": height, "alt": self.title}
        return {**live, "image/png": png, "text/plain": f"{self.title}\n\n{frame.text}"}, {"image/png": shown}

    def __repr__(self) -> str:
        return self.at().story


class Screen:
    """The part of a widget that changes: headline, picture, legend, numbers.

    spoken: screen readers say each new headline, which is right for what a reader moves and not for what moves itself.
    """

    def __init__(self, widgets: Any, frame: Frame, spoken: bool = True) -> None:
        self._role = 'role="status" aria-live="polite" ' if spoken else ""
        self.headline, self.details = widgets.HTML(), widgets.HTML()
        self.image = _image(widgets, width=frame.size[0])
        self.box = widgets.VBox([self.headline, self.image, self.details])
        self.show(frame)

    def show(self, frame: Frame) -> None:
        self.image.value = frame.png
        self.image.tooltip = frame.headline  # the `title` of the picture: its name for a screen reader
        headline = html.escape(frame.headline)
        self.headline.value = f'<div {self._role}style="{LINES}"><b>{headline}</b></div>'
        details = _legend(frame.legend) + (frame.html or _paragraphs(frame.lines))
        self.details.value = f'<div style="{LINES}">{details}</div>'


def _image(widgets: Any, width: int) -> Any:
    """A core Image with a `description`, empty: without one the front end fails on any Image that has a tooltip."""
    from traitlets import Unicode

    described = type("Image", (widgets.Image,), {"description": Unicode("").tag(sync=True)})
    return described(format="png", layout=widgets.Layout(max_width="calc(100% - 4px)", width=f"{width}px"))


def _legend(legend: Sequence[tuple[int, str]]) -> str:
    """Swatches with words, readable on a light and on a dark page."""
    box = "display:inline-block;width:1em;height:1em;vertical-align:-2px;margin-right:.4em;border:1px solid #767676"
    items = (
        f'<span style="white-space:nowrap;margin-right:1.4em"><span aria-hidden="true" '
        f'style="{box};background:{PALETTE[index]}"></span>{html.escape(meaning)}</span> '
        for index, meaning in legend
    )
    return f'<div style="margin:.3em 0">{"".join(items)}</div>'


def _paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<div>{html.escape(line.removeprefix('- '))}</div>" for line in lines)
