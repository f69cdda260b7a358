"""Lab 05's figure: how many bytes a second attention reads, against how many there are to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kvlab.bench import LAW, MUST, Measurement, Run
from kvlab.bench.law import COPY_RATE, DEVICE, PEAK_RATE, WRITE_RATE
from kvlab.bench.record import COPY, GATHER, KERNEL, SDPA
from kvlab.view.kinds import HELD, LATER, PALETTE, UNUSED
from kvlab.view.picture import Picture, chart
from kvlab.view.style import FAINT, INK, figure, style

SMALL, LARGE = 1e6, 1e11  # bytes: where the curves begin and end
TOLD = ((4e6, "4 MB"), (64e6, "64 MB"), (1e9, "1 GB"))
NAMES = {"decode": "Decode", "prefill": "Prefill", "write": "Cache writes"}
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
Style = tuple[str, str, str, str, str]  # system, dtype ("" for any), words, marker, colour
STYLES: tuple[Style, ...] = (
    (COPY, "", "device copy", "_", FAINT),
    (GATHER, "", "PyTorch on pages", "x", INK),
    (SDPA, "", "PyTorch SDPA, contiguous", "^", PALETTE[LATER]),
    (KERNEL, "fp8", "kvlab, FP8 pages", "s", PALETTE[UNUSED]),
    (KERNEL, "bf16", "kvlab, bf16 pages", "o", PALETTE[HELD]),
)


def roofline(runs: Iterable[Run], kinds: Sequence[str] = ("decode",)) -> Picture:
    """GB/s achieved against the bytes of keys and values, with what an H200 is predicted to reach as curves.

    runs: what was measured, of any device (`kvlab.bench.stored()`, or `[kvlab.bench.measure(...)]`); without one the
    prediction stands alone, and title and text say so. kinds: a chart for each, of "decode", "prefill" and "write"; the
    curves are about decode. values: points (how many were drawn), device (names, joined), predicted (bytes -> GB/s).
    """
    runs = list(runs)
    devices = ", ".join(dict.fromkeys(str(run.device["name"]) for run in runs))
    points = sum(len(run.of(kind, system)) for run in runs for kind in kinds for system, *_ in STYLES)
    titles = [_title(kind, devices) for kind in kinds]
    with style():
        made, axes = figure(3.6 * len(kinds) + 0.9, len(kinds), 1, squeeze=False)
        for kind, title, here in zip(kinds, titles, axes[:, 0], strict=True):
            _curves(here, kind)
            _points(here, runs, kind)
            _axes(here, title, [found.bytes for run in runs for found in run.measurements if found.case.kind == kind])
        _key(made, axes[:, 0])
    predicted = {num_bytes: LAW.achieved(num_bytes) / 1e9 for num_bytes, _ in TOLD}
    return chart(titles[0], _text(runs), made, points=points, device=devices, predicted=predicted)


def _title(kind: str, devices: str) -> str:
    if not devices:
        return "What an H200 is predicted to reach; nothing was measured yet"
    return f"{NAMES[kind]} on {devices}: bytes a second against bytes"


def _axes(axes: Any, title: str, sizes: list[int]) -> None:
    """Bytes from 1 MB, or less where less was measured, to 100 GB; GB/s to a little above what is specified."""
    low = min(int(np.floor(np.log10(min(sizes, default=SMALL)))), int(np.log10(SMALL)))
    ticks = [10.0**power for power in range(low, int(np.log10(LARGE)) + 1)]
    words = [next(f"{tick / unit:.0f} {name}" for unit, name in UNITS if tick >= unit) for tick in ticks[:-1]]
    axes.set(title=title, xscale="log", xlim=(ticks[0], LARGE), ylim=(0, PEAK_RATE * 1.15 / 1e9))
    axes.set(xlabel="bytes of keys and values", ylabel="GB/s")
    axes.set_xticks(ticks, [*words, ""])
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _curves(axes: Any, kind: str) -> None:
    if kind == "write":
        axes.axhline(WRITE_RATE / 1e9, color=INK, linestyle="--", linewidth=1.5, label="wanted of large writes (H200)")
    if kind != "decode":
        return
    sizes = np.geomspace(SMALL, LARGE, 200)
    for line, words, dashes in ((LAW, "predicted", "-"), (MUST, "wanted at least", "--")):
        label = f"{words} (H200): {line.words}"
        axes.plot(sizes, [line.achieved(size) / 1e9 for size in sizes], dashes, color=INK, linewidth=1.8, label=label)
    axes.axhline(PEAK_RATE / 1e9, color=FAINT, linestyle=":", linewidth=1.5, label="specified for an H200")


def _points(axes: Any, runs: list[Run], kind: str) -> None:
    """The measured points. Which device they are of stands in the title."""
    for system, dtype, words, marker, colour in STYLES:
        found = [entry for run in runs for entry in run.of(kind, system) if dtype in ("", entry.case.dtype)]
        if found:
            sizes, rates = [entry.bytes for entry in found], [entry.rate / 1e9 for entry in found]
            edge = {"linewidths": 1.2} if marker in "_x" else {"edgecolors": INK, "linewidths": 0.6}
            area = 64 if marker in "_s" else 38
            axes.scatter(sizes, rates, area, colour, marker=marker, label=words, zorder=3, **edge)


def _key(made: Any, rows: Any) -> None:
    known: dict[str, Any] = {}
    for axes in rows:
        handles, words = axes.get_legend_handles_labels()
        known |= dict(zip(words, handles, strict=True))
    made.legend(known.values(), known, loc="outside lower center", ncols=2, frameon=False)


def _text(runs: list[Run]) -> str:
    reached = [(words, LAW.achieved(size) / 1e9) for size, words in TOLD]
    lines = [f"- {words} to read: predicted {rate:,.0f} GB/s on an {DEVICE}" for words, rate in reached]
    lines.append(f"- a copy on the device moves {COPY_RATE / 1e9:,.0f} GB/s there, and hardly any kernel does better")
    if not runs:
        lines.append("- nothing was measured yet: this is the prediction alone. On a GPU, kvlab bench decode measures")
    return "\n".join([*lines, *(_measured(run) for run in runs)])


def _measured(run: Run) -> str:
    where = f"- measured on {run.device['name']}, {run.when[:10]}"
    decode = run.of("decode")
    if not decode:
        return f"{where}: no decode step"
    best: Measurement = max(decode, key=lambda entry: entry.rate)
    copies = [entry.rate for entry in run.measurements if entry.system == COPY]
    copied = f"; fastest copy {max(copies) / 1e9:,.0f} GB/s" if copies else ""
    fastest = f"the fastest {best.rate / 1e9:,.0f} GB/s at {best.bytes / 1e6:,.0f} MB"
    return f"{where}: {len(decode)} decode steps, {fastest}{copied}"
