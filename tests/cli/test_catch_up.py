"""`kvlab catch-up` fills in what has not passed before a lab, and calls it that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kvlab.cli import record
from kvlab.course.state import Progress
from tests.cli.conftest import Said, edit, load, text_of
from tests.cli.test_reset import passes

Command = Callable[..., Said]


def test_the_labs_before_are_filled_in_and_the_others_left_alone(kvlab: Command, mine: Path) -> None:
    later = (mine / "02_waste.ipynb").read_bytes()
    said = kvlab("catch-up", "02")
    assert said.code == 0
    assert "01_cost.ipynb: filled in price, count." in said.out and "00_start.ipynb: filled in warm_up." in said.out
    for lab, name in (("00_start", "warm_up"), ("01_cost", "price"), ("01_cost", "count")):
        text = text_of(mine / f"{lab}.ipynb", f"ex-{name}")
        assert "    return a + 1" in text and "SOLUTION" not in text
    assert (mine / "02_waste.ipynb").read_bytes() == later


def test_filled_cells_wait_to_be_run(kvlab: Command, mine: Path) -> None:
    kvlab("catch-up", "02")
    cell = load(mine / "01_cost.ipynb")["cells"][1]
    assert cell["execution_count"] is None and cell["outputs"] == []


def test_what_passed_stays_the_learners_own(kvlab: Command, mine: Path) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", "@exercise\ndef price(a):\n    return 1 + a")
    passes(mine, "price")
    assert "filled in count." in kvlab("catch-up", "02").out
    assert text_of(mine / "01_cost.ipynb", "ex-price").endswith("return 1 + a")
    assert record.passed(mine / "kvlab-progress.json") == {"price"}


def test_an_attempt_that_had_not_passed_is_in_the_backup(kvlab: Command, mine: Path) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", "@exercise\ndef price(a):\n    return 4711")
    before = (mine / "01_cost.ipynb").read_bytes()
    kvlab("catch-up", "02")
    assert [path.read_bytes() for path in mine.glob("01_cost.backup-*.ipynb")] == [before]


def test_they_are_recorded_as_caught_up_and_not_as_passed(kvlab: Command, mine: Path) -> None:
    said = kvlab("catch-up", "02")
    records = Progress(mine / "kvlab-progress.json").read()["exercises"]
    assert set(records) == {"warm_up", "price", "count"} and record.passed(mine / "kvlab-progress.json") == set()
    assert records["price"]["caught_up_source"].endswith("    return a + 1") and records["price"]["lab"] == "01"
    assert "They count as caught up with, not as passed." in said.out and "Reload Notebook from Disk" in said.out


def test_a_second_time_there_is_nothing_to_do(kvlab: Command, mine: Path) -> None:
    kvlab("catch-up", "02")
    before = {path: path.read_bytes() for path in mine.iterdir() if path.is_file()}
    said = kvlab("catch-up", "02")
    assert said.out.startswith("Nothing to fill in before lab 02")
    assert {path: path.read_bytes() for path in mine.iterdir() if path.is_file()} == before


def test_before_lab_00_there_is_nothing(kvlab: Command, mine: Path) -> None:
    assert kvlab("catch-up", "0").out.startswith("Nothing to fill in before lab 00")


def test_missing_notebooks_are_copied_first(kvlab: Command, mine: Path) -> None:
    (mine / "00_start.ipynb").unlink()
    assert kvlab("catch-up", "01").code == 0
    assert "return a + 1" in text_of(mine / "00_start.ipynb", "ex-warm_up")


def test_a_damaged_notebook_stops_it_before_anything_changes(kvlab: Command, mine: Path) -> None:
    (mine / "01_cost.ipynb").write_bytes(b"{")
    before = (mine / "00_start.ipynb").read_bytes()
    assert kvlab("catch-up", "02").code == 1
    assert (mine / "00_start.ipynb").read_bytes() == before


@pytest.mark.parametrize("name", ["2", "02", "lab02", "Lab 2", "02_waste", "02_waste.ipynb", "waste"])
def test_a_lab_goes_by_many_names(kvlab: Command, mine: Path, name: str) -> None:
    assert "01_cost.ipynb" in kvlab("catch-up", name).out


@pytest.mark.parametrize("name", ["9", "99", "lab", "", "2x3", "1st"])
def test_an_unknown_lab_is_refused_with_those_there_are(kvlab: Command, mine: Path, name: str) -> None:
    said = kvlab("catch-up", name)
    assert said.code == 2 and f'There is no lab "{name}".' in said.err
    assert "00, 01, 02" in said.err or "Did you mean" in said.err


def test_a_half_remembered_title_gets_a_suggestion(kvlab: Command, mine: Path) -> None:
    assert "Did you mean 01_cost" in kvlab("catch-up", "costs").err


WARM_UP = """
from kvlab.course import exercise
@exercise
def round_up_to_block(num_tokens: int, block_size: int) -> int:
    \"\"\"Slots.\"\"\"
    return -(-num_tokens // block_size) * block_size
"""


def run_cell(text: str, path: Path, tmp_path: Path) -> str:
    """Run a cell in a kernel of its own, with that progress file; what it printed."""
    (tmp_path / "cell.py").write_text(text, encoding="utf-8")
    environment = os.environ | {"KVLAB_PROGRESS": str(path)}
    command = [sys.executable, str(tmp_path / "cell.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60).stdout


def test_running_a_filled_in_cell_is_no_pass_and_solving_it_anew_is_one(kvlab: Command, tmp_path: Path) -> None:
    path = tmp_path / "kvlab-progress.json"
    record.catch_up(path, "00", {"round_up_to_block": WARM_UP})
    assert run_cell(WARM_UP, path, tmp_path).startswith("✓ round_up_to_block")
    assert record.passed(path) == set()
    assert "» round_up_to_block         ★   caught up with, not solved" in kvlab("progress", str(tmp_path)).out
    assert run_cell(WARM_UP.replace("Slots.", "My own words."), path, tmp_path).startswith("✓ round_up_to_block")
    assert record.passed(path) == {"round_up_to_block"}
    assert "✓ round_up_to_block         ★   passed" in kvlab("progress", str(tmp_path)).out
