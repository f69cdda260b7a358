"""An explorer's frame as one picture with its words in it, for pages on which nothing can be moved."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, Any

from kvlab.view.kinds import PALETTE
from kvlab.view.style import INK, WIDTH, figure_png, style

if TYPE_CHECKING:
    from kvlab.view.explorer import Frame

LINE = 0.215  # inches from one line of text to the next


def card_png(title: str, frame: Frame) -> tuple[bytes, tuple[int, int]]:
    """PNG and its size on the screen: title, map, legend and lines. The bare map where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return frame.png, frame.size
    above = [title, *textwrap.wrap(frame.headline, 98)]
    below = [row for line in frame.lines for row in textwrap.wrap(line.removeprefix("- "), 98) or [""]]
    map_height = (WIDTH - 0.2) * min(1, frame.size[0] / 100 / (WIDTH - 0.2)) * frame.size[1] / frame.size[0]
    height = LINE * (len(above) + len(below) + _legend_rows(frame) + 1.6) + map_height
    with style():
        made = Figure(figsize=(WIDTH, height), facecolor="white")
        top = _write(made, above, height - 0.08, bold=1)
        top = _map(made, frame, top - 0.06, map_height)
        top = _legend(made, frame, top - 0.1)
        _write(made, below, top - 0.1)
    return figure_png(made), (round(100 * WIDTH), round(100 * height))


def _write(made: Any, lines: list[str], top: float, bold: int = 0) -> float:
    """Lines of text downwards from `top` inches; returns where they end."""
    height = made.get_figheight()
    for number, line in enumerate(lines):
        weight = "bold" if number < bold else "normal"
        made.text(0.1 / WIDTH, (top - number * LINE) / height, line, va="top", fontsize=10.5, weight=weight)
    return top - len(lines) * LINE


def _map(made: Any, frame: Frame, top: float, tall: float) -> float:
    from matplotlib.image import imread

    wide, height = tall * frame.size[0] / frame.size[1], made.get_figheight()
    axes = made.add_axes((0.1 / WIDTH, (top - tall) / height, wide / WIDTH, tall / height))
    axes.imshow(imread(io.BytesIO(frame.png)), interpolation="nearest", aspect="auto")
    axes.axis("off")
    return top - tall


def _legend_rows(frame: Frame) -> int:
    return -(-len(frame.legend) // 2)


def _legend(made: Any, frame: Frame, top: float) -> float:
    """Two swatches with words a row."""
    from matplotlib.patches import Rectangle

    height = made.get_figheight()
    for number, (index, words) in enumerate(frame.legend):
        left, line = 0.1 + number % 2 * 3.9, top - number // 2 * LINE
        corner, wide, tall = (left / WIDTH, (line - 0.145) / height), 0.14 / WIDTH, 0.14 / height
        made.add_artist(Rectangle(corner, wide, tall, facecolor=PALETTE[index], edgecolor=INK, linewidth=0.6))
        made.text((left + 0.22) / WIDTH, line / height, words, va="top", fontsize=10.5)
    return top - _legend_rows(frame) * LINE
