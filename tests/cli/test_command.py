"""The command itself: help, unknown names, exit statuses, `doctor` and `progress`."""

from __future__ import annotations

import builtins
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kvlab as package
from kvlab.cli import doctor, main, places
from tests.cli.conftest import Course, Said
from tests.cli.test_reset import passes

Command = Callable[..., Said]
FACTS = ("kvlab", "python", "system", "machine", "gpu", "torch", "triton", "transformers", "numpy", "jupyterlab")
FACTS += ("ipywidgets", "nbval", "labs", "progress", "mode", "cannot check")


def report(said: Said) -> dict[str, str]:
    """The lines of the doctor's block, by name."""
    return {line[:13].strip(): line[13:].strip() for line in said.out.splitlines()}


def test_without_a_command_it_says_what_there_is(kvlab: Command) -> None:
    said = kvlab()
    assert said.code == 0 and all(name in said.out for name in main.COMMANDS)
    assert kvlab("--help").out == kvlab("help").out == said.out


def test_it_knows_its_version(kvlab: Command) -> None:
    assert kvlab("--version").out == f"kvlab {package.__version__}\n"


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_command_explains_itself(kvlab: Command, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main.main([command, "--help"])
    assert left.value.code == 0 and main.COMMANDS[command].split(",")[0] in capsys.readouterr().out


@pytest.mark.parametrize(("typed", "meant"), [("strat", "start"), ("docter", "doctor"), ("catchup", "catch-up")])
def test_a_mistyped_command_gets_the_nearest(kvlab: Command, typed: str, meant: str) -> None:
    said = kvlab(typed)
    assert (said.code, said.err) == (2, f'kvlab: There is no command "{typed}". Did you mean {meant}?\n')


@pytest.mark.parametrize("typed", ["reset", "start --prot 8", "start --port x", "doctor -- x", "reset a b"])
def test_wrong_use_is_one_sentence_and_status_2(kvlab: Command, typed: str) -> None:
    said = kvlab(*typed.split())
    assert said.code == 2 and said.err.count("\n") == 1 and said.err.startswith("kvlab: ")


@pytest.mark.parametrize("typed", ["reset price", "catch-up 02", "progress"])
def test_without_a_folder_of_labs_the_way_to_one_is_told(kvlab: Command, typed: str) -> None:
    said = kvlab(*typed.split())
    assert said.code == 1 and "kvlab start" in said.err


@pytest.mark.parametrize("typed", ["reset price --dir no", "progress no", "catch-up 2 --dir no"])
def test_a_folder_that_is_not_there_is_named(kvlab: Command, typed: str) -> None:
    assert kvlab(*typed.split()).err == "kvlab: There is no folder no. Make it with: kvlab start no\n"


def test_an_interrupt_is_no_traceback(kvlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "run", interrupted)
    assert kvlab("doctor").code == 130


# -- doctor


def test_doctor_prints_every_fact_in_one_block(kvlab: Command, mine: Path) -> None:
    said = kvlab("doctor")
    lines = report(said)
    assert said.code == 0 and tuple(lines) == FACTS and all(lines.values())
    assert lines["labs"] == "3 of 3 in my-labs, writable" and lines["progress"] == "nothing recorded yet"


def test_doctor_counts_what_passed(kvlab: Command, mine: Path) -> None:
    passes(mine, "price", "count")
    assert report(kvlab("doctor"))["progress"] == "2 exercises passed, in my-labs/kvlab-progress.json"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 999}'])
def test_doctor_leaves_a_damaged_progress_file_where_it_is(kvlab: Command, mine: Path, content: bytes) -> None:
    (mine / "kvlab-progress.json").write_bytes(content)
    before = sorted(path.name for path in mine.iterdir())
    assert "damaged or of a newer kvlab" in report(kvlab("doctor"))["progress"]
    assert sorted(path.name for path in mine.iterdir()) == before
    assert (mine / "kvlab-progress.json").read_bytes() == content


def test_doctor_says_when_progress_stays_in_memory(kvlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVLAB_PROGRESS", "off")
    assert "memory only" in report(kvlab("doctor"))["progress"]


def test_doctor_warns_of_a_read_only_folder(kvlab: Command, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda path, how: False)
    assert "NOT writable" in report(kvlab("doctor"))["labs"]


def test_doctor_answers_when_every_look_fails(kvlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> str:
        raise RuntimeError("nothing works")

    for name in ("_version", "_python", "_system", "_machine", "_gpu", "_package", "_labs", "_progress", "mode"):
        monkeypatch.setattr(doctor, name, broken)
    said = kvlab("doctor")
    assert said.code == 0 and set(report(said).values()) == {"unknown (RuntimeError: nothing works)"}


def test_doctor_answers_without_labs_or_course(kvlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_PACKAGE", Path("/nowhere"))
    real = builtins.__import__

    def without_course(name: str, *rest: object, **more: object) -> object:
        if name.startswith(("kvlab.course", "kvlab.cli.progress")):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_course)
    lines = report(kvlab("doctor"))
    assert tuple(lines) == FACTS and lines["progress"].startswith("unknown (ImportError")


def test_doctor_names_the_gpu_from_nvidia_smi(kvlab: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(package, "has_gpu", lambda: True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "does not answer" in report(kvlab("doctor"))["gpu"]
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA X100, 80 GB, 600.1'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert report(kvlab("doctor"))["gpu"] == "NVIDIA X100, 80 GB, 600.1"


def test_doctor_imports_none_of_what_it_reports() -> None:
    code = "import sys; from kvlab.cli.main import main; main(['doctor']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, timeout=60)
    loaded = done.stdout.splitlines()[-1].split()
    assert not {"torch", "triton", "transformers", "jupyterlab", "ipywidgets", "matplotlib"} & set(loaded)


# -- progress


def test_progress_prints_what_a_notebook_does(kvlab: Command, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overview = importlib.import_module("kvlab.course.overview")
    session = importlib.import_module("kvlab.course.session")
    passes(mine, "round_up_to_block")
    said = kvlab("progress")
    monkeypatch.setenv("KVLAB_PROGRESS", str(mine / "kvlab-progress.json"))
    session.restart()
    assert said.out == f"{overview.progress()}\n"
    assert said.code == 0 and "✓ round_up_to_block" in said.out


def test_progress_of_a_named_folder_goes_before_the_environment(
    kvlab: Command, mine: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes(mine, "round_up_to_block")
    monkeypatch.setenv("KVLAB_PROGRESS", str(here / "elsewhere.json"))
    assert "✓ round_up_to_block" not in kvlab("progress").out
    assert "✓ round_up_to_block" in kvlab("progress", "my-labs").out


def test_the_module_runs_as_the_command_does(here: Path, course: Course) -> None:
    command = [sys.executable, "-m", "kvlab", "docter"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert done.returncode == 2 and "Did you mean doctor?" in done.stderr
