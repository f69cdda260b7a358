"""`kvlab bench`: what it says where there is no GPU, and what it makes of a run that was stored."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.image import imread

from kvlab.bench import Case, Measurement, Run, Spread, checkout, where, write
from kvlab.cli import bench
from kvlab.mode import Mode
from tests.cli.conftest import Said

Command = Callable[..., Said]
MEASURES = ("decode", "prefill", "write", "all")
DEVICE = "a device invented for tests"


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def stored(here: Path) -> Path:
    """A run that nobody measured, in a file."""
    case = Case("decode", 8, 16384)
    found = Measurement(case, "kvlab", case.bytes, Spread(2e-4, 1.9e-4, 2.2e-4, 20), 0.001)
    write(Run({"name": DEVICE, "gpu": True}, {"kvlab": "0"}, "2000-01-01", {}, [found]), here / "run.json")
    return here / "run.json"


@pytest.mark.parametrize("what", MEASURES)
def test_without_a_gpu_it_says_what_it_cannot_measure_and_ends_with_status_3(kvlab: Command, what: str) -> None:
    said = kvlab("bench", what, "--json", "run.json")
    assert (said.code, said.out) == (3, "") and not Path("run.json").exists()
    obstacle = "that takes an NVIDIA GPU, and there is none here."
    assert said.err.startswith(f"kvlab: kvlab bench {what} cannot measure {where.WHAT[what]}: {obstacle}")
    assert said.err.count("\n") == 1 and "kvlab bench memory" in said.err


def test_each_obstacle_has_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    told = set()
    for name in ("no torch", "cpu torch", "interpreter"):
        monkeypatch.setattr(where, "mode", lambda name=name: Mode(name, "", ()))
        told.add(where.why_not("decode"))
    monkeypatch.setattr(where, "_has_gpu", lambda: True)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    told.add(where.why_not("decode"))
    assert len(told) == 4 and all(sentence.endswith(".") for sentence in told)
    monkeypatch.setattr(where, "mode", lambda: Mode("gpu", "", ()))
    monkeypatch.setattr(where, "installed", lambda module: module != "triton")
    assert "no Triton" in (where.why_not("decode") or "")


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "decoding",
        "decode --batch 1,x",
        "decode --batch 0",
        "decode --dtype int4",
        "decode --context 4k,",
        "write --group 4",
        "report",
        "memory --only nothing",
    ],
)
def test_wrong_use_is_a_sentence_and_status_2(kvlab: Command, typed: str) -> None:
    said = kvlab("bench", *typed.split())
    assert said.code == 2 and said.err.count("\n") == 1


def test_sizes_are_numbers_with_k_for_1024() -> None:
    assert bench.numbers("1,16,4k,64K") == [1, 16, 4096, 65536]
    assert bench.dtypes("bf16,fp8") == ["bf16", "fp8"]
    with pytest.raises(argparse.ArgumentTypeError, match='"k" is no number'):
        bench.numbers("k")


def test_named_sizes_reach_the_cases() -> None:
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    typed = "decode --batch 2 --context 1k --block-size 32 --group 8 --dtype fp8".split()
    assert bench._cases(parser.parse_args(typed)) == [Case("decode", 2, 1024, 1, 32, 32, 4, dtype="fp8")]
    prefills = bench._cases(parser.parse_args("prefill --block-size 64 --dtype bf16".split()))
    assert {(case.kind, case.block_size, case.dtype) for case in prefills} == {("prefill", 64, "bf16")}
    kinds = {case.kind for case in bench._cases(parser.parse_args(["all"]))}
    assert kinds == {"decode", "prefill", "write"}


def test_a_stored_run_is_reported_with_its_device_and_drawn(kvlab: Command, stored: Path) -> None:
    said = kvlab("bench", "report", "run.json", "--plot", "roofline.png")
    assert said.code == 0 and said.out.startswith(f"{DEVICE}, measured 2000-01-01")
    assert "2,684" in said.out and "190.0-220.0" in said.out and "The figure is in roofline.png." in said.out
    height, width = imread(io.BytesIO(Path("roofline.png").read_bytes())).shape[:2]
    assert width == 1200 and height > 600


def test_a_file_that_holds_no_run_is_named(kvlab: Command, here: Path) -> None:
    (here / "run.json").write_text("[1, 2]")
    said = kvlab("bench", "report", "run.json")
    assert said.code == 1 and said.err.startswith("kvlab: run.json cannot be read: this is no kvlab bench of format 1")
    assert kvlab("bench", "report", "no.json").code == 1


@pytest.mark.parametrize("option", ["--json no/run.json", "--plot no/figure.png", "--plot ."])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(kvlab: Command, option: str) -> None:
    said = kvlab("bench", "decode", *option.split())
    assert said.code == 2 and "cannot be written" in said.err


# -- the benchmarks of the CPU


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with two benchmarks: one leaves its mark, the other fails."""
    root = tmp_path / "clone"
    folder = root / "tests" / "benchmarks"
    folder.mkdir(parents=True)
    (root / "pyproject.toml").touch()
    (folder / "bench_mark.py").write_text("import pathlib\npathlib.Path('mark').touch()\n")
    (folder / "bench_broken.py").write_text("raise SystemExit(5)\n")
    monkeypatch.setattr(checkout, "ROOT", root)
    return root


def test_the_cpu_benchmarks_of_the_clone_are_the_ones_that_make_bench_runs(root: Path) -> None:
    names = {path.stem.removeprefix("bench_") for path in (root / "tests" / "benchmarks").glob("bench_*.py")}
    assert set(checkout.benchmarks()) == names >= {"memory", "engine"}


def test_each_cpu_benchmark_runs_in_the_clone_and_a_failed_one_is_named(kvlab: Command, clone: Path) -> None:
    said = kvlab("bench", "memory")
    assert said.code == 1 and said.err == "kvlab: broken did not run to the end; what it said stands above.\n"
    assert (clone / "mark").exists()


def test_one_cpu_benchmark_can_be_asked_for(kvlab: Command, clone: Path) -> None:
    said = kvlab("bench", "memory", "--only", "mark")
    assert said.code == 0 and (clone / "mark").exists() and "bench_broken" not in said.out


def test_an_installed_package_says_that_it_carries_no_benchmarks(
    kvlab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    said = kvlab("bench", "memory")
    assert said.code == 3 and "carries no tests" in said.err and "clone" in said.err
