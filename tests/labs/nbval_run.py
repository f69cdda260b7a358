"""Run nbval as a maintainer's CI does, in a process of its own, and read the report."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from tests.labs.notebooks import ROOT, builder


@dataclass(frozen=True)
class Cell:
    """One cell as nbval reports it: "passed", "failure", "skipped" or "error", the seconds it took and the message."""

    notebook: str
    number: int
    outcome: str
    seconds: float
    message: str


def nbval(*paths: Path, report: Path, cell_timeout: float = 120, guard: bool = True, workers: int = 2) -> list[Cell]:
    """Every cell that `pytest --nbval` ran in `paths`. `guard` adds what nbval misses in cells stored unexecuted."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", f"--nbval-cell-timeout={cell_timeout}"]
    command += ["-p", "no:cacheprovider", "--color=no", "-q", f"--rootdir={ROOT}", f"--junitxml={report}"]
    command += ["-p", "tests.labs.nbval_guard"] if guard else []
    command += ["-n", str(workers), "--dist=loadscope"] if workers > 1 else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["KVLAB_PROGRESS"] = "off"
    builder().warm_up()
    run = subprocess.run([*command, *map(str, paths)], cwd=ROOT, env=environment, capture_output=True, text=True)
    if run.returncode not in (0, 1):  # neither all passed nor some failed: nothing was tested
        raise RuntimeError(f"nbval ended with {run.returncode}:\n{run.stdout[-4000:]}\n{run.stderr[-2000:]}")
    return read_report(report)


def read_report(report: Path) -> list[Cell]:
    """The cells of a JUnit report."""
    return [_cell(case) for case in ElementTree.parse(report).getroot().iter("testcase")]


def _cell(case: ElementTree.Element) -> Cell:
    *_, folder, name, _ = case.get("classname", "").split(".")  # ends with folder.name.ipynb
    problems = [child for child in case if child.tag in ("failure", "error", "skipped")]
    outcome = problems[0].tag if problems else "passed"
    message = "\n".join(child.text or child.get("message", "") for child in problems)
    number = int(case.get("name", "").removeprefix("Cell "))
    return Cell(f"{folder}/{name}", number, outcome, float(case.get("time", 0)), message)
