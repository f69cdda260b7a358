"""The CPU benchmarks, which live among the tests and so in a clone only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import kvlab

ROOT = Path(kvlab.__file__).resolve().parent.parent


def benchmarks() -> list[str]:
    """The names of tests/benchmarks/bench_NAME.py, in order; none in an installed package."""
    found = sorted((ROOT / "tests" / "benchmarks").glob("bench_*.py"))
    return [path.stem.removeprefix("bench_") for path in found if (ROOT / "pyproject.toml").exists()]


def run_benchmarks(names: Iterable[str]) -> list[str]:
    """Run them one after the other, each in a process of its own that prints as it goes. Returns those that failed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    failed = []
    for name in names:
        print(f"{name} (tests/benchmarks/bench_{name}.py)", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.bench_{name}"]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path})
        failed += [name] if done.returncode else []
    return failed
