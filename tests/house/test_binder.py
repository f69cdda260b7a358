"""What repo2docker reads in binder/ is valid, and agrees with the rest of the house."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.house.project import ROOT, pins, project


def requirements(root: Path) -> tuple[list[str], list[Requirement]]:
    """The options and the packages of binder/requirements.txt."""
    lines = (root / "binder" / "requirements.txt").read_text().splitlines()
    lines = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [line for line in lines if line.startswith("-")], [Requirement(line) for line in lines if line[0] != "-"]


def test_the_runtime_is_a_python_that_kvlab_runs_on(root: Path) -> None:
    name, _, version = (root / "binder" / "runtime.txt").read_text().strip().partition("-")
    assert name == "python" and version in SpecifierSet(project()["requires-python"])


def test_every_requirement_is_pinned_by_the_constraints_it_names(root: Path) -> None:
    options, packages = requirements(root)
    assert options == ["--constraint ../constraints.txt"] and (root / "binder" / "../constraints.txt").exists()
    assert packages and {canonicalize_name(package.name) for package in packages} <= set(pins())


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize("no_torch", ["0", "1"])
def test_the_post_build_step_runs_to_its_end(root: Path, tmp_path: Path, no_torch: str) -> None:
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho "$*" >> "$LOG"\ncase "$*" in *--index-url*) exit $NO_TORCH;; esac\n')
    fake.chmod(0o755)
    script = root / "binder" / "postBuild"
    assert os.access(script, os.X_OK)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LOG": str(tmp_path / "log")}
    subprocess.run(["bash", script], cwd=root, env=environment | {"NO_TORCH": no_torch}, check=True, timeout=30)
    asked = (tmp_path / "log").read_text().splitlines()
    assert all("--constraint constraints.txt" in line for line in asked if "pip install" in line)
    assert asked[-1] == "-m kvlab start my-labs --no-lab"


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(("set_before", "threads"), [({}, "1"), ({"OMP_NUM_THREADS": "2"}, "2")])
def test_the_server_starts_with_one_thread_unless_told_otherwise(root: Path, set_before: dict, threads: str) -> None:
    script = root / "binder" / "start"
    assert os.access(script, os.X_OK)
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"} | set_before
    command = [script, "sh", "-c", 'echo "$OMP_NUM_THREADS $1"', "-", "two words"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == f"{threads} two words\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from Linux's /proc")
def test_the_memory_of_a_process_and_of_its_children_is_added_up() -> None:
    tool = runpy.run_path(str(ROOT / "binder" / "memory.py"))
    hold = "import time; kept = bytearray(60_000_000); print(flush=True); time.sleep(60)"
    nest = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {hold!r}]); time.sleep(60)"
    parent = subprocess.Popen([sys.executable, "-c", nest], stdout=subprocess.PIPE)
    process = psutil.Process(parent.pid)
    try:
        assert parent.stdout and parent.stdout.readline() == b"\n"
        assert 60_000_000 < tool["tree_bytes"](process) < 200_000_000
    finally:
        for member in [*process.children(), process]:
            member.kill()
        parent.wait(30)
    assert tool["tree_bytes"](process) == 0
