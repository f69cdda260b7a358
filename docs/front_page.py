"""Draw the front page's picture from the course's own trace: `python docs/front_page.py` writes docs/front_page.png.

Four maps of one memory of 64 GiB under the four settings that labs 02 and 03 compare. Nothing in it is typed by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from kvlab.memory import lesson_trace
from kvlab.view.kinds import FREE, HELD, PALETTE, UNUSED, WORDS, percent
from kvlab.view.settings import POLICIES, Knobs, Row, memory_map, row
from kvlab.view.style import figure, figure_png, key, style

COLUMNS = 128
PICTURE = Path(__file__).with_suffix(".png")
KNOBS = Knobs()  # at the end of every answer, as the published figures count


def words(shown: Row) -> tuple[str, str]:
    """Above a map the setting and how many requests fit under it, below it how much of what they take is of use."""
    name = shown.label[0].upper() + shown.label[1:]
    return f"{name}: {shown.fit} requests", f"{percent(shown.share_held)} of what they take holds tokens"


def draw(axes: Any, states: np.ndarray) -> None:
    """One map: a square for each piece of memory, from the upper left."""
    colours = ListedColormap(PALETTE)
    grid = np.reshape(states, (-1, COLUMNS))[::-1]
    axes.pcolormesh(grid, cmap=colours, vmin=-0.5, vmax=len(PALETTE) - 0.5, edgecolors="white", linewidth=0.25)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def picture() -> bytes:
    """The PNG, the same bytes each time under one version of matplotlib."""
    requests = list(lesson_trace())
    with style():
        made, places = figure(4.4, 2, 2)
        for policy, axes in zip(POLICIES, places.flat, strict=True):
            draw(axes, memory_map(requests, policy, KNOBS)[0])
            above, below = words(row(requests, policy, KNOBS))
            axes.set_title(above, fontsize=10)
            axes.set_xlabel(below)
        key(made, [(WORDS[kind], PALETTE[kind], "") for kind in (HELD, UNUSED, FREE)], 3)
        return figure_png(made)


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
    print(f"{PICTURE.name}: {PICTURE.stat().st_size:,} bytes")
