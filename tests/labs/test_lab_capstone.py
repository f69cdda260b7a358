"""Lab 11 works with no exercise done, with all done, and with one wrong on purpose: clients are served."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvlab.course.session import restart
from tests.course.cells import Notebook
from tests.course.own_load import solved
from tests.labs.notebooks import cells, committed

pytestmark = pytest.mark.notebooks

LAB = "11_serve_it"
LONG = ("ways-", "large-", "where-", "home-", "say-")  # measurements, which know nothing of the learner's parts
SAID = "Rosa is on the way and should be with you at 19:43."


@pytest.fixture
def progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A progress file of its own."""
    path = tmp_path / "kvlab-progress.json"
    monkeypatch.setenv("KVLAB_PROGRESS", str(path))
    return path


def lab(path: Path, **parts: str) -> tuple[Notebook, dict[str, str]]:
    """The lab as handed out, run by somebody whose file has these parts: its names, and what each cell printed."""
    passed = {"lab": "03", "passed_at": "2026-01-01"}
    exercises = {name: {**passed, "passed_source": text} for name, text in parts.items()}
    empty: dict[str, object] = {"predictions": {}, "recall": {}, "say_it": {}}
    path.write_text(json.dumps({"version": 1, "exercises": exercises, **empty}))
    restart()
    notebook, said = Notebook(), {}
    for cell in cells(committed("labs", LAB), "code"):
        if not cell.id.startswith(LONG):
            said[cell.id] = notebook.run(cell.source)
    return notebook, said


def assert_everybody_was_served(said: dict[str, str]) -> None:
    assert SAID in said["own-run"] and said["own-broken"].endswith(SAID) and "(I4)" in said["own-broken"]
    assert said["crowd-run"].startswith("32 answers, all as one by one: True")
    assert said["gone-run"] == "0 running, 1 aborted; blocks free: 256 of 256"
    assert said["server-stop"] == "stopped; 256 blocks free, and every invariant holds"


def test_with_no_exercise_done_finished_parts_serve(progress: Path) -> None:
    notebook, said = lab(progress)
    assert_everybody_was_served(said)
    assert notebook.names["engine"].parts.mine == [] and "✗" not in said["own-run"] + said["crowd-run"]


def test_with_all_done_the_learners_parts_serve(progress: Path) -> None:
    notebook, said = lab(progress, **solved())
    assert_everybody_was_served(said)
    parts = notebook.names["engine"].parts
    called = {row.part for row in parts.rows if row.whose == "yours" and row.calls}
    assert {"BlockPool", "append_with_cow", "slot_mapping", "paged_attention", "schedule_step", "longest_hit"} <= called
    assert parts.faults == [] and "✗" not in said["own-run"] + said["crowd-run"]


EXCEPT = ("blocks = pool.take(1)\n    try:\n        for word in words:\n            send(word)\n"
          "    except Exception:\n        pool.release(blocks)\n        raise\n    pool.release(blocks)")


@pytest.mark.parametrize(("body", "first", "last"), [
    ("...", "○ answer_safely: nothing is written yet", "○ answer_safely: nothing is written yet"),
    (EXCEPT, "✓ stays", "✗ the stop button: 1 words heard, KeyboardInterrupt reached the caller, 1 blocks gone; "
                        "expected 1, KeyboardInterrupt, 0"),
    (EXCEPT.replace("Exception:", "BaseException:"), "✓ stays", "✓ the stop button"),
    ("answer_one(pool, words, send)", "✓ stays", "✗ the stop button: 1 words heard, KeyboardInterrupt reached the "
                                                "caller, 1 blocks gone; expected 1, KeyboardInterrupt, 0"),
])
def test_the_bug_hunt_judges_every_way_out(body: str, first: str, last: str) -> None:
    notebook = Notebook()
    notebook.run("from kvlab.memory import BlockPool")
    lab = {cell.id: cell.source for cell in cells(committed("labs", LAB), "code")}
    notebook.run(lab["hunt-code"])
    notebook.run(f"def answer_safely(pool, words, send):\n    {body}")
    notebook.run(lab["hunt-judge"])
    said = notebook.run(lab["hunt-cases"]).splitlines()
    assert (said[0], said[-1]) == (first, last)


def test_with_one_wrong_it_is_named_and_everybody_is_served(progress: Path) -> None:
    wrong = "def slot_mapping(table, start, stop, block_size):\n    return list(range(start, stop))"
    notebook, said = lab(progress, **{**solved(), "slot_mapping": wrong})
    assert_everybody_was_served(said)
    parts = notebook.names["engine"].parts
    assert [fault.part for fault in parts.faults] == ["slot_mapping"] and "append_with_cow" in parts.mine
    printed = said["own-run"] + said["server-wire"] + said["events-use"] + said["openai-client"] + said["crowd-run"]
    assert "✗ Your slot_mapping(" in printed
