"""FAILURES.md F34, F35, F40 and F41, on the course's own exercises."""

from __future__ import annotations

import json
import time

import pytest

from kvlab.course import registry
from kvlab.course.session import restart
from tests.course import gates
from tests.course.cells import Notebook
from tests.course.kernels import kernel


@pytest.fixture(autouse=True)
def fresh_session(monkeypatch):
    """A session as after a kernel restart, with progress in memory."""
    monkeypatch.setenv("KVLAB_PROGRESS", "off")
    return restart()


def test_f34_a_class_that_is_deleted_or_misspelt_is_not_defined_and_the_lab_goes_on():
    notebook = Notebook()
    notebook.run("open_lab('03')")
    said = notebook.exercise("class BlockPol:\n    def take(self, count):\n        return []")
    assert said == "✗ BlockPol is not an exercise of this course. Did you mean BlockPool?"
    assert notebook.run("print(BlockPool(4).take(2))").startswith("[")
    lines = notebook.run("close_lab('03')").splitlines()
    assert "✗ BlockPool: not defined: no cell has defined it under @exercise" in lines
    assert lines[-1].startswith("0 of ")


@pytest.mark.parametrize("entry", list(registry.every()), ids=lambda entry: entry.name)
def test_f35_raising_in_every_body_passes_nothing(entry):
    gates.raising_passes_nothing(entry)


@pytest.mark.parametrize("entry", list(registry.every()), ids=lambda entry: entry.name)
def test_f35_the_finished_part_does_not_count_as_the_learners(entry):
    notebook = Notebook()
    notebook.run(f"open_lab('{entry.lab}')")
    said = notebook.run(f"{entry.name} = exercise({entry.name})")
    assert said.splitlines()[0] == f"✗ {entry.name} is the finished part itself, so there is nothing of yours to check."
    module, _, name = entry.part.rpartition(".")
    if isinstance(registry.part_of(entry), type):
        notebook.run(f"from {module} import {name} as Theirs")
        said = notebook.run(f"@exercise\nclass {entry.name}(Theirs):\n    mine = 1")
    else:
        said = notebook.run(f"import {module}\n@exercise\ndef {entry.name}(*a):\n    return {entry.part}(*a)")
    assert said.startswith(f"✗ {entry.name} ") and "the finished part" in said
    assert "0 of " in notebook.run(f"close_lab('{entry.lab}')").splitlines()[-1]


ENDLESS = {"catches everything": "while True:\n        try:\n            n += 1\n        except:\n            pass",
           "grows": "x = []\n    while True:\n        x.append([n] * 1000)"}


def test_f40_endless_loops_and_lists_are_stopped_within_ten_seconds_and_the_kernel_lives(tmp_path):
    with kernel(tmp_path, KVLAB_PROGRESS="off") as running:
        running.run("mine = 42")
        for body in ENDLESS.values():
            started = time.monotonic()
            said = running.run(f"@exercise\ndef round_up_to_block(n, b):\n    {body}")
            assert time.monotonic() - started < 10
            assert said.startswith("✗ round_up_to_block(") and ("did not finish" in said or "memory" in said)
        assert running.run("print(mine, round_up_to_block(17, 16))") == "42 32"
        assert "✗ round_up_to_block: wrong" in running.run("close_lab('00')")


def test_f41_progress_survives_a_restart_and_a_corrupt_file_and_two_notebooks_at_once(tmp_path):
    cell = "@exercise\ndef {}(n, b):\n    return -(-n // b){}"
    with kernel(tmp_path, KVLAB_PROGRESS="") as one, kernel(tmp_path, KVLAB_PROGRESS="") as other:
        assert one.run(cell.format("round_up_to_block", " * b")).startswith("✓")
        assert other.run(cell.format("blocks_needed", "")).startswith("✓")
        one.run("hint('reserve')")
        shown = other.run("progress()")
        assert "✓ round_up_to_block" in shown and "✓ blocks_needed" in shown and "1 hint" in shown
        one.manager.restart_kernel(now=True)
        one.client.wait_for_ready(60)
        one.run("from kvlab.course import *")
        assert "✓ blocks_needed" in one.run("progress()")
        file = tmp_path / "kvlab-progress.json"
        assert set(json.loads(file.read_text())["exercises"]) == {"round_up_to_block", "blocks_needed", "reserve"}
        file.write_text("{ half a file")
        assert "could not be read. It is kept as" in one.run("progress()")
        assert other.run(cell.format("blocks_needed", "")).startswith("✓")
        file.unlink()
        assert "✓" not in one.run("progress()")
