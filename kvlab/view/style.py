"""How every chart of the course looks: white, ten points or more, one palette, a word or a hatch beside each colour."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, FAINT = "#1a1a1a", "#595959"
WIDTH = 8.0  # inches; shown 800 pixels wide, so that 10 points are read as 10 points
DOTS = 150  # an inch, so that a picture stays sharp on a screen with small pixels
COLOURS = 64  # in a file: a third of the bytes of full colour, and no difference that the eye sees
PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 2}  # behind words that a line would cross

_RC: dict[Any, Any] = {
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
    "legend.fontsize": 10,
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


def figure(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure outside pyplot (one left in pyplot would show twice) with its axes. Call it inside `style()`."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    made.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # type: ignore[call-arg, union-attr]
    return made, made.subplots(rows, columns, **options)


def figure_png(made: Figure) -> bytes:
    """The figure as a PNG on white, the same bytes each time: without a date or a version in the file."""
    from PIL import Image  # comes with matplotlib

    raw, png = io.BytesIO(), io.BytesIO()
    with style():
        made.savefig(raw, format="rgba", dpi=DOTS, facecolor="white")
    width, height = (int(inches * DOTS) for inches in made.get_size_inches())
    image = Image.frombytes("RGBA", (width, height), raw.getvalue()).convert("RGB")
    image.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(png, "PNG", optimize=True)
    return png.getvalue()


def thousands(axis: Any) -> None:
    """Ticks as 10,000 instead of 10000."""
    axis.set_major_formatter("{x:,.0f}")


def key(made: Figure, kinds: Any, columns: int) -> None:
    """Swatches with words below the chart. kinds: (words, colour, hatch)."""
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=colour, hatch=hatch, edgecolor=INK, label=words) for words, colour, hatch in kinds]
    made.legend(handles=patches, loc="outside lower center", ncols=columns, frameon=False, handlelength=1.3)
