"""Lab 03's figures: the published table, and the price of large and of small blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvlab.view.kinds import HELD, PALETTE, percent
from kvlab.view.picture import Picture, chart
from kvlab.view.style import FAINT, INK, PLAIN, figure, style, thousands

# The lesson's table: policy -> (share of memory that holds tokens, requests that fit); None where it gives no number.
PUBLISHED: dict[str, tuple[float, int | None]] = {
    "full": (0.155, 64),
    "prompt+max": (0.428, None),
    "16-token blocks": (0.994, 411),
    "256-token blocks": (0.910, 376),
}
NOTHING = (None, None)


def published_bars(rows: Iterable[Sequence], published: Mapping[str, tuple] | None = None) -> Picture:
    """Share of memory that holds tokens and requests that fit: ours as bars, the published figures as black lines.

    rows: (policy, share held, requests that fit), as `published_table` gives them. published: policy -> (share,
    requests), the lesson's if None. values: policy -> (share, requests).
    """
    published = PUBLISHED if published is None else published
    rows = [(name, float(share), int(fit)) for name, share, fit, *_ in rows]
    title = "Same memory, same requests: what each policy makes of it"
    names, shares, fits = [name for name, *_ in rows], [100 * share for _, share, _ in rows], [fit for *_, fit in rows]
    told = [published.get(name, NOTHING) for name in names]
    with style():
        made, (left, right) = figure(1.3 + 0.62 * len(rows), 1, 2, sharey=True)
        made.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
        _bars(left, shares, [None if share is None else 100 * share for share, _ in told], "{:.1f} %", 100)
        _bars(right, fits, [fit for _, fit in told], "{:,.0f}", max(fits))
        left.set(yticks=range(len(names)), yticklabels=names)
        left.set_xlabel("% of what requests take that holds tokens")
        right.set_xlabel("requests that fit")
        left.invert_yaxis()
    text = "\n".join(_line(*row, *published.get(row[0], NOTHING)) for row in rows)
    return chart(title, text, made, **{name: (share, fit) for name, share, fit in rows})


def _line(name: str, share: float, fit: int, told_share: float | None, told_fit: int | None) -> str:
    told = [percent(told_share)] if told_share is not None else []
    told += [f"{told_fit:,}"] if told_fit is not None else []
    words = f" (published: {', '.join(told)})" if told else ""
    return f"- {name}: {percent(share)} holds tokens, {fit:,} requests fit{words}"


def _bars(axes: Any, ours: Sequence[float], published: Sequence[float | None], form: str, most: float) -> None:
    axes.barh(range(len(ours)), ours, 0.62, color=PALETTE[HELD])
    for row, (value, told) in enumerate(zip(ours, published, strict=True)):
        words = form.format(value)
        if told is not None:
            axes.plot([told] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=3.5)
            words += f"\npublished {form.format(told)}"
        axes.text(max(value, told or 0) + most * 0.03, row, words, va="center")
    axes.set_xlim(0, most * 1.62)
    axes.spines["bottom"].set_bounds(0, most)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= most])
    axes.tick_params(left=False)


def block_size_curve(rows: Iterable[Sequence], requests: int, chosen: int = 16) -> Picture:
    """Memory wasted and table entries read against the block size, two charts above one axis.

    rows: (block size, share held, lookups), as `block_size_sweep` gives them. requests: sequences swept over.
    chosen: the block size that is marked. values: block size as text -> (wasted share, entries a request).
    """
    rows = [(int(size), 1 - float(held), int(lookups) / requests) for size, held, lookups, *_ in rows]
    title = "Small blocks cost lookups, large blocks cost memory"
    sizes = [size for size, *_ in rows]
    with style():
        made, (above, below) = figure(5.0, 2, 1, sharex=True)
        _curve(above, sizes, [100 * waste for _, waste, _ in rows], "% of memory wasted", "{:.1f} %")
        _curve(below, sizes, [lookups for *_, lookups in rows], "table entries a request", "{:,.1f}")
        if chosen in sizes:  # beside the line, on the side that the curve leaves free
            _, waste, lookups = rows[sizes.index(chosen)]
            _chosen(above, chosen, 100 * waste, f"blocks of {chosen:,}: {percent(waste)}", "right")
            _chosen(below, chosen, lookups, f"blocks of {chosen:,}: {lookups:,.1f}", "left")
        above.set_title(title)
        below.set(xlabel="tokens in a block", xticks=sizes, xticklabels=[f"{size:,}" for size in sizes])
        below.minorticks_off()
    text = "\n".join(
        f"- blocks of {size:,}: {percent(waste, 2)} wasted, {lookups:,.1f} table entries a request"
        for size, waste, lookups in rows
    )
    return chart(title, text, made, **{str(size): (waste, lookups) for size, waste, lookups in rows})


def _curve(axes: Any, sizes: Sequence[int], values: Sequence[float], words: str, form: str) -> None:
    axes.plot(sizes, values, "o-", color=PALETTE[HELD], linewidth=2)
    axes.set_xscale("log", base=2)
    axes.set_ylabel(words)
    axes.set_ylim(0, max(values) * 1.2)
    axes.margins(x=0.06)
    thousands(axes.yaxis)
    for size, place in ((sizes[0], (6, 6)), (sizes[-1], (-8, 6))):
        words = form.format(values[sizes.index(size)])
        ha = "left" if place[0] > 0 else "right"
        axes.annotate(words, (size, values[sizes.index(size)]), place, textcoords="offset points", ha=ha)


def _chosen(axes: Any, size: int, value: float, words: str, side: str) -> None:
    axes.axvline(size, color=FAINT, linestyle="--", linewidth=1.2, zorder=1)
    place = {"xytext": (8 if side == "left" else -8, 34), "textcoords": "offset points", "ha": side}
    axes.annotate(words, (size, value), weight="bold", bbox=PLAIN, zorder=1.5, **place)
