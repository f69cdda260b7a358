"""The benchmark of virtual memory runs and reports; what it measures decides nothing here."""

from __future__ import annotations

import json
import sys

import pytest

from tests.benchmarks import bench_virtual


@pytest.mark.benchmark
@pytest.mark.skipif(sys.platform != "linux", reason="this is the memory of Linux")
def test_the_benchmark_of_virtual_memory_runs_and_reports(capsys, monkeypatch, tmp_path) -> None:
    figures = tmp_path / "figures.json"
    monkeypatch.setattr("sys.argv", ["bench_virtual", "--rounds", "1", "--requests", "2", "--json", str(figures)])
    bench_virtual.main()
    printed = capsys.readouterr().out
    assert all(name in printed for name in bench_virtual.SYSTEMS)
    assert all(time > 0 for row in json.loads(figures.read_text()).values() for time in row.values())
