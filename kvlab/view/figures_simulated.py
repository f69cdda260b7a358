"""Figures of simulations: what each setting is worth, and what happened while it ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvlab.errors import UsageError
from kvlab.view.kinds import HELD, LATER, PALETTE, UNUSED, counted, percent
from kvlab.view.picture import Picture, chart
from kvlab.view.style import FAINT, INK, figure, style, thousands

if TYPE_CHECKING:
    from kvlab.serve.report import Moment, Report

    Reports = Report | Mapping[str, Report]

LINES = ((PALETTE[HELD], "-"), (PALETTE[UNUSED], "--"), (PALETTE[LATER], "-."), (INK, ":"))
"""How the reports are told apart over time, so that at most so many go into one figure."""
PANELS = (
    ("running", "run", lambda moment, slots: moment.running),
    ("waiting or swapped", "wait or are\nswapped out", lambda moment, slots: moment.waiting + moment.swapped),
    ("taken", "% of memory\ntaken", lambda moment, slots: 100 * moment.taken / slots),
    ("preemptions", "preemptions\nso far", lambda moment, slots: moment.preemptions),
)
MARKS = ((0, "o", "half are within"), (1, "|", "95 of 100"), (2, "D", "99 of 100"))


def simulated(reports: Reports) -> Picture:
    """Tokens a second, time to the first token and time between tokens of one report of `simulate`, or of several.

    reports: name -> `kvlab.serve.Report`, drawn a row each, or a report alone. The times are spreads: median, 95th and
    99th percentile over the requests, and over all pairs of tokens, on a logarithmic axis.
    values: name -> (tokens a second, first token p50 and p99, between tokens p50 and p99), in seconds.
    """
    named = _named(reports)
    title = "What is served, and how long users wait for it"
    with style():
        made, (left, middle, right) = figure(1.5 + len(named), 1, 3, sharey=True)
        made.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
        _rates(left, [report.tokens_per_second for report in named.values()])
        _spreads(middle, [report.first_token[1:] for report in named.values()], 1, "s")
        _spreads(right, [report.between[1:] for report in named.values()], 1000, "ms")
        left.set(yticks=range(len(named)), yticklabels=list(named), ylim=(len(named) - 0.5, -0.6))
        left.set_xlabel("tokens a second")
        middle.set_xlabel("seconds to the first token")
        right.set_xlabel("ms between tokens")
        handles, words = middle.get_legend_handles_labels()
        made.legend(handles, words, loc="outside lower right", ncols=3, frameon=False)
    text = "\n".join(_line(name, report) for name, report in named.items())
    numbers = {
        name: (r.tokens_per_second, r.first_token.p50, r.first_token.p99, r.between.p50, r.between.p99)
        for name, r in named.items()
    }
    return chart(title, text, made, **numbers)


def _named(reports: Reports) -> dict[str, Report]:
    """At least one, each under its name."""
    named = dict(reports) if isinstance(reports, Mapping) else {"": reports}
    if not named:
        raise UsageError("a figure of simulations needs at least 1 report, there were 0")
    return named


def _line(name: str, report: Report) -> str:
    words = f"- {name}: " if name else "- "
    words += f"{counted(round(report.tokens_per_second), 'token')} a second"
    first, between = report.first_token, report.between
    words += f"; first token within {first.p50:.3g} s for half, {first.p99:.3g} s for 99 of 100"
    words += f"; between tokens {between.p50 * 1e3:.3g} ms for half, {between.p99 * 1e3:.3g} ms for 99 of 100"
    return f"{words}; {counted(report.preemptions, 'preemption')}, {report.swaps} of these by swapping"


def _rates(axes: Any, rates: list[float]) -> None:
    most = max(*rates, 1.0)
    axes.barh(range(len(rates)), rates, 0.5, color=PALETTE[HELD])
    for row, rate in enumerate(rates):
        axes.text(rate + 0.03 * most, row, f"{rate:,.0f}", va="center")
    axes.set_xlim(0, 1.45 * most)
    axes.set_xticks([0])
    axes.tick_params(left=False)


def _spreads(axes: Any, spreads: list[tuple[float, ...]], times: int, unit: str) -> None:
    """A row each: a line from the median to the 99th percentile, a mark at each percentile, both ends in words."""
    from matplotlib.ticker import LogLocator, NullFormatter

    seen = [value * times for spread in spreads for value in spread if value > 0]
    low, high = min(seen, default=1.0), max(seen, default=1.0)
    for row, spread in enumerate(spreads):
        values = [max(value * times, low) for value in spread]
        axes.plot([values[0], values[-1]], [row, row], color=FAINT, linewidth=2, zorder=1)
        for place, marker, words in MARKS:
            colour = PALETTE[HELD] if marker == "o" else INK
            axes.scatter(values[place], row, 60, colour, marker=marker, zorder=4 - place, label=words * (not row))
        ends = f"{spread[0] * times:.3g} to {spread[-1] * times:.3g} {unit}"
        axes.text(0.5, row - 0.22, ends, ha="center", va="bottom", transform=axes.get_yaxis_transform())
    axes.set(xscale="log", xlim=(low / 2, high * 2))
    axes.xaxis.set_major_locator(LogLocator(numticks=4))
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(left=False)


def simulated_over_time(reports: Reports) -> Picture:
    """Who runs and who waits, how much memory is taken, and how often somebody had to leave, over simulated time.

    reports: as for `simulated`, at most 4 with their timelines, else `UsageError`; a line each. What stays zero
    throughout, as preemptions may, has no panel. values: name -> (most running, most waiting or swapped out, largest
    share of the memory taken, preemptions), as far as the kept moments tell.
    """
    named = _named(reports)
    if len(named) > len(LINES):
        raise UsageError(f"at most {len(LINES)} reports are told apart over time, there were {len(named)}")
    for name, report in named.items():
        if not report.timeline:
            raise UsageError(f"the report {name!r} has a timeline of 0 moments, and at least 1 is needed")
    title = "Who runs, who waits, and what memory there is, over simulated time"
    curves = {label: {name: _curve(report, value) for name, report in named.items()} for label, _, value in PANELS}
    shown = [panel for panel in PANELS if any(max(curve) for curve in curves[panel[0]].values())]
    with style():
        made, grid = figure(1.1 + 1.3 * len(shown), len(shown), 1, sharex=True, squeeze=False)
        made.align_ylabels(grid[:, 0])
        for axes, (label, words, _) in zip(grid[:, 0], shown, strict=True):
            _panel(axes, named, curves[label], words)
        grid[0, 0].set_title(title)
        grid[-1, 0].set_xlabel("simulated seconds")
        thousands(grid[-1, 0].xaxis)
        if len(named) > 1:
            handles, names = grid[0, 0].get_legend_handles_labels()
            made.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, handlelength=3)
    text = "\n".join(_course(name, report, curves) for name, report in named.items())
    most = {name: tuple(max(curves[label][name]) for label in curves) for name in named}
    return chart(title, text, made, **{name: (*m[:2], m[2] / 100, named[name].preemptions) for name, m in most.items()})


def _curve(report: Report, value: Any) -> list[float]:
    moments: tuple[Moment, ...] = report.timeline
    slots = report.slots or max(moment.taken for moment in moments) or 1
    return [value(moment, slots) for moment in moments]


def _panel(axes: Any, named: dict[str, Report], curves: dict[str, list[float]], words: str) -> None:
    """One quantity: a line for each report, flat from one moment to the next and to the end of the run."""
    for (colour, dashes), (name, values) in zip(LINES, curves.items(), strict=False):
        times = [*(moment.seconds for moment in named[name].timeline), named[name].seconds]
        axes.plot(times, [*values, values[-1]], dashes, color=colour, linewidth=1.4, drawstyle="steps-post", label=name)
    top = max(max(values) for values in curves.values())
    axes.set(ylabel=words, ylim=(0, 105 if words.startswith("%") else 1.08 * max(top, 1)))
    axes.set_xlim(0, max(report.seconds for report in named.values()) or 1)
    axes.yaxis.get_major_locator().set_params(nbins=3, integer=True)
    thousands(axes.yaxis)


def _course(name: str, report: Report, curves: dict[str, dict[str, list[float]]]) -> str:
    running, waiting, taken = (max(curves[label][name]) for label in ("running", "waiting or swapped", "taken"))
    words = f"- {name}: " if name else "- "
    words += f"{report.seconds:,.4g} s in all; at most {running:,.0f} run, {waiting:,.0f} wait or are swapped out"
    words += f", {percent(taken / 100)} of memory is taken; {counted(report.preemptions, 'preemption')}"
    return f"{words}, {counted(report.recomputed, 'token')} computed again"
