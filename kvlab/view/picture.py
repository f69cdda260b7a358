"""A picture and the same story in words, shown together in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kvlab.view.style import figure_png, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture:
    """A PNG with a title and a text that says what it shows, numbers included.

    A notebook shows the picture and the text below it, so that a screen reader, a print and a reader who cannot tell
    the colours apart get the same story. Tests and nbval compare the text; pixels may differ between machines.
    `values` holds the numbers of the story, `figure` the matplotlib figure where there is one.
    """

    def __init__(self, title: str, text: str, draw: Callable[[], bytes], size: tuple[int, int], **values: Any) -> None:
        self.title, self.text, self.size, self.values = title, text, size, values
        self.figure: Figure | None = None
        self._draw = draw

    @property
    def png(self) -> bytes:
        return self._draw()

    @property
    def story(self) -> str:
        return f"{self.title}\n\n{self.text}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        width, height = self.size
        shown = {"width": width, "height": height, "alt": self.title}
        return {"text/plain": self.story, "image/png": self.png}, {"image/png": shown}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data | {"text/plain": self.title}, metadata=metadata, raw=True)
        display({"text/plain": self.text, "text/markdown": self.text}, raw=True)

    def __repr__(self) -> str:
        return self.story


def chart(title: str, text: str, figure: Figure, **values: Any) -> Picture:
    """A matplotlib figure as a `Picture`, drawn when it is shown, so that changes to its `figure` are seen.

    The layout is done once, here: each further run of it would move things by a fraction of a pixel.
    """
    with style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    width, height = figure.get_size_inches()
    made = Picture(title, text, lambda: figure_png(figure), (round(100 * width), round(100 * height)), **values)
    made.figure = figure
    return made
