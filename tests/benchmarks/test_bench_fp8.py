"""The benchmark of FP8 on the CPU runs and reports; what it measures decides nothing here."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import bench_fp8


@pytest.mark.benchmark
def test_the_fp8_benchmark_runs_and_reports(capsys, monkeypatch, tmp_path) -> None:
    figures = tmp_path / "figures.json"
    sizes = ["--rounds", "1", "--sequences", "2", "--context", "40"]
    monkeypatch.setattr("sys.argv", ["bench_fp8", *sizes, "--json", str(figures)])
    bench_fp8.main()
    printed = capsys.readouterr().out
    assert all(kind in printed for kind in bench_fp8.KINDS)
    assert set(json.loads(figures.read_text())) == set(bench_fp8.KINDS)
