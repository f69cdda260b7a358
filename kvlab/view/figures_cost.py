"""Lab 01's figures: what a batch is worth, and how long answers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kvlab.memory import decode_step_seconds
from kvlab.view.picture import Picture, chart
from kvlab.view.style import FAINT, HELD, HOLE, INK, UNUSED, figure, style


def batch_throughput(
    bytes_per_token: int,
    tokens_per_request: float,
    weight_bytes: float,
    kv_bytes: float,
    bandwidth: float,
    limits: Mapping[str, int] | None = None,
) -> Picture:
    """Tokens a second against the number of requests that decode together, up to the memory wall.

    bytes_per_token: of KV. tokens_per_request: held by one request on average. bandwidth: bytes a second. A step reads
    the weights once and every request's keys and values: (weights + KV) / bandwidth; arithmetic is taken to be free,
    which holds in decoding. limits: name -> batch, to mark what a policy reaches. values: wall, at_wall, alone.
    """
    def speed(batch: int) -> float:
        return batch / decode_step_seconds(weight_bytes, batch * bytes_per_token * tokens_per_request, bandwidth)

    wall = int(kv_bytes / (bytes_per_token * tokens_per_request))
    marks = {name: (batch, speed(batch)) for name, batch in (limits or {}).items()}
    alone, at_wall = speed(1), speed(wall)
    title = "Throughput grows with the batch, until memory is full"
    lines = [
        f"One request alone: {alone:,.0f} tokens a second. A full memory, {wall:,} requests: {at_wall:,.0f}, {at_wall / alone:,.0f} times as many.",
        *(f"- {name}: {batch:,} requests, {reached:,.0f} tokens a second" for name, (batch, reached) in marks.items()),
    ]
    with style():
        made, axes = figure(4.2)
        batches = range(1, wall + 1)
        axes.plot(batches, [speed(batch) for batch in batches], color=HELD, linewidth=2.5)
        axes.axvspan(wall, wall * 1.22, color=FAINT, alpha=0.15, hatch="///", linewidth=0)
        axes.axvline(wall, color=INK, linewidth=2)
        axes.text(wall * 1.11, at_wall * 0.5, f"memory is full\nat {wall:,} requests", ha="center", va="center", rotation=90)
        for name, (batch, reached) in marks.items():
            axes.plot([batch], [reached], "o", color=UNUSED, markeredgecolor=INK, markersize=9)
            axes.annotate(f"{name}\n{batch:,} requests", (batch, reached), (10, -6), textcoords="offset points", va="top")
        axes.set(xlim=(0, wall * 1.22), ylim=(0, at_wall * 1.12), title=title)
        axes.set(xlabel="requests that decode together", ylabel="tokens a second, all requests")
    return chart(title, "\n".join(lines), made, wall=wall, at_wall=at_wall, alone=alone, limits=marks)


def answer_histogram(trace: Iterable, max_answer: int = 2048) -> Picture:
    """How many answers have which length, beside the length a server reserves. values: mean, median, longest, over_half."""
    answers = np.array([request.answer for request in trace])
    mean, median, longest = float(answers.mean()), float(np.median(answers)), int(answers.max())
    over_half = int((answers > max_answer / 2).sum())
    title = "Most answers are short, a few are long"
    text = (
        f"{len(answers)} answers: half of them have at most {median:,.0f} tokens, the mean is {mean:,.0f}, the longest has {longest:,}. "
        f"{over_half} use more than half of the {max_answer:,} that a server would reserve."
    )
    with style():
        made, axes = figure(3.6)
        bins = np.arange(0, max(max_answer, longest) + 65, 64)
        counts, _, _ = axes.hist(answers, bins, color=HELD, edgecolor="white")
        top = counts.max()
        for height, value, words in ((0.95, median, f"median {median:,.0f}"), (0.75, mean, f"mean {mean:,.0f}")):
            axes.axvline(value, color=INK, linestyle="--", linewidth=1.5)
            axes.annotate(words, (value, top * height), (6, 0), textcoords="offset points", va="center")
        axes.axvline(max_answer, color=HOLE, linewidth=2)
        axes.annotate(f"reserved: {max_answer:,}", (max_answer, top * 0.6), (-6, 0), textcoords="offset points", ha="right")
        axes.set(title=title, xlabel="tokens in the answer", ylabel="requests")
    return chart(title, text, made, mean=mean, median=median, longest=longest, over_half=over_half)
