"""What repo2docker reads in binder/ is valid, and agrees with the rest of the house."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.house.project import pins, project


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
