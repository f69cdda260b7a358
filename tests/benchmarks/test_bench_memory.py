"""The benchmark of the block manager runs and reports; what it measures decides nothing here."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import bench_memory


@pytest.mark.benchmark
def test_the_block_manager_benchmark_runs_on_a_small_load(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(bench_memory, "RUNNING", 8)
    figures = tmp_path / "figures.json"
    monkeypatch.setattr("sys.argv", ["bench_memory", "--requests", "20", "--rounds", "1", "--json", str(figures)])
    bench_memory.main()
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("admit", "append", "free", "kvlab", "floor", "fork", "append with a copy"))
    timings = json.loads(figures.read_text())
    assert all(value > 0 for row in timings.values() for value in row.values())


@pytest.mark.benchmark
def test_all_systems_serve_the_load_and_agree_on_where_a_token_may_lie() -> None:
    load = bench_memory.make_load(12)
    for name, make in bench_memory.SYSTEMS.items():
        try:
            system = make()
        except ImportError:
            pytest.skip(f"{name} is not installed")
        slots: set[int] = set()
        for number, request in enumerate(load):
            system.admit(number, request.tokens)
        for _ in range(40):
            for number in range(len(load)):
                slots.add(system.append(number))
        assert len(slots) == 40 * len(load), name  # no slot is given twice
        for number in range(len(load)):
            system.free(number)
