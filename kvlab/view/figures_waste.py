"""Lab 02's figures: where the memory of a contiguous system goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kvlab.view.blockmap import PALETTE
from kvlab.view.churn import History, arena_history
from kvlab.view.picture import Picture, chart
from kvlab.view.style import FREE, HELD, HOLE, INK, LATER, UNUSED, figure, style

# Share of KV memory that holds tokens, Kwon et al., SOSP 2023, figure 2.
PAPER = {"full": 0.204, "power of two": 0.268, "oracle": 0.382, "16-token blocks": 0.963}
KINDS = (  # field of Waste, words, colour, hatch, colour of the number
    ("held", "holds a token", HELD, "", "white"),
    ("later", "reserved, used later", LATER, "///", INK),
    ("internal", "reserved, never used", UNUSED, "...", INK),
    ("free", "free or in holes", FREE, "", INK),
)


def arena_strip(trace: Iterable | History, **options: Any) -> Picture:
    """The arena over time: steps to the right, addresses upwards. Options as for `arena_history`.

    values: fragmented (share of steps in which a request waits although enough is free), history.
    """
    history = trace if isinstance(trace, History) else arena_history(trace, **options)
    steps = len(history.moments)
    shown = np.linspace(0, steps - 1, min(steps, 700)).astype(int)
    columns = np.stack([history.column(step, 320) for step in shown], axis=1)
    share = history.share_fragmented
    title = f"{history.capacity:,} slots over time, reserved by the policy '{history.policy}'"
    text = (
        f"In {share:.0%} of {steps:,} steps the next request waits although enough slots are free in total: no hole is large enough. "
        + " ".join(f"{words}: {(columns == index).mean():.1%}." for index, words in _WORDS)
    )
    from matplotlib.colors import ListedColormap

    with style():
        made, axes = figure(4.4)
        axes.imshow(columns, ListedColormap(PALETTE), vmin=0, vmax=4, origin="lower", aspect="auto",
                    extent=(0, steps, 0, history.capacity), interpolation="nearest")  # fmt: skip
        axes.set(title=title, xlabel="decode step", ylabel="slot")
        _key(made, [*KINDS[:3], ("", "free, but no hole fits", HOLE, "", ""), ("", "free", FREE, "", "")])
    return chart(title, text, made, fragmented=share, history=history)


_WORDS = ((1, "Holds a token"), (3, "reserved, used later"), (2, "reserved, never used"), (4, "free, but in holes too small"), (0, "free"))


def _key(made: Any, kinds: Iterable) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=colour, hatch=hatch, edgecolor=INK, label=words) for _, words, colour, hatch, _ in kinds]
    made.legend(handles=patches, loc="outside lower center", ncols=5, frameon=False, handlelength=1.2, columnspacing=1.2)


def waste_bars(wastes: Mapping[str, Any], published: Mapping[str, float] | None = None) -> Picture:
    """One stacked bar a policy: shares of the memory by kind, with the published share held beside ours.

    wastes: policy -> `kvlab.memory.Waste`, in any unit. published: policy -> share held, the paper's figure if None;
    policies it does not name get no mark. values: policy -> share held.
    """
    published = PAPER if published is None else published
    shares = {name: _shares(waste) for name, waste in wastes.items()}
    title = "What the KV memory holds, on average over a run"
    lines = [
        f"- {name}: " + ", ".join(f"{words} {parts[field]:.1%}" for field, words, *_ in KINDS if parts[field] >= 0.0005)
        + (f" (published: {published[name]:.1%} holds a token)" if name in published else "")
        for name, parts in shares.items()
    ]
    with style():
        made, axes = figure(1.5 + 0.62 * len(shares))
        for row, (name, parts) in enumerate(shares.items()):
            _stack(axes, row, parts)
            if name in published:
                axes.plot([100 * published[name]] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=3)
        names = [f"{name}\npublished {published[name]:.1%}" if name in published else name for name in shares]
        axes.set(yticks=range(len(shares)), yticklabels=names, xlim=(0, 100), xlabel="% of the KV memory", title=title)
        axes.invert_yaxis()
        _key(made, KINDS)
    return chart(title, "\n".join(lines), made, **{name: parts["held"] for name, parts in shares.items()})


def _shares(waste: Any) -> dict[str, float]:
    parts = {"held": waste.held, "later": waste.later, "internal": waste.internal, "free": waste.free + waste.external}
    return {field: slots / waste.capacity for field, slots in parts.items()}


def _stack(axes: Any, row: int, parts: Mapping[str, float]) -> None:
    left = 0.0
    for field, _, colour, hatch, ink in KINDS:
        width = 100 * parts[field]
        axes.barh(row, width, 0.62, left, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.6)
        if width >= 5:
            axes.text(left + width / 2, row, f"{width:.1f}", ha="center", va="center", color=ink, weight="bold",
                      bbox=None if not hatch else {"facecolor": colour, "edgecolor": "none", "pad": 1.5})  # fmt: skip
        left += width
