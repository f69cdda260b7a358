"""How every chart of the course looks: white, ten points or more, one palette, a word or a hatch beside each colour."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FREE, HELD, UNUSED, LATER, HOLE = "#f2f2f2", "#0072B2", "#E69F00", "#009E73", "#000000"
INK, FAINT = "#1a1a1a", "#595959"
WIDTH = 8.0  # inches; shown 800 pixels wide, so that 10 points are read as 10 points

_RC = {
    "font.family": "DejaVu Sans",  # ships inside matplotlib: the same on every machine
    "font.size": 10.5,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "hatch.linewidth": 0.8,
}


@contextmanager
def style() -> Iterator[None]:
    """The course's settings, whatever the notebook's own are, and the notebook's own again afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def figure(height: float, rows: int = 1, columns: int = 1, **options) -> tuple[Figure, Axes]:
    """A figure outside pyplot (one left in pyplot would show twice) with its axes. Call it inside `style()`."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    return made, made.subplots(rows, columns, **options)
