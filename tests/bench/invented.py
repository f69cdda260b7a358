"""Runs invented for tests: nobody measured them, and their device says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvlab.bench import Case, Measurement, Run, Spread
from kvlab.bench.record import COPY, KERNEL

NOWHERE = "a device invented for tests"


def took(case: Case, system: str, seconds: float, difference: float | None = None) -> Measurement:
    """One system that took `seconds`, give or take a tenth."""
    return Measurement(case, system, case.bytes, Spread(seconds, 0.9 * seconds, 1.1 * seconds, 20), difference)


def run_of(measurements: Iterable[Measurement] = (), device: str = NOWHERE) -> Run:
    """A run with these measurements."""
    facts = {"name": device, "gpu": True}
    return Run(facts, {"kvlab": "0", "torch": "0"}, "2000-01-01T00:00:00+00:00", {}, list(measurements))


def steady(cases: Iterable[Case], seconds: Callable[[int], float], device: str = NOWHERE) -> Run:
    """Our kernel takes `seconds(bytes)` on each case, and a copy four fifths of it."""
    found = []
    for case in cases:
        found += [took(case, KERNEL, seconds(case.bytes), 0.001), took(case, COPY, 0.8 * seconds(case.bytes))]
    return run_of(found, device)
