"""F41, F44 and F46: what happens to notebooks, their kernels and their figures."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from kvlab.memory import CONTEXT, KV_TOKENS, lesson_trace, published_table
from tests.labs.notebooks import ROOT, cells, committed, names, output_text
from tests.labs.prose_numbers import prose_numbers, unsupported

RECORD = "kvlab-progress.json"
FIRST, SECOND = names()[:2]

pytestmark = pytest.mark.notebooks


def run(notebook: NotebookNode, folder: Path, allow_errors: bool = False, **environment: str) -> NotebookNode:
    """Run a notebook in a kernel of its own, in `folder`, the learner's record beside it unless told otherwise."""
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        allow_errors=allow_errors,
    )
    others = {name: value for name, value in os.environ.items() if name != "KVLAB_PROGRESS"}
    client.execute(env=others | environment)
    return notebook


def passed(folder: Path) -> set[str]:
    """Exercises that the record in `folder` counts as passed."""
    exercises = json.loads((folder / RECORD).read_text())["exercises"]
    return {name for name, entry in exercises.items() if entry.get("passed_at")}


def declared(name: str) -> set[str]:
    """Exercises of a lab."""
    return {exercise.name for exercise in importlib.import_module(f"kvlab.course.exercises.lab{name[:2]}").EXERCISES}


def test_f41_two_notebooks_at_once_lose_nothing_and_the_record_moves_with_the_folder(tmp_path):
    folder, elsewhere = tmp_path / "my-labs", tmp_path / "other-machine"
    folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: run(committed("solutions", name), folder), (FIRST, SECOND)))
    assert passed(folder) == declared(FIRST) | declared(SECOND)

    shutil.move(folder, elsewhere)  # and both kernels are gone: a container restart, or another machine
    glance = run(new_notebook(cells=[new_code_cell("from kvlab.course import *\nprint(progress())")]), elsewhere)
    lines = [line.split() for line in glance.cells[0].outputs[0].text.splitlines()]
    assert {line[1] for line in lines if line[0] == "✓"} == declared(FIRST) | declared(SECOND)


@pytest.mark.parametrize("spoil", ["delete", "garbage", "cut short"])
def test_f41_a_lost_or_corrupt_record_never_stops_a_lab_and_is_kept_aside(tmp_path, spoil):
    record = tmp_path / RECORD
    whole = json.dumps({"version": 1, "exercises": {"round_up_to_block": {"lab": "00"}}}).encode()
    spoilt = {"delete": None, "garbage": b"\x00\xff{not json", "cut short": whole[:40]}[spoil]
    if spoilt is not None:
        record.write_bytes(spoilt)
    run(committed("solutions", FIRST), tmp_path)
    assert passed(tmp_path) == declared(FIRST)
    aside = [path for path in tmp_path.glob("kvlab-progress*") if path.read_bytes() == spoilt]
    assert len(aside) == (spoilt is not None)


def test_f44_no_notebook_carries_a_mark_that_hides_a_failing_cell():
    for name in names():
        for cell in cells(committed("labs", name), "code") + cells(committed("solutions", name), "code"):
            assert set(cell.metadata.get("tags", [])) <= {"nbval-ignore-output"}, f"{name}: {cell.id}"


# F46: another machine in the running example. The figures below hang on it; wherever prose names one, it must follow.
CHANGED = {
    "KV_BYTES": "48 * 2**30",
    "CONTEXT": "6144",
    "MAX_ANSWER": "1536",
    "WEIGHT_BYTES": "7_000_000_000 * 2",
    "BANDWIDTH": "1.5e12",
}
FITS = {row.policy: row.fit for row in published_table(lesson_trace(), KV_TOKENS)}
HANGING = {
    f"{KV_TOKENS:,}": "KV_TOKENS",
    f"{CONTEXT:,}": "CONTEXT",
    f"{FITS['prompt+max']}": "MAX_ANSWER",
    f"{FITS['16-token blocks']}": "KV_TOKENS",
}


@pytest.fixture(scope="module")
def changed_course(tmp_path_factory) -> dict[str, NotebookNode]:
    """The solved notebooks, run with a kvlab whose running example is `CHANGED`."""
    place = tmp_path_factory.mktemp("changed")
    shutil.copytree(
        ROOT / "kvlab", place / "kvlab", ignore=shutil.ignore_patterns("__pycache__", "labs", "solutions", "kernels")
    )
    example = place / "kvlab" / "memory" / "example.py"
    text = example.read_text()
    for constant, value in CHANGED.items():
        text, count = re.subn(rf"(?m)^{constant} = .*$", f"{constant} = {value}", text)
        assert count == 1, f"{constant} is not set in one line of {example.name}"
    example.write_text(text)

    def rerun(name: str) -> NotebookNode:
        return run(committed("solutions", name), place, True, PYTHONPATH=str(place), KVLAB_PROGRESS="off")

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names(), pool.map(rerun, names()), strict=True))


@pytest.mark.parametrize("name", names())
def test_f46_when_the_running_example_changes_no_figure_stays_behind_unnoticed(changed_course, name):
    notebook = changed_course[name]
    prose = [number[0] for cell in cells(notebook, "markdown") for number in prose_numbers(cell.source)]
    noticed = " ".join(unsupported(notebook))
    stale = {f"{figure} ({HANGING[figure]})" for figure in prose if figure in HANGING and f'"{figure}"' not in noticed}
    assert not stale, f"{name} still gives {stale}: import the constant from kvlab.memory instead of typing it"


def test_f46_the_changed_example_reaches_every_lab(changed_course):
    def outputs(notebook: NotebookNode) -> list[str]:
        return [output_text(cell) for cell in cells(notebook, "code")]

    assert all(outputs(changed_course[name]) != outputs(committed("solutions", name)) for name in names())
    assert any(unsupported(notebook) for notebook in changed_course.values())
