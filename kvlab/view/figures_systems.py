"""The systems side by side: one trace, one memory, and what each policy makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvlab.errors import UsageError
from kvlab.view.kinds import HATCHES, HELD, LATER, PALETTE, UNUSED, counted, percent
from kvlab.view.picture import Picture, chart
from kvlab.view.style import INK, figure, key, style

if TYPE_CHECKING:
    from kvlab.serve.system_runs import Outcome

PANELS = (
    ("tokens\na second", lambda o: o.tokens_per_second, "{:,.0f}"),
    ("requests\nin flight", lambda o: o.running, "{:.0f}"),
    ("% of prompt\ntokens found", lambda o: 100 * o.hit_rate, "{:.0f}"),
    ("preemptions\n", lambda o: o.preemptions, "{:,.0f}"),
)

MEMORY = {HELD: "holds tokens", LATER: "taken, empty: tokens will come", UNUSED: "taken, empty: none will come"}
"""The words of `kvlab.serve.systems.outcome_table`, whose "taken, empty" is the sum of the last two."""


def systems_side_by_side(outcomes: Mapping[str, Outcome] | None = None) -> Picture:
    """Throughput, requests in flight, hits, preemptions and memory of each system's policy, a row each.

    outcomes: name -> `kvlab.serve.system_runs.Outcome`, by default those of `kvlab.serve.systems.side_by_side()`; none
    at all raises `UsageError`. values: name -> (tokens a second, in flight, hit rate, preemptions, share of the memory
    that holds tokens, share taken and empty).
    """
    if outcomes is None:
        from kvlab.serve.systems import side_by_side

        outcomes = side_by_side()
    if not outcomes:
        raise UsageError("a figure of systems needs at least 1 outcome, there were 0")
    title = "One trace, one memory, seven policies" if len(outcomes) == 7 else "One trace, one memory, each policy"
    with style():
        made, axes = figure(1.9 + 0.46 * len(outcomes), 1, 5, sharey=True, width_ratios=(1, 1, 1, 1, 1.6))
        made.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
        for panel, (label, value, form) in zip(axes, PANELS, strict=False):
            _bars(panel, [value(outcome) for outcome in outcomes.values()], label, form)
        _memory(axes[-1], list(outcomes.values()))
        names = list(outcomes)
        axes[0].set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
        kinds = [(MEMORY[kind], PALETTE[kind], HATCHES[kind]) for kind in (HELD, LATER, UNUSED)]
        key(made, kinds, 3)
    text = "\n".join(_line(name, outcome) for name, outcome in outcomes.items())
    numbers = {
        name: (o.tokens_per_second, o.running, o.hit_rate, o.preemptions, o.waste.held, _empty(o))
        for name, o in outcomes.items()
    }
    return chart(title, text, made, **numbers)


def _bars(axes: Any, values: list[float], label: str, form: str) -> None:
    most = max(*values, 0) or 1
    axes.barh(range(len(values)), values, 0.55, color=PALETTE[HELD])
    for row, value in enumerate(values):
        axes.text(value + 0.05 * most, row, form.format(value), va="center")
    axes.set(xlim=(0, 1.7 * most), xticks=[])
    axes.set_xlabel(label)
    axes.tick_params(left=False)
    axes.spines["bottom"].set_visible(False)


def _memory(axes: Any, outcomes: list[Outcome]) -> None:
    """Shares of the memory, stacked: tokens, room for tokens to come, room for none."""
    starts = [0.0] * len(outcomes)
    for kind, name in ((HELD, "held"), (LATER, "later"), (UNUSED, "internal")):
        widths = [100 * getattr(outcome.waste, name) for outcome in outcomes]
        look = {"color": PALETTE[kind], "hatch": HATCHES[kind], "edgecolor": INK, "linewidth": 0.5}
        axes.barh(range(len(outcomes)), widths, 0.55, left=starts, **look)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    axes.set(xlim=(0, 100), xticks=[0, 50, 100])
    axes.set_xlabel("% of the memory\n")
    axes.tick_params(left=False)


def _line(name: str, outcome: Outcome) -> str:
    words = f"- {name}: {counted(round(outcome.tokens_per_second), 'token')} a second, {outcome.running:.1f} in flight"
    words += f", {percent(outcome.hit_rate)} of prompt tokens found, {counted(outcome.preemptions, 'preemption')}"
    return f"{words}; {percent(outcome.waste.held)} of memory holds tokens, {percent(_empty(outcome))} taken and empty"


def _empty(outcome: Outcome) -> float:
    return outcome.waste.later + outcome.waste.internal
