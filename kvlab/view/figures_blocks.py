"""Lab 03's figures: the published table, and the price of large and of small blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvlab.view.picture import Picture, chart
from kvlab.view.style import FAINT, HELD, INK, UNUSED, figure, style

# The lesson's table: policy -> (share of memory that holds tokens, requests that fit); None where it gives no number.
PUBLISHED: dict[str, tuple[float, int | None]] = {
    "full": (0.155, 64),
    "prompt+max": (0.428, None),
    "16-token blocks": (0.994, 411),
    "256-token blocks": (0.910, 376),
}


def published_bars(rows: Iterable[Sequence], published: Mapping[str, tuple] | None = None) -> Picture:
    """Share of memory that holds tokens and requests that fit, ours as bars, the published figures as marks.

    rows: (policy, share held, requests that fit), as `published_table` gives them. values: policy -> (share, fit).
    """
    published = PUBLISHED if published is None else published
    rows = [(name, float(share), int(fit)) for name, share, fit, *_ in rows]
    title = "Same memory, same requests: what each policy makes of it"
    lines = [_line(name, share, fit, *published.get(name, (None, None))) for name, share, fit in rows]
    with style():
        made, (left, right) = figure(1.2 + 0.62 * len(rows), 1, 2, sharey=True)
        made.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
        names = [name for name, *_ in rows]
        shares, fits = [100 * share for _, share, _ in rows], [fit for *_, fit in rows]
        told = [published.get(name, (None, None)) for name in names]
        _bars(left, shares, [None if share is None else 100 * share for share, _ in told], "{:.1f} %", 100)
        _bars(right, fits, [fit for _, fit in told], "{:,.0f}", max(fits))
        left.set(yticks=range(len(names)), yticklabels=names, xlabel="% of allocated memory that holds tokens")
        right.set(xlabel="requests that fit")
        left.invert_yaxis()
    return chart(title, "\n".join(lines), made, **{name: (share, fit) for name, share, fit in rows})


def _line(name: str, share: float, fit: int, told_share: float | None, told_fit: int | None) -> str:
    beside = [f"{told_share:.1%}" if told_share is not None else "", f"{told_fit:,}" if told_fit is not None else ""]
    published = f" (published: {', '.join(filter(None, beside))})" if any(beside) else ""
    return f"- {name}: {share:.1%} holds tokens, {fit:,} requests fit{published}"


def _bars(axes: Any, ours: Sequence[float], published: Sequence[float | None], form: str, most: float) -> None:
    axes.barh(range(len(ours)), ours, 0.62, color=HELD)
    for row, (value, told) in enumerate(zip(ours, published, strict=True)):
        words = form.format(value)
        if told is not None:
            axes.plot([told] * 2, [row - 0.4, row + 0.4], color=UNUSED, linewidth=3)
            words += f"\npublished {form.format(told)}"
        axes.text(max(value, told or 0) + most * 0.02, row, words, va="center", fontsize=10)
    axes.set_xlim(0, most * 1.5)


def block_size_curve(rows: Iterable[Sequence], requests: int, chosen: int = 16) -> Picture:
    """Memory wasted and table entries read against the block size, two charts on one axis.

    rows: (block size, share held, lookups), as `block_size_sweep` gives them. requests: sequences swept over.
    chosen: the size that is marked. values: block size -> (wasted share, lookups a request).
    """
    rows = [(int(size), 1 - float(held), int(lookups) / requests) for size, held, lookups, *_ in rows]
    title = "Small blocks cost lookups, large blocks cost memory"
    lines = [f"- blocks of {size:,}: {waste:.2%} wasted, {lookups:,.1f} table entries a request" for size, waste, lookups in rows]
    with style():
        made, (above, below) = figure(5.0, 2, 1, sharex=True)
        sizes = [size for size, *_ in rows]
        for axes, values, words in (
            (above, [100 * waste for _, waste, _ in rows], "% of memory wasted"),
            (below, [lookups for *_, lookups in rows], "table entries a request"),
        ):
            axes.plot(sizes, values, "o-", color=HELD, linewidth=2)
            axes.axvline(chosen, color=FAINT, linestyle="--", linewidth=1.2)
            axes.set_xscale("log", base=2)
            axes.set_ylabel(words)
            axes.set_ylim(0)
            for size, value in zip(sizes, values, strict=True):
                if size in (sizes[0], chosen, sizes[-1]):
                    axes.annotate(f"{value:,.1f}", (size, value), (4, 8), textcoords="offset points", color=INK)
        above.set(title=title)
        below.set(xlabel="tokens in a block", xticks=sizes, xticklabels=[f"{size:,}" for size in sizes])
        below.minorticks_off()
    return chart(title, "\n".join(lines), made, **{str(size): (waste, lookups) for size, waste, lookups in rows})
