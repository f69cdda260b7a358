"""The benchmark of the prefix caches runs and reports, and its systems find the same; its times decide nothing here."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import bench_prefix


@pytest.mark.benchmark
def test_the_prefix_benchmark_runs_and_all_who_share_find_the_same(capsys, monkeypatch, tmp_path) -> None:
    figures = tmp_path / "figures.json"
    monkeypatch.setattr("sys.argv", ["bench_prefix", "--requests", "40", "--rounds", "1", "--json", str(figures)])
    bench_prefix.main()
    printed = capsys.readouterr().out
    costs = json.loads(figures.read_text())
    assert all(name in printed for name in (*costs, *bench_prefix.LOADS))
    assert all(cost["microseconds"] > 0 for row in costs.values() for cost in row.values())
    for load in bench_prefix.LOADS:
        hits = {name: row[load]["hits"] for name, row in costs.items() if name != "no cache"}
        assert len(set(hits.values())) == 1, hits
        assert all((share > 0.5) == (load != "no sharing") for share in hits.values())
