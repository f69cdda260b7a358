"""Lab 11's figure: what the same load makes of the same memory, served in different ways."""

from __future__ import annotations

from collections.abc import Mapping

from kvlab.errors import UsageError
from kvlab.view.kinds import HELD, LATER, PALETTE
from kvlab.view.picture import Picture, chart
from kvlab.view.style import figure, style


def served_ways(ways: Mapping[str, tuple[float, int]], title: str) -> Picture:
    """Tokens a second, and requests at once, of each way to serve a load.

    ways: name -> (tokens a second, the most requests at once), the slowest first by custom. values: times (name -> how
    many times the tokens a second of the first). No way at all, or none that served a token: `UsageError`.
    """
    if not ways or not all(rate > 0 for rate, _ in ways.values()):
        raise UsageError(f"there is nothing to compare: {len(ways)} ways, each of which must serve some tokens")
    rates, peaks = [rate for rate, _ in ways.values()], [peak for _, peak in ways.values()]
    times = {name: rate / rates[0] for name, (rate, _) in ways.items()}
    lines = [f"- {name}: {rate:,.0f} tokens a second, {peak:,} at once" for name, (rate, peak) in ways.items()]
    with style():
        made, (left, right) = figure(1.2 + 0.5 * len(ways), 1, 2, sharey=True)
        made.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
        for axes, sizes, kind, label in ((left, rates, HELD, "tokens a second"), (right, peaks, LATER, "at once")):
            bars = axes.barh(list(ways), sizes, color=PALETTE[kind], height=0.6)
            axes.bar_label(bars, [f"{size:,.0f}" for size in sizes], padding=4)
            axes.set(xlabel=label if kind == HELD else f"requests {label}", xlim=(0, 1.25 * max(sizes)), xticks=[0])
            axes.tick_params(left=False)
        left.invert_yaxis()
    return chart(title, "\n".join(lines), made, times=times)
