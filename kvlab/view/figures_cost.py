"""Lab 01's figures: what a batch is worth, and how long answers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kvlab.memory import decode_step_seconds
from kvlab.view.kinds import HELD, PALETTE, UNUSED
from kvlab.view.picture import Picture, chart
from kvlab.view.style import INK, PLAIN, figure, style, thousands

ROOM = 1.22  # of the x axis beyond the wall


def batch_throughput(
    bytes_per_token: float,
    tokens_per_request: float,
    weight_bytes: float,
    kv_bytes: float,
    bandwidth: float,
    limits: Mapping[str, int] | None = None,
) -> Picture:
    """Tokens a second against the number of requests that decode together, up to the memory wall.

    bytes_per_token: of KV. tokens_per_request: held by one request on average. bandwidth: bytes a second. A step reads
    the weights once and every request's keys and values: (weights + KV) / bandwidth; arithmetic is taken to be free,
    which holds in decoding. limits: name -> batch, to mark what a policy reaches.
    values: wall (requests), at_wall and alone (tokens a second), limits (name -> (batch, tokens a second)).
    """

    def speed(batch: int) -> float:
        return batch / decode_step_seconds(weight_bytes, batch * bytes_per_token * tokens_per_request, bandwidth)

    wall = int(kv_bytes / (bytes_per_token * tokens_per_request))
    marks = {name: (batch, speed(batch)) for name, batch in (limits or {}).items()}
    alone, at_wall = speed(1), speed(wall)
    title = "Throughput grows with the batch, until memory is full"
    ends = f"One request alone: {alone:,.0f} tokens a second. Memory full, {wall:,} requests: {at_wall:,.0f}"
    lines = [f"- {name}: {batch:,} requests, {rate:,.0f} tokens a second" for name, (batch, rate) in marks.items()]
    text = "\n".join([f"{ends}, {at_wall / alone:,.0f} times as many.", "", *lines]).strip()
    with style():
        made, axes = figure(4.2)
        batches = range(1, wall + 1)
        axes.plot(batches, [speed(batch) for batch in batches], color=PALETTE[HELD], linewidth=2.5)
        _wall(axes, wall, at_wall)
        for name, (batch, reached) in marks.items():
            _mark(axes, name, batch, reached, left=batch > 0.75 * wall)
        axes.set(xlim=(0, wall * ROOM), ylim=(0, at_wall * 1.12), title=title)
        axes.set(xlabel="requests that decode together", ylabel="tokens a second, all requests")
        thousands(axes.yaxis)
    return chart(title, text, made, wall=wall, at_wall=at_wall, alone=alone, limits=marks)


def _wall(axes: Any, wall: int, top: float) -> None:
    axes.axvspan(wall, wall * ROOM, facecolor=PALETTE[0], edgecolor="#8c8c8c", hatch="///", linewidth=0)
    axes.axvline(wall, color=INK, linewidth=2.5)
    words = f"memory is full\nat {wall:,} requests"
    axes.text(wall * (1 + ROOM) / 2, top * 0.5, words, ha="center", va="center", bbox=PLAIN)


def _mark(axes: Any, name: str, batch: int, reached: float, left: bool) -> None:
    axes.plot([batch, batch], [0, reached], color=INK, linestyle="--", linewidth=1.2, zorder=1)
    axes.plot([batch], [reached], "o", color=PALETTE[UNUSED], markeredgecolor=INK, markersize=9)
    place = {"xytext": (-10, -22) if left else (10, -8), "ha": "right" if left else "left"}
    words = f"{name}\n{batch:,} requests: {reached:,.0f}"
    axes.annotate(words, (batch, reached), textcoords="offset points", va="top", bbox=PLAIN, zorder=1.5, **place)


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
