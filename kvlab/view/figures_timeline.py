"""Lab 08's figure: how many requests run, wait and are swapped out over time, and how full the memory is."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from kvlab.errors import UsageError
from kvlab.serve.report import Moment, Report
from kvlab.view.kinds import HELD, PALETTE, UNUSED
from kvlab.view.picture import Picture, chart
from kvlab.view.style import INK, figure, key, style, thousands

KINDS = (
    ("run", PALETTE[HELD], ""),
    ("are swapped out", PALETTE[UNUSED], "///"),
    ("wait", PALETTE[0], "..."),
)


def timeline(reports: Mapping[str, Report]) -> Picture:
    """Requests over the seconds of each simulation, stacked: those that run, are swapped out, and wait.

    reports: name -> what `kvlab.serve.simulate.simulate` returned, drawn below each other on one scale. None at all:
    `UsageError`. values: name -> (most that ran, most that were swapped out, requests that ran on average over time).
    """
    if not reports or not all(report.timeline for report in reports.values()):
        raise UsageError(f"a timeline needs at least 1 simulation with steps, not {len(reports)} reports")
    end = max(report.seconds for report in reports.values())
    found = {name: _values(report) for name, report in reports.items()}
    lines = [
        f"- {name}: {reports[name].seconds:,.1f} seconds, {reports[name].preemptions:,} preemptions; "
        f"at most {running:,} run and {swapped:,} are swapped out, {mean:,.1f} run on average"
        for name, (running, swapped, mean) in found.items()
    ]
    with style():
        made, axes = figure(1.3 + 1.9 * len(reports), rows=len(reports), sharex=True, squeeze=False)
        for row, (name, report) in zip(axes[:, 0], reports.items(), strict=True):
            _stack(row, report.timeline, report.seconds)
            row.set(xlim=(0, end), ylim=(0, None), title=name, ylabel="requests")
            thousands(row.yaxis)
        axes[-1, 0].set(xlabel="simulated seconds")
        key(made, KINDS, 3)
    return chart("Who runs, who is swapped out, who waits", "\n".join(lines), made, **found)


def _stack(axes, moments: tuple[Moment, ...], seconds: float) -> None:
    times = [moment.seconds for moment in moments] + [seconds]
    counts = [[m.running for m in moments], [m.swapped for m in moments], [m.waiting for m in moments]]
    floor = [0] * len(times)
    for (_, colour, hatch), row in zip(KINDS, counts, strict=True):
        top = [low + count for low, count in zip(floor, row + row[-1:], strict=True)]
        axes.fill_between(times, floor, top, step="post", facecolor=colour, edgecolor=INK, hatch=hatch, linewidth=0.3)
        floor = top


def _values(report: Report) -> tuple[int, int, float]:
    moments = report.timeline
    times = [moment.seconds for moment in moments] + [report.seconds]
    area = sum(moment.running * (b - a) for moment, (a, b) in zip(moments, pairwise(times), strict=True))
    return report.peak, max(moment.swapped for moment in moments), area / (times[-1] - times[0])
