"""The benchmark of the tiers runs and reports, and counts what must be so; its times decide nothing here."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import bench_tiers


@pytest.mark.benchmark
def test_the_tier_benchmark_runs_and_every_kind_of_tier_gives_the_same_answers(capsys, monkeypatch, tmp_path) -> None:
    figures = tmp_path / "figures.json"
    sizes = ["--users", "3", "--turns", "2", "--blocks", "16", "--longest", "64", "--rounds", "1"]
    monkeypatch.setattr("sys.argv", ["bench_tiers", *sizes, "--json", str(figures)])
    bench_tiers.main()
    printed = capsys.readouterr().out
    rows = json.loads(figures.read_text())
    assert set(rows) == set(bench_tiers.KINDS) and all(kind in printed for kind in rows)
    for row in rows.values():
        without, tiered = row["computed"]
        assert row["same answers"] and tiered < without / 3 and row["first token"] > 0
        assert set(row["reload"]) == {"16", "32", "64"} and all(ratio > 0 for ratio in row["reload"].values())
