"""How long answers are, in one trace or in several side by side (labs 01 and 02)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kvlab.view.kinds import HELD, PALETTE
from kvlab.view.picture import Picture, chart
from kvlab.view.style import INK, PLAIN, figure, style, thousands

BARS = 32  # of a panel


def answer_histogram(trace: Iterable, max_answer: int = 2048) -> Picture:
    """How many answers have which length, beside the length a server reserves.

    trace: requests with `answer`. values: mean, median, longest, over_half (answers beyond half of max_answer).
    """
    answers = np.array([request.answer for request in trace])
    mean, median, longest = float(answers.mean()), float(np.median(answers)), int(answers.max())
    over_half = int((answers > max_answer / 2).sum())
    title = "Most answers are short, a few are long"
    text = (
        f"{len(answers):,} answers: half of them have at most {median:,.0f} tokens, the mean is {mean:,.0f}, "
        f"the longest has {longest:,}. {over_half} use more than half of the {max_answer:,} a server would reserve."
    )
    with style():
        made, axes = figure(3.6)
        bins = np.arange(0, max(max_answer, longest) + 64, 64)
        counts, *_ = axes.hist(answers, bins, color=PALETTE[HELD], edgecolor="white")
        _level(axes, median, counts.max() * 0.97, f"half have at most {median:,.0f}")
        _level(axes, mean, counts.max() * 0.78, f"mean {mean:,.0f}")
        axes.axvline(max_answer, color=INK, linewidth=2.5)
        axes.annotate(f"reserved for each: {max_answer:,}", (max_answer, counts.max() * 0.6), (-8, 0),
                      textcoords="offset points", ha="right", va="center")  # fmt: skip
        axes.set(title=title, xlabel="tokens in the answer", ylabel="requests", xlim=0)
        thousands(axes.xaxis)
    return chart(title, text, made, mean=mean, median=median, longest=longest, over_half=over_half)


def _level(axes: Any, at: float, height: float, words: str) -> None:
    """A dashed line that ends at its own words, so that it crosses nobody else's."""
    axes.plot([at, at], [0, height], color=INK, linestyle="--", linewidth=1.5)
    axes.annotate(words, (at, height), (4, 0), textcoords="offset points", va="center", bbox=PLAIN)


def answer_histograms(traces: Mapping[str, Iterable]) -> Picture:
    """The answers of several traces, a panel each with a scale of its own: their sources differ, their shape does not.

    traces: name -> requests with `answer`. values: name -> (mean, median, longest).
    """
    answers = {name: np.array([request.answer for request in trace]) for name, trace in traces.items()}
    found = {name: (float(each.mean()), float(np.median(each)), int(each.max())) for name, each in answers.items()}
    title = "Most answers are short, a few are long, whoever writes them"
    lines = [
        f"- {name}: {len(answers[name]):,} answers, half of them at most {median:,.0f} tokens, "
        f"mean {mean:,.0f}, longest {longest:,}"
        for name, (mean, median, longest) in found.items()
    ]
    with style():
        made, panels = figure(3.4, 1, len(answers), squeeze=False)
        made.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=12)
        for axes, (name, each) in zip(panels[0], answers.items(), strict=True):
            _panel(axes, name, each, *found[name])
        panels[0][0].set_ylabel("requests")
    return chart(title, "\n".join(lines), made, **found)


def _panel(axes: Any, name: str, answers: np.ndarray, mean: float, median: float, longest: int) -> None:
    counts, *_ = axes.hist(answers, np.linspace(0, longest, BARS + 1), color=PALETTE[HELD], edgecolor="white")
    _level(axes, median, counts.max() * 0.97, f"half have at most {median:,.0f}")
    _level(axes, mean, counts.max() * 0.78, f"mean {mean:,.0f}")
    axes.set_title(name, fontsize=10.5, weight="normal")
    axes.set(xlabel="tokens in the answer", xlim=(0, longest * 1.02))
    thousands(axes.xaxis)
