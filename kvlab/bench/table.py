"""A run as text: a line for each case, and below it what was left out and which targets are held."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .cases import KINDS, Case
from .law import LAW, MUST, WRITE_RATE, applies_to
from .record import CONTIGUOUS, COPY, GATHER, KERNEL, SDPA, Measurement, Run
from .targets import targets

NOTHING = "-"
Column = tuple[str, Callable[[Case], str]]
RATES = {
    "decode": "GB/s counts the bytes of keys and values alone, each read once; a copy counts what it reads and writes.",
    "prefill": "GB/s counts the bytes of keys and values alone, each read once; TFLOP/s the two products, as masked.",
    "write": "GB/s counts what is read and written, for our kernel as for the copy.",
}


def report(run: Run) -> str:
    """Where it was measured, a table for each kind of case, what was left out, and the targets."""
    parts = [heading(run)]
    parts += [f"{kind}\n{table(run, kind)}\n{RATES[kind]}" for kind in KINDS if run.of(kind, COPY) or run.of(kind)]
    parts += [_left_out(run)] if run.left_out else []
    parts.append("\n".join(["targets", *(f"  {target.line}" for target in targets(run))]))
    return "\n\n".join(parts)


def heading(run: Run) -> str:
    """The device, the versions, the time, and the fastest copy of the run, a line each."""
    names = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    copies = [found.rate for found in run.measurements if found.system == COPY]
    lines = [f"{run.device['name']}, measured {run.when}", names]
    lines += [f"fastest device copy of this run: {max(copies) / 1e9:,.0f} GB/s"] if copies else []
    return "\n".join(lines)


def table(run: Run, kind: str) -> str:
    """The cases of one kind. Times are medians in microseconds, with the 10th and 90th percentile of our kernel."""
    return _text(_columns(run, kind), [case for case in run.cases if case.kind == kind and _measured(run, case)])


def _measured(run: Run, case: Case) -> bool:
    return any(found.case == case for found in run.measurements)


def _columns(run: Run, kind: str) -> list[Column]:
    found = {(entry.case, entry.system): entry for entry in run.measurements}

    def of(system: str, form: Callable[[Measurement], str]) -> Callable[[Case], str]:
        return lambda case: form(found[case, system]) if (case, system) in found else NOTHING

    def share(case: Case) -> str:
        ours, copied = found.get((case, KERNEL)), found.get((case, COPY))
        return f"{ours.rate / copied.rate:.0%}" if ours and copied else NOTHING

    columns = _shape(kind) + [("MB", lambda case: f"{case.bytes / 1e6:,.2f}")]
    columns += [("us", of(KERNEL, _us)), ("p10-p90", of(KERNEL, _ends)), ("GB/s", of(KERNEL, _rate))]
    columns += [("of copy", share), ("copy GB/s", of(COPY, _rate))]
    if kind == "prefill":
        columns.append(("TFLOP/s", of(KERNEL, _operations)))
    if kind != "write":
        columns += [("in one piece us", of(CONTIGUOUS, _us)), ("SDPA us", of(SDPA, _us))]
    return columns + [("PyTorch us", of(GATHER, _us))] + _law(run, kind, of) + _others(run, kind, of)


def _shape(kind: str) -> list[Column]:
    columns: list[Column] = [("batch", lambda case: f"{case.batch:,}")]
    if kind != "decode":
        columns.append(("new", lambda case: f"{case.queries:,}"))
    if kind != "write":
        columns.append(("context", lambda case: f"{case.context:,}"))
    columns += [("block", lambda case: f"{case.block_size:,}"), ("heads", lambda case: f"{case.heads}:{case.kv_heads}")]
    return [*columns, ("dtype", lambda case: case.dtype)]


def _law(run: Run, kind: str, of: Callable[..., Callable[[Case], str]]) -> list[Column]:
    """What an H200 must reach and may reach: only beside numbers of an H200."""
    if not applies_to(str(run.device["name"])) or kind == "prefill":
        return []
    if kind == "write":
        return [("must us", lambda case: f"{case.bytes / WRITE_RATE * 1e6:,.1f}")]

    def within(entry: Measurement) -> str:
        lines = {"law": LAW, "must": MUST}
        held = [name for name, line in lines.items() if entry.spread.median <= line.seconds(entry.bytes)]
        return held[0] if held else "no"

    law: Column = ("law us", lambda case: f"{LAW.seconds(case.bytes) * 1e6:,.1f}")
    must: Column = ("must us", lambda case: f"{MUST.seconds(case.bytes) * 1e6:,.1f}")
    return [law, must, ("within", of(KERNEL, within))]


def _others(run: Run, kind: str, of: Callable[..., Callable[[Case], str]]) -> list[Column]:
    """Systems that came in from outside, such as a learner's kernel."""
    known = {KERNEL, CONTIGUOUS, SDPA, GATHER, COPY}
    names = {entry.system: None for entry in run.measurements if entry.case.kind == kind and entry.system not in known}
    return [(f"{name} us", of(name, _us)) for name in names]


def _us(entry: Measurement) -> str:
    return f"{entry.spread.median * 1e6:,.1f}"


def _ends(entry: Measurement) -> str:
    return f"{entry.spread.p10 * 1e6:,.1f}-{entry.spread.p90 * 1e6:,.1f}"


def _rate(entry: Measurement) -> str:
    return f"{entry.rate / 1e9:,.0f}"


def _operations(entry: Measurement) -> str:
    return f"{entry.case.operations / entry.spread.median / 1e12:,.0f}"


def _text(columns: list[Column], cases: list[Case]) -> str:
    rows = [[name for name, _ in columns], *([cell(case) for _, cell in columns] for case in cases)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _left_out(run: Run) -> str:
    """Reasons with the number of cases each, since most are the same for many."""
    reasons: dict[tuple[str, str], list[Case]] = {}
    for entry in run.left_out:
        reasons.setdefault((entry.system, entry.why), []).append(entry.case)
    return "\n".join(["left out", *(_reason(*key, cases) for key, cases in reasons.items())])


def _reason(system: str, why: str, cases: Iterable[Case]) -> str:
    cases = list(cases)
    where = cases[0].name if len(cases) == 1 else f"{len(cases)} cases, the first {cases[0].name}"
    return f"  {system}: {why} ({where})"
