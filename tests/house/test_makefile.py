"""The Makefile's decisions, with a Python that only writes down what it was asked to do."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")

# Stands in for python3 and for the one in .venv. Each answer can be switched by an environment variable.
FAKE = """#!/bin/sh
echo "$*" >> "$LOG"
case "$*" in
  *version_info*) exit ${TOO_OLD:-0};;
  *ensurepip*) exit ${NO_VENV:-0};;
  *has_gpu*) exit ${GPU:-0};;
  "-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python;;
  -V) echo "Python 3.9.18";;
  *--index-url*) exit ${NO_CPU_INDEX:-0};;
  *"[lab,dev]"*) exit ${NO_PACKAGES:-0};;
  *"[torch]"*) exit ${NO_TRITON:-0};;
  *" torch"*) exit ${NO_TORCH:-0};;
esac
"""


@dataclass
class Clone:
    """A folder with the Makefile and the stand-in."""

    folder: Path

    def make(self, *goals: str, **answers: int | str) -> subprocess.CompletedProcess[str]:
        """Run make with the stand-in's answers set."""
        settings = {key: str(value) for key, value in answers.items()}
        environment = {"PATH": os.environ["PATH"], "LOG": str(self.folder / "log")} | settings
        command = ["make", f"PYTHON={self.folder / 'python3'}", *goals]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60)

    def asked(self) -> list[str]:
        """What the stand-in was asked since the last look."""
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.write_text("")
        return lines

    def installs(self) -> list[str]:
        """The pip installs among it."""
        return [line for line in self.asked() if "-m pip" in line]


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Clone:
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(root / name, folder / name)
    (folder / "python3").write_text(FAKE)
    (folder / "python3").chmod(0o755)
    return Clone(folder)


@pytest.fixture
def plain(clone: Clone, tmp_path: Path) -> Clone:
    """The same under a path without spaces, which PYTHON= needs."""
    return Clone(clone.folder.rename(tmp_path / "clone"))


def test_make_alone_says_what_there_is_and_installs_nothing(plain: Clone) -> None:
    said = plain.make()
    assert "make lab" in said.stdout and "make test" in said.stdout
    assert plain.asked() == []


def test_make_lab_sets_up_with_the_constraints_and_then_starts(plain: Clone) -> None:
    assert plain.make("lab", "LAB_ARGS=--no-browser --port 8899").returncode == 0
    asked = plain.asked()
    installs = [line for line in asked if "-m pip" in line]
    assert asked.index("-m venv --clear .venv") < asked.index(installs[0])
    assert all("--constraint constraints.txt" in line for line in installs)
    assert asked[-1] == "-m kvlab start my-labs --no-browser --port 8899"


def test_the_second_run_installs_nothing(plain: Clone) -> None:
    plain.make("lab")
    plain.asked()
    assert plain.make("lab").returncode == 0
    assert plain.asked() == ["-m kvlab start my-labs"]


def test_changed_constraints_are_installed_without_making_the_environment_anew(plain: Clone) -> None:
    plain.make("setup")
    plain.asked()
    later = (plain.folder / ".venv" / ".torch").stat().st_mtime + 10
    os.utime(plain.folder / "constraints.txt", (later, later))
    plain.make("setup")
    asked = plain.asked()
    assert any("[lab,dev]" in line for line in asked) and not any("venv --clear" in line for line in asked)


def test_a_moved_clone_gets_a_new_environment(plain: Clone, tmp_path: Path) -> None:
    plain.make("setup")
    moved = Clone(plain.folder.rename(tmp_path / "moved"))
    moved.asked()
    moved.make("setup")
    assert "-m venv --clear .venv" in moved.asked()


def test_without_a_gpu_the_cpu_index_is_asked_first(plain: Clone) -> None:
    plain.make("setup")
    first, second = [line for line in plain.installs() if "torch" in line]
    assert "--index-url https://download.pytorch.org/whl/cpu" in first and "--no-deps" in first
    assert "[torch]" in second and "--index-url" not in second


def test_without_the_cpu_index_the_default_index_is_used(plain: Clone) -> None:
    assert plain.make("setup", NO_CPU_INDEX=1).returncode == 0
    assert "[torch]" in plain.installs()[-1]


def test_with_a_gpu_only_the_default_index_is_used(plain: Clone) -> None:
    plain.make("setup", GPU=1)
    assert not any("--index-url" in line for line in plain.installs())


def test_where_triton_has_no_build_torch_is_installed_alone(plain: Clone) -> None:
    said = plain.make("setup", NO_TRITON=1)
    assert said.returncode == 0 and "could not" not in said.stdout
    assert plain.installs()[-1].endswith(" torch")


def test_without_any_torch_the_labs_open_all_the_same(plain: Clone) -> None:
    said = plain.make("lab", NO_CPU_INDEX=1, NO_TRITON=1, NO_TORCH=1)
    assert said.returncode == 0
    assert "torch could not be installed. Labs 00-03 run without it; 'make torch' tries again." in said.stdout
    assert plain.asked()[-1] == "-m kvlab start my-labs"


def test_make_torch_tries_again(plain: Clone) -> None:
    plain.make("setup", NO_CPU_INDEX=1, NO_TRITON=1, NO_TORCH=1)
    plain.asked()
    assert plain.make("torch").returncode == 0
    assert any("[torch]" in line for line in plain.installs())


def test_a_failed_download_stops_with_a_sentence_and_goes_on_next_time(plain: Clone) -> None:
    said = plain.make("lab", NO_PACKAGES=1)
    assert said.returncode != 0 and "the same command picks up where it stopped" in said.stdout
    plain.asked()
    assert plain.make("lab").returncode == 0
    assert not any("venv --clear" in line for line in plain.asked())


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [({"TOO_OLD": 1}, "Python 3.9.18, and the course needs 3.11"), ({"NO_VENV": 1}, "apt install python3-venv")],
)
def test_an_unfit_python_is_refused_in_a_sentence(plain: Clone, answers: dict[str, int], sentence: str) -> None:
    said = plain.make("lab", **answers)
    assert said.returncode != 0 and sentence in said.stdout
    assert not (plain.folder / ".venv").exists()


def test_a_missing_python_is_named(plain: Clone) -> None:
    (plain.folder / "python3").unlink()
    said = plain.make("lab")
    assert said.returncode != 0 and "was not found. Install Python 3.11 or newer" in said.stdout


def test_a_clone_in_a_folder_with_spaces_works(clone: Clone) -> None:
    command = ["make", "PYTHON=./python3", "lab"]
    environment = {"PATH": os.environ["PATH"], "LOG": str(clone.folder / "log")}
    assert subprocess.run(command, cwd=clone.folder, env=environment, capture_output=True, timeout=60).returncode == 0
    clone.asked()
    assert subprocess.run(command, cwd=clone.folder, env=environment, capture_output=True, timeout=60).returncode == 0
    assert clone.asked() == ["-m kvlab start my-labs"]
