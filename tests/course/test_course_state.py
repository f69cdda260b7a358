"""The learner's record: one file that survives crashes, corruption, moves, and two kernels at once (FAILURES F41)."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil

import pytest

from kvlab.course import state
from kvlab.course.overview import progress
from kvlab.course.session import restart, session
from kvlab.course.state import Progress, empty
from tests.course import small

RIGHT = "def grow(table, extra):\n    table += [0] * extra\n    return len(table)"
WRONG = "def grow(table, extra):\n    return 0"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The progress file of a session that keeps one."""
    path = tmp_path / "kvlab-progress.json"
    monkeypatch.setenv("KVLAB_PROGRESS", str(path))
    restart()
    return path


def record(file, name="grow"):
    return json.loads(file.read_text())["exercises"][name]


def test_a_pass_saves_the_source_and_each_try_its_time_and_mistake(notebook, file):
    notebook.exercise("def grow(table, extra):\n    return len(table + [0] * extra)")
    notebook.exercise(RIGHT)
    kept = record(file)
    assert kept["lab"] == small.LAB and kept["tries"] == 2
    assert kept["passed_source"] == "@exercise\n" + RIGHT
    first, second = kept["attempts"]
    assert first["mistake"] == "Looks like it makes a new list." and not first["passed"] and "left its" in first["said"]
    assert second["passed"] and second["mistake"] is None and second["seconds"] < 2 and second["at"].endswith("+00:00")


def test_an_untouched_cell_is_no_attempt(notebook, file):
    notebook.exercise("def grow(table, extra):\n    ...")
    assert not file.exists()


def test_hints_and_solutions_are_recorded(notebook, file):
    notebook.exercise(WRONG)
    notebook.run("hint()\nhint('grow')\nsolution()")
    assert len(record(file)["hints"]) == 2 and len(record(file)["solutions"]) == 1


def test_a_pass_that_was_changed_since_is_said_so(notebook, file):
    notebook.exercise(RIGHT)
    notebook.exercise(WRONG)
    assert "passed, but changed since" in str(progress())
    assert record(file)["passed_source"].endswith(RIGHT)
    notebook.exercise(RIGHT)
    assert "changed" not in str(progress())


def test_a_restarted_kernel_knows_what_was_done(notebook, file):
    notebook.exercise(RIGHT)
    restart()
    row = next(row for row in progress().rows if row.name == "grow")
    assert row.status.startswith("passed")
    assert "hints" not in record(file) and "Hint 1 of 3" in notebook.run("hint('grow')")


def test_progress_moves_by_copying_the_file(notebook, file, tmp_path, monkeypatch):
    notebook.exercise(RIGHT)
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.copy(file, tmp_path / "elsewhere")
    monkeypatch.setenv("KVLAB_PROGRESS", moved)
    restart()
    assert "1 of 4 passed" in str(progress())


CORRUPT = [b"", b"{", b"[]", b"null", b'{"version": "one"}', b"\xff\xfe\x00", b'{"version": 1, "recall": 3}',
           b'{"exercises": {}}', b'{"version": 1, "exercises": {"grow": 3}}', b"[" * 100_000]


@pytest.mark.parametrize("content", CORRUPT)
def test_a_corrupt_file_is_kept_aside_and_said_so_in_one_line(notebook, file, content):
    file.write_bytes(content)
    said = notebook.exercise(RIGHT)
    assert said.splitlines() == ["kvlab-progress.json could not be read. It is kept as "
                                 "kvlab-progress.json.unreadable-1, and a new one begins.", "✓ grow: in place"]
    assert (file.parent / "kvlab-progress.json.unreadable-1").read_bytes() == content
    assert record(file)["tries"] == 1
    assert notebook.exercise(RIGHT) == "✓ grow: in place"


def test_a_second_corrupt_file_does_not_replace_the_first(file):
    for content in (b"one", b"two"):
        file.write_bytes(content)
        session().progress.read()
    kept = [file.parent / f"kvlab-progress.json.unreadable-{number}" for number in (1, 2)]
    assert [one.read_bytes() for one in kept] == [b"one", b"two"]


def test_an_entry_of_an_unknown_shape_does_not_stop_a_check(notebook, file):
    file.write_text(json.dumps(empty() | {"exercises": {"grow": {"attempts": 3, "hints": None, "tries": "many"}},
                                          "predictions": {"p": {"guess": "many", "unit": 3}}}))
    assert notebook.exercise(RIGHT).splitlines()[-1] == "✓ grow: in place"
    assert "1 try" in str(progress())
    assert notebook.run("reveal('p', 3)") == "Actual: 3. There was no prediction to compare it with."


def test_the_file_of_a_newer_version_is_left_alone(notebook, file):
    content = json.dumps(empty() | {"version": 99})
    file.write_text(content)
    said = notebook.exercise(RIGHT)
    assert said.splitlines() == ["kvlab-progress.json was written by a newer kvlab, so this session's progress stays "
                                 "in memory.", "✓ grow: in place"]
    assert file.read_text() == content
    assert notebook.exercise(RIGHT) == "✓ grow: in place"


def test_keys_that_this_version_does_not_know_are_kept(notebook, file):
    file.write_text(json.dumps(empty() | {"class": "3b"}))
    notebook.exercise(RIGHT)
    assert json.loads(file.read_text())["class"] == "3b"


def test_a_folder_that_cannot_be_written_leaves_progress_in_memory(notebook, file, monkeypatch):
    notebook.exercise(RIGHT)
    before = file.read_bytes()
    restart()
    monkeypatch.setattr(state, "_replace", lambda *_: (_ for _ in ()).throw(OSError(30, "Read-only file system")))
    said = notebook.exercise(WRONG)
    assert said.splitlines()[0] == ("kvlab-progress.json cannot be written here (Read-only file system), so this "
                                    "session's progress stays in memory.")
    assert "cannot" not in notebook.exercise(WRONG)
    assert "passed, but changed since" in str(progress())
    assert file.read_bytes() == before


def test_a_path_that_cannot_exist_leaves_progress_in_memory(notebook, tmp_path, monkeypatch):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("KVLAB_PROGRESS", str(tmp_path / "a file" / "progress.json"))
    restart()
    assert "stays in memory" in notebook.exercise(RIGHT) and "1 of 4 passed" in str(progress())


def test_a_folder_that_is_not_there_yet_is_made(tmp_path):
    kept = Progress(tmp_path / "new" / "progress.json")
    kept.change(lambda all_: all_["recall"].update(a={}))
    assert kept.read()["recall"] == {"a": {}}


def _count(path, kernel):
    kept = Progress(path)
    for number in range(20):
        kept.change(lambda all_, key=f"{kernel}-{number}": all_["recall"].update({key: {}}))


def test_two_kernels_at_once_lose_nothing_of_each_other(tmp_path):
    path = tmp_path / "progress.json"
    context = multiprocessing.get_context("fork")
    kernels = [context.Process(target=_count, args=(path, kernel)) for kernel in range(3)]
    for kernel in kernels:
        kernel.start()
    for kernel in kernels:
        kernel.join(30)
    assert len(Progress(path).read()["recall"]) == 60
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_crash_while_writing_leaves_the_old_file(file, monkeypatch):
    session().progress.change(lambda all_: all_["recall"].update(a={}))
    before = file.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        session().progress.change(lambda all_: all_["recall"].update(b={}))
    assert file.read_bytes() == before and not list(file.parent.glob(".*.tmp"))


def test_the_file_lies_beside_the_notebooks_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for wish, path in (("", tmp_path / "kvlab-progress.json"), ("off", None), ("OFF", None),
                       ("other.json", tmp_path / "other.json"), (str(tmp_path / "x.json"), tmp_path / "x.json")):
        monkeypatch.setenv("KVLAB_PROGRESS", wish)
        assert state.default_path() == path
