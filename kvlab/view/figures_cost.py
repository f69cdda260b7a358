"""Lab 01's figure of what a batch is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
