"""The benchmark of the bounds guard runs and reports; what it measures decides nothing here."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import bench_guard


@pytest.mark.benchmark
def test_the_guards_benchmark_runs_and_reports(capsys, monkeypatch, tmp_path) -> None:
    figures = tmp_path / "figures.json"
    monkeypatch.setattr("sys.argv", ["bench_guard", "--rounds", "1", "--json", str(figures)])
    bench_guard.main()
    printed = capsys.readouterr().out
    assert all(name in printed for name in bench_guard.loads())
    assert all(time > 0 for row in json.loads(figures.read_text()).values() for time in row.values())
