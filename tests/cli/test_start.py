"""`kvlab start` copies labs and never overwrites a byte."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kvlab.cli import start
from tests.cli.conftest import Course, Said, edit, text_of

Command = Callable[..., Said]


def files(folder: Path) -> dict[str, bytes]:
    """Every notebook below a folder, hidden ones included."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.ipynb")}


def test_the_first_start_copies_every_lab(kvlab: Command, here: Path, course: Course) -> None:
    said = kvlab("start", "--no-lab")
    assert said.code == 0 and said.out == "my-labs: 3 labs copied.\n"
    assert files(here / "my-labs") == files(course.root / "labs")


def test_a_folder_of_any_name_is_made(kvlab: Command, here: Path) -> None:
    assert kvlab("start", "deep/er", "--no-lab").code == 0
    assert len(files(here / "deep" / "er")) == 3


def test_a_second_start_changes_nothing(kvlab: Command, mine: Path) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", "@exercise\ndef price(a):\n    return 3")
    before = files(mine)
    said = kvlab("start", "--no-lab")
    assert said.out == "my-labs: 3 already there and left as they are.\n"
    assert files(mine) == before


def test_inside_my_labs_start_means_this_folder(kvlab: Command, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mine)
    assert kvlab("start", "--no-lab").code == 0
    assert not (mine / "my-labs").exists()


def test_a_deleted_lab_comes_back(kvlab: Command, mine: Path) -> None:
    (mine / "01_cost.ipynb").unlink()
    assert "1 lab copied, 2 already there" in kvlab("start", "--no-lab").out
    assert (mine / "01_cost.ipynb").exists()


def test_an_updated_lab_is_offered_beside_the_learners_own(kvlab: Command, mine: Path, course: Course) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", "my own words")
    own = (mine / "01_cost.ipynb").read_bytes()
    course.update("01_cost", "open_lab('new')")
    said = kvlab("start", "--no-lab").out
    assert "Yours is untouched; the new one lies beside it as 01_cost.updated.ipynb." in said
    assert (mine / "01_cost.ipynb").read_bytes() == own
    assert text_of(mine / "01_cost.updated.ipynb", "open") == "open_lab('new')"


def test_an_offered_update_is_the_learners_too_from_then_on(kvlab: Command, mine: Path, course: Course) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", "my own words")
    course.update("01_cost", "second")
    kvlab("start", "--no-lab")
    edit(mine / "01_cost.updated.ipynb", "ex-price", "words in the second")
    course.update("01_cost", "third")
    before = files(mine)
    kvlab("start", "--no-lab")
    after = files(mine)
    assert before.items() <= after.items()
    assert text_of(mine / "01_cost.updated-2.ipynb", "open") == "third"


def test_an_update_that_was_thrown_away_is_not_offered_again(kvlab: Command, mine: Path, course: Course) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", "my own words")
    course.update("01_cost", "second")
    kvlab("start", "--no-lab")
    (mine / "01_cost.updated.ipynb").unlink()
    assert "changed in the course" not in kvlab("start", "--no-lab").out
    assert not (mine / "01_cost.updated.ipynb").exists()


def test_a_copy_nobody_touched_is_refreshed_and_the_old_one_kept(kvlab: Command, mine: Path, course: Course) -> None:
    old = (mine / "02_waste.ipynb").read_bytes()
    course.update("02_waste", "second")
    said = kvlab("start", "--no-lab").out
    assert "02_waste: refreshed; you had not worked in it." in said
    assert text_of(mine / "02_waste.ipynb", "open") == "second"
    assert old in files(mine).values()
    course.update("02_waste", "third")
    kvlab("start", "--no-lab")
    assert old in files(mine).values()


@pytest.mark.parametrize("damage", [None, b"", b"{", b"[]", b'{"copied": 3, "offered": {}}', b"\xff\xfe"])
def test_without_its_record_everything_counts_as_the_learners(
    kvlab: Command, mine: Path, course: Course, damage: bytes | None
) -> None:
    record = mine / ".kvlab-labs.json"
    record.unlink() if damage is None else record.write_bytes(damage)
    edit(mine / "01_cost.ipynb", "ex-price", "my own words")
    course.update("02_waste", "second")
    before = files(mine)
    assert kvlab("start", "--no-lab").code == 0
    assert before.items() <= files(mine).items()


def test_what_is_saved_meanwhile_is_put_back(mine: Path, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    from kvlab.cli import copying

    course.update("02_waste", "second")
    rename, lab = os.rename, mine / "02_waste.ipynb"

    def save_first(source: Path, target: Path) -> None:
        if Path(source) == lab:
            edit(lab, "ex-waste", "typed a moment ago")
        rename(source, target)

    monkeypatch.setattr(copying.os, "rename", save_first)
    steps = copying.copy_labs([course.root / "labs" / "02_waste.ipynb"], mine)
    assert text_of(lab, "ex-waste") == "typed a moment ago"
    assert steps[0].did == "offered"


def test_a_lab_that_the_learner_made_themselves_is_never_replaced(kvlab: Command, here: Path) -> None:
    (here / "my-labs").mkdir()
    (here / "my-labs" / "01_cost.ipynb").write_bytes(b"not even a notebook")
    assert kvlab("start", "--no-lab").code == 0
    assert (here / "my-labs" / "01_cost.ipynb").read_bytes() == b"not even a notebook"


def test_the_courses_own_folder_is_refused(kvlab: Command, course: Course) -> None:
    for folder in (course.root / "labs", course.root / "solutions", course.root / "labs" / "mine"):
        said = kvlab("start", str(folder), "--no-lab")
        assert said.code == 1 and "belongs to the course itself" in said.err


def test_a_file_in_the_way_is_named(kvlab: Command, here: Path) -> None:
    (here / "my-labs").write_text("a file")
    said = kvlab("start", "--no-lab")
    assert said.code == 1 and said.err == "kvlab: my-labs is a file. Name a folder: kvlab start DIR\n"


def test_a_full_disk_leaves_no_half_written_lab(kvlab: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kvlab.cli import copying

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(copying, "create", full)
    said = kvlab("start", "--no-lab")
    assert said.code == 1 and "No space left on device" in said.err
    assert files(here / "my-labs") == {}


def test_without_jupyterlab_the_labs_are_copied_and_the_way_is_told(
    kvlab: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "installed", lambda module: False)
    said = kvlab("start")
    assert said.code == 1 and "pip install 'kvlab[lab]'" in said.err
    assert len(files(here / "my-labs")) == 3


def test_jupyterlab_is_started_on_lab_00_for_this_machine_only(
    kvlab: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(start, "serve", lambda command: commands.append(command) or 0)
    assert kvlab("start", "--no-browser", "--port", "8899", "--", "--ServerApp.token=x").code == 0
    (command,) = commands
    assert command[1:3] == ["-m", "jupyterlab"] and "--LabApp.default_url=/lab/tree/00_start.ipynb" in command
    assert "--ServerApp.ip=127.0.0.1" in command and "--ServerApp.port=8899" in command and "--no-browser" in command
    assert command[-1] == "--ServerApp.token=x"
