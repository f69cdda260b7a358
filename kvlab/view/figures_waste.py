"""Lab 02's figures: where the memory of a contiguous system goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kvlab.view.churn import History, arena_history
from kvlab.view.kinds import FREE, HATCHES, HELD, HOLE, LATER, PALETTE, UNUSED, WORDS, percent, word_for
from kvlab.view.picture import Picture, chart
from kvlab.view.style import FAINT, INK, figure, key, style, thousands

# Share of KV memory that holds tokens: Kwon et al., SOSP 2023, figure 2.
PAPER = {"full": 0.204, "power of two": 0.268, "oracle": 0.382, "16-token blocks": 0.963}
ROWS, STEPS = 320, 700  # of the strip's raster


def arena_strip(trace: Iterable | History, **options: Any) -> Picture:
    """The arena over time: steps to the right, addresses upwards.

    trace: requests with `prompt` and `answer`, or a `History` made before; options as for `arena_history`.
    values: fragmented (share of steps in which a request waits although enough is free), shares, history.
    """
    history = trace if isinstance(trace, History) else arena_history(trace, **options)
    fragmented, shares, steps = history.share_fragmented, history.shares(), len(history.moments)
    title = f"{history.capacity:,} slots over time, policy '{history.policy}'"
    often = f"In {percent(fragmented, 0)} of {steps:,} steps the next request waits although enough slots are free"
    lines = [f"- {WORDS[kind]}: {percent(share)}" for kind, share in shares.items()]
    text = "\n".join([f"{often}: no hole is large enough. On average over the run:", "", *lines])
    with style():
        made, axes = figure(4.4)
        _raster(axes, history)
        _outlines(axes, history)
        axes.set(title=title, xlabel="decode step", ylabel="slot")
        thousands(axes.xaxis)
        thousands(axes.yaxis)
        seen = [(WORDS[kind], PALETTE[kind], "") for kind, share in shares.items() if share]
        key(made, seen, 4 if len(seen) <= 4 else 3)
    return chart(title, text, made, fragmented=fragmented, shares=shares, history=history)


def _raster(axes: Any, history: History) -> None:
    from matplotlib.colors import ListedColormap

    steps = len(history.moments)
    shown = np.linspace(0, steps - 1, min(steps, STEPS)).astype(int)
    columns = np.stack([history.column(step, ROWS) for step in shown], axis=1)
    axes.imshow(columns, ListedColormap(PALETTE), vmin=0, vmax=4, origin="lower", aspect="auto",
                extent=(0, steps, 0, history.capacity), interpolation="nearest")  # fmt: skip


def _outlines(axes: Any, history: History) -> None:
    """A white edge around each reservation, so that neighbours are seen as two."""
    from matplotlib.patches import Rectangle

    last: dict[tuple[int, int], tuple[int, int]] = {}
    for step, moment in enumerate(history.moments):
        last |= {(chunk.start, chunk.born): (chunk.size, step + 1) for chunk in moment.chunks}
    for (start, born), (size, end) in last.items():
        axes.add_patch(Rectangle((born, start), end - born, size, fill=False, edgecolor="white", linewidth=0.8))


def waste_bars(wastes: Mapping[str, Any], paper: Mapping[str, float] | None = None) -> Picture:
    """One stacked bar a policy: shares of the memory by kind, with the paper's share held beside ours.

    wastes: policy -> `kvlab.memory.Waste`, in any unit. paper: policy -> share held, `PAPER` if None;
    policies it does not name get no mark. values: policy -> share held. A policy that is named as "16-token blocks" has
    a word of its own for what is never used: nothing in it is reserved.
    """
    paper = PAPER if paper is None else paper
    shares = {name: _shares(waste) for name, waste in wastes.items()}
    title = "What the KV memory holds, on average over a run"
    with style():
        made, axes = figure(1.5 + 0.62 * len(shares))
        for row, (name, parts) in enumerate(shares.items()):
            _stack(axes, row, parts)
            if name in paper:
                axes.plot([100 * paper[name]] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=3.5)
        names = [f"{name}\nthe paper: {percent(paper[name])}" if name in paper else name for name in shares]
        axes.set(yticks=range(len(shares)), yticklabels=names, xlim=(0, 100), title=title)
        axes.set(xlabel="% of the KV memory; the thick black line is the paper's share that holds tokens")
        axes.tick_params(left=False)
        axes.invert_yaxis()
        key(made, [(_legend(kind, shares), PALETTE[kind], HATCHES[kind]) for kind in (HELD, LATER, UNUSED, FREE)], 4)
    text = "\n".join(_line(name, parts, paper.get(name)) for name, parts in shares.items())
    return chart(title, text, made, **{name: parts[HELD] for name, parts in shares.items()})


def _words(kind: int, policy: str) -> str:
    return "free or in holes" if kind == FREE else word_for(kind, policy)


def _legend(kind: int, policies: Iterable[str]) -> str:
    """The words of every bar for one colour, each once."""
    return ", or\n".join(dict.fromkeys(_words(kind, policy) for policy in policies))


def _line(name: str, parts: Mapping[int, float], told: float | None) -> str:
    words = ", ".join(f"{_words(kind, name)} {percent(share)}" for kind, share in parts.items())
    return f"- {name}: {words}" + (f" (the paper: {percent(told)} holds a token)" if told is not None else "")


def _shares(waste: Any) -> dict[int, float]:
    parts = {HELD: waste.held, LATER: waste.later, UNUSED: waste.internal, FREE: waste.free + waste.external}
    return {kind: slots / waste.capacity for kind, slots in parts.items()}


def _stack(axes: Any, row: int, parts: Mapping[int, float]) -> None:
    left = 0.0
    for kind, share in parts.items():
        width = 100 * share
        axes.barh(row, width, 0.62, left, color=PALETTE[kind], hatch=HATCHES[kind], edgecolor=FAINT, linewidth=0.6)
        if width >= 5:
            axes.text(left + width / 2, row, f"{width:.1f}", ha="center", va="center", weight="bold", color=_ink(kind),
                      bbox={"facecolor": PALETTE[kind], "edgecolor": "none", "pad": 1.5})  # fmt: skip
        left += width


def _ink(kind: int) -> str:
    return "white" if kind in (HELD, HOLE) else INK
