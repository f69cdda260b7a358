"""The benchmarks of the scheduler and the simulator run and report; the bounds are generous."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import bench_scheduler, bench_simulate


@pytest.mark.benchmark
def test_planning_takes_microseconds_a_token_with_blocks_in_plenty_and_without(capsys, tmp_path) -> None:
    bench_scheduler.main(["--requests", "60", "--rounds", "1", "--json", str(tmp_path / "figures.json")])
    assert "pressed, swapping" in capsys.readouterr().out
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert len(figures) == 9 and all(0 < value < 100 for value in figures.values())
    assert figures["share of a step"] < 0.2  # generous: 3% where nothing else runs


@pytest.mark.benchmark
def test_both_modes_of_the_simulator_agree_and_jumps_are_faster(capsys, tmp_path) -> None:
    bench_simulate.main(["--requests", "300", "--rounds", "1", "--json", str(tmp_path / "figures.json")])
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert "in jumps" in capsys.readouterr().out
    assert figures["step by step"] > 200 and figures["in jumps"] > figures["step by step"]
