"""The kernels as the benchmark calls them, in Triton's interpreter. Collected only where that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kvlab.bench import Case, measure
from kvlab.bench.grid import all_cases
from kvlab.bench.record import CONTIGUOUS, KERNEL
from kvlab.bench.spread import CpuClock
from kvlab.bench.systems import kernel, kernel_contiguous
from kvlab.bench.targets import TOLERANCE
from tests.kernels.running import patched_once


class Once(CpuClock):
    """The interpreter is slow and its times mean nothing: each call is timed once."""

    def samples(self, call, repeats, host):
        return [self.host(call)]


@pytest.fixture(scope="module")
def run():
    attention = {KERNEL: kernel, CONTIGUOUS: kernel_contiguous}
    systems = {"decode": attention, "prefill": attention, "write": {KERNEL: kernel}}
    types = {"fp16": "fp16", "fp8": "fp16"}
    cases = [
        Case(kind, 2, 40, queries, 16, 8, 2, 32, dtype, source)
        for dtype, source in types.items()
        for kind, queries in (("decode", 1), ("prefill", 5), ("write", 5))
    ]
    with patched_once():
        return measure(cases, device="cpu", clock=Once(), systems=systems)


@pytest.mark.parametrize("kind", ["decode", "prefill", "write"])
@pytest.mark.parametrize("dtype", ["fp16", "fp8"])
def test_the_kernel_gives_on_pages_what_torch_gives_in_one_piece(run, kind, dtype) -> None:
    (found,) = [found for found in run.of(kind) if found.case.dtype == dtype]
    assert found.difference < TOLERANCE / 10


@pytest.mark.parametrize("kind", ["decode", "prefill"])
def test_the_same_kernel_runs_on_memory_in_one_piece(run, kind) -> None:
    (found,) = run.of(kind, CONTIGUOUS)
    assert found.difference < TOLERANCE / 10


def test_nothing_failed(run) -> None:
    assert {entry.why for entry in run.left_out} == {"contiguous memory is measured in the type of the queries"}


def test_every_case_of_bench_all_is_one_that_the_launchers_take(root) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "TRITON_INTERPRET": "0"}
    command = [sys.executable, "-m", "tests.bench.launches"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    launches = json.loads(done.stdout)
    assert set(launches) == {case.name for case in all_cases()} and min(launches.values()) >= 1
