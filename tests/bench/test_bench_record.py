"""Runs in files: whole or refused, and those that ship say where they come from."""

from __future__ import annotations

import copy
import json

import pytest
from invented import NOWHERE, run_of, steady, took

from kvlab import bench
from kvlab.bench.record import KERNEL, LeftOut
from kvlab.bench.store import MEASURED
from kvlab.errors import UsageError

CASE = bench.Case("decode", 2, 64)


def test_a_run_comes_back_from_its_file_as_it_was(tmp_path) -> None:
    run = steady(bench.few(), lambda size: size / 1e12)
    run.left_out.append(LeftOut(CASE, KERNEL, "it failed"))
    bench.write(run, tmp_path / "run.json")
    assert bench.read(tmp_path / "run.json") == run
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert run.cases == [*bench.few(), CASE]


def test_a_rate_is_bytes_over_the_median() -> None:
    assert took(CASE, KERNEL, 0.5).rate == 2 * CASE.bytes


def broken(**changes):
    data = run_of([took(CASE, KERNEL, 1.0)]).to_json()
    return copy.deepcopy(data) | changes


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        broken(format=2),
        broken(kind="another"),
        broken(device={}),
        broken(device={"name": ""}),
        broken(measurements=[{}]),
        broken(measurements=None),
        broken(left_out=[{"case": {"kind": "decode"}, "system": "x", "why": "y"}]),
        broken(measurements=[took(CASE, KERNEL, -1.0).__dict__ | {"case": {}, "spread": {}}]),
    ],
)
def test_what_is_no_complete_run_is_refused_with_the_files_name(data, tmp_path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="run.json cannot be read"):
        bench.read(tmp_path / "run.json")


def test_times_that_no_clock_gives_are_refused(tmp_path) -> None:
    data = broken()
    data["measurements"][0]["spread"] |= {"p10": 3.0, "median": 2.0}
    with pytest.raises(UsageError, match="no spread of times"):
        bench.Run.from_json(data)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UsageError, match="run.json"):
        bench.read(tmp_path / "run.json")


def test_what_ships_was_measured_on_a_real_gpu_and_says_on_which() -> None:
    runs = bench.stored()
    assert len(runs) == len(list(MEASURED.glob("*.json")))
    for run in runs:
        assert run.device["gpu"] and run.device["name"] != NOWHERE and run.settings["clock"] == "CudaClock"
        assert {"kvlab", "python", "torch", "triton", "cuda", "driver"} <= set(run.versions)
        assert run.of("decode") and all(found.spread.repeats >= 3 for found in run.measurements)
    assert (MEASURED / "README.md").exists()


def test_stored_runs_are_read_in_the_order_of_their_names(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(bench.store, "MEASURED", tmp_path)
    assert bench.stored() == []
    for name in ("b", "a"):
        bench.write(run_of([took(CASE, KERNEL, 1.0)], f"{NOWHERE} {name}"), tmp_path / f"{name}.json")
    assert [run.device["name"] for run in bench.stored()] == [f"{NOWHERE} a", f"{NOWHERE} b"]
