"""The notebooks under nbval, strict; and a canary for each way in which such a run can be green by mistake (F44)."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from tests.labs.nbval_run import Cell, nbval
from tests.labs.notebooks import ROOT, cells, committed, names

CANARY = ROOT / "tests" / "labs" / "canary"
CELL_TIMEOUT = 4

pytestmark = pytest.mark.notebooks


@pytest.fixture(scope="module")
def canary(tmp_path_factory) -> dict[str, list[Cell]]:
    report = tmp_path_factory.mktemp("canary") / "report.xml"
    found = defaultdict(list)
    for cell in nbval(CANARY, report=report, cell_timeout=CELL_TIMEOUT):
        found[cell.notebook.removeprefix("canary/")].append(cell)
    return found


@pytest.mark.parametrize(
    ("notebook", "reason"),
    [
        ("wrong_output", "Cell outputs differ"),
        ("missing_output", "Unexpected output fields"),
        ("raises", "RuntimeError"),
        ("does_not_raise", "marked as raising, and did not raise"),
        ("unknown_magic", "no_such_magic"),
        ("dead_kernel", "The kernel died"),
        ("endless", "Timeout of 4 seconds"),
    ],
)
def test_each_canary_is_red_for_its_own_reason_within_the_cell_timeout(canary, notebook, reason):
    first = canary[notebook][0]
    assert first.outcome == "failure" and reason in first.message
    assert first.seconds < CELL_TIMEOUT + 15  # the kernel's start, and what nbval gives it after an interrupt


def test_no_cell_after_a_dead_kernel_passes(canary):
    assert [cell.outcome for cell in canary["dead_kernel"]] == ["failure", "failure"]


def test_the_green_canary_is_green_and_none_was_left_out(canary):
    assert [cell.outcome for cell in canary["green"]] == ["passed", "passed"]
    assert sorted(canary) == sorted(path.stem for path in CANARY.glob("*.ipynb"))


@pytest.mark.timeout(600)
def test_every_cell_of_both_folders_runs_and_gives_what_is_stored(tmp_path):
    ran = nbval(ROOT / "solutions", ROOT / "labs", report=tmp_path / "report.xml")
    assert not [f"{cell.notebook} cell {cell.number}: {cell.message}" for cell in ran if cell.outcome != "passed"]
    expected = {
        f"{folder}/{name}": len(cells(committed(folder, name), "code"))
        for folder in ("solutions", "labs")
        for name in names()
    }
    assert Counter(cell.notebook for cell in ran) == expected
    assert len(expected) >= 8 and min(expected.values()) >= 5  # labs 00-03: an empty list would pass everything above
