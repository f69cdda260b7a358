"""On a GPU: the clock, and every system of a small case. Collected only where there is one."""

from __future__ import annotations

import pytest
import torch

from kvlab.bench import Case, measure
from kvlab.bench.record import KERNEL
from kvlab.bench.targets import TOLERANCE

pytestmark = pytest.mark.gpu
CASES = [
    Case(kind, 4, 1000, queries, dtype=dtype)
    for dtype in ("bf16", "fp8")
    for kind, queries in (("decode", 1), ("prefill", 300), ("write", 300))
]


def test_every_system_runs_and_agrees_on_every_kind_of_case() -> None:
    run = measure(CASES, memory=2**31)
    assert not [entry for entry in run.left_out if entry.why.startswith("it failed")]
    assert all(run.find(case, KERNEL) for case in CASES) and run.device["gpu"]
    assert all(found.difference is None or found.difference < TOLERANCE for found in run.measurements)


def test_the_clock_sees_how_long_the_device_works_and_not_how_long_the_host_launches() -> None:
    from kvlab.bench.gpu import CudaClock

    clock, large = CudaClock(torch.device("cuda")), torch.zeros(2**28, dtype=torch.uint8, device="cuda")
    call = lambda: [large.add_(1) for _ in range(20)]  # noqa: E731
    host = clock.host(call)
    few, many = clock.samples(lambda: large.add_(1), 5, host), clock.samples(call, 5, host)
    assert 10 < sorted(many)[2] / sorted(few)[2] < 40
