"""Lab 09's figure: what one conversation keeps, for each way to make a cache smaller."""

from __future__ import annotations

from collections.abc import Mapping

from kvlab.errors import UsageError
from kvlab.memory import KVShape
from kvlab.view.kinds import HELD, PALETTE
from kvlab.view.picture import Picture, chart
from kvlab.view.style import figure, style, thousands

MIB = 2**20


def smaller_caches(shapes: Mapping[str, KVShape], context: int, memory_bytes: int) -> Picture:
    """MiB that one conversation of `context` tokens keeps, and how many such conversations fit in `memory_bytes`.

    shapes: by what to call them, the largest first. Windows count, blocks do not: each takes its last one besides.
    values: fit (name -> conversations). No shape at all: `UsageError`.
    """
    if not shapes:
        raise UsageError("there is nothing to compare: 0 shapes")
    kept = {name: shape.bytes_at(context) for name, shape in shapes.items()}
    fit = {name: memory_bytes // size for name, size in kept.items()}
    title = f"A conversation of {context:,} tokens, kept in {len(kept)} ways"
    lines = [f"- {name}: {size / MIB:,.0f} MiB, {fit[name]:,} fit" for name, size in kept.items()]
    with style():
        made, axes = figure(0.9 + 0.55 * len(kept))
        names, sizes = list(kept), [size / MIB for size in kept.values()]
        bars = axes.barh(names, sizes, color=PALETTE[HELD], height=0.6)
        words = [f"{size:,.0f} MiB, {fit[name]:,} fit" for name, size in zip(names, sizes, strict=True)]
        axes.bar_label(bars, words, padding=4)
        axes.invert_yaxis()
        axes.set(title=title, xlabel="MiB of keys and values, one conversation", xlim=(0, 1.3 * max(sizes)))
        thousands(axes.xaxis)
    return chart(title, "\n".join(lines), made, fit=fit)
