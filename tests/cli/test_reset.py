"""`kvlab reset` puts one cell back, keeps a copy of everything, and takes the pass back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvlab.cli import record
from kvlab.course.state import Progress
from tests.cli.conftest import Course, Said, code, edit, load, text_of, write

Command = Callable[..., Said]
SOLVED = "@exercise\ndef price(a):\n    return a + 1  # né le même jour"


def passes(folder: Path, *names: str) -> Path:
    """Record a pass of each exercise, as running its cell does."""
    path = folder / "kvlab-progress.json"
    entry = {"lab": "01", "attempts": [{"passed": True}], "passed_at": "2026-01-01", "passed_source": "x"}
    Progress(path).change(lambda all_: all_["exercises"].update({name: dict(entry) for name in names}))
    return path


def test_the_cell_is_the_courses_again_and_all_else_as_it_was(kvlab: Command, mine: Path, course: Course) -> None:
    pristine = load(mine / "01_cost.ipynb")
    edit(mine / "01_cost.ipynb", "ex-count", "my own words: ünïcode \u2028 and a tab\t")
    edit(mine / "01_cost.ipynb", "ex-price", SOLVED)
    expected = load(mine / "01_cost.ipynb")
    expected["cells"][1] = pristine["cells"][1]
    said = kvlab("reset", "price")
    assert said.code == 0 and "price is as it was at the beginning, in my-labs/01_cost.ipynb." in said.out
    assert (mine / "01_cost.ipynb").read_text("utf-8") == json.dumps(expected, indent=1, ensure_ascii=False) + "\n"


def test_the_notebook_and_the_progress_as_they_were_lie_beside(kvlab: Command, mine: Path) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", SOLVED)
    before, progress = (mine / "01_cost.ipynb").read_bytes(), passes(mine, "price", "count").read_bytes()
    assert "Its pass is taken back." in kvlab("reset", "price").out
    assert [path.read_bytes() for path in mine.glob("01_cost.backup-*.ipynb")] == [before]
    assert [path.read_bytes() for path in mine.glob("kvlab-progress.backup-*.json")] == [progress]
    assert record.passed(mine / "kvlab-progress.json") == {"count"}


def test_two_resets_in_one_second_keep_two_backups(kvlab: Command, mine: Path) -> None:
    for text in ("one", "two"):
        edit(mine / "01_cost.ipynb", "ex-price", text)
        kvlab("reset", "price")
    kept = [path.read_text() for path in mine.glob("01_cost.backup-*.ipynb")]
    assert len(kept) == 2 and sum("one" in text for text in kept) == 1


def test_an_open_notebook_is_to_be_reloaded(kvlab: Command, mine: Path) -> None:
    assert "Reload Notebook from Disk" in kvlab("reset", "price").out


@pytest.mark.parametrize("typed", ["", "def price(", "@exercise\ndef pirce(a):\n    return 3", "%%time\n1/0"])
def test_a_cell_that_no_longer_names_the_exercise_is_found_by_its_id(kvlab: Command, mine: Path, typed: str) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", typed)
    assert kvlab("reset", "price").code == 0
    assert "def price(a: int)" in text_of(mine / "01_cost.ipynb", "ex-price")


def test_a_cell_that_was_moved_and_got_a_new_id_is_found_by_its_name(kvlab: Command, mine: Path) -> None:
    notebook = load(mine / "01_cost.ipynb")
    moved = notebook["cells"].pop(1) | {"id": "pasted"}
    moved["source"] = f"{SOLVED}\n"
    notebook["cells"].append(moved)
    write(mine / "01_cost.ipynb", notebook)
    kvlab("reset", "price")
    assert "return a + 1" not in text_of(mine / "01_cost.ipynb", "pasted")
    assert len(load(mine / "01_cost.ipynb")["cells"]) == 4


def test_a_deleted_cell_comes_back_in_its_place(kvlab: Command, mine: Path) -> None:
    notebook = load(mine / "01_cost.ipynb")
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] != "ex-count"]
    notebook["cells"].insert(1, code("own", "my_own = 1"))
    write(mine / "01_cost.ipynb", notebook)
    kvlab("reset", "count")
    order = [cell["id"] for cell in load(mine / "01_cost.ipynb")["cells"]]
    assert order == ["open", "own", "ex-price", "ex-count", "close"]


def test_a_copy_of_the_cell_is_left_alone_and_mentioned(kvlab: Command, mine: Path) -> None:
    notebook = load(mine / "01_cost.ipynb")
    notebook["cells"].insert(2, code("copy", SOLVED))
    write(mine / "01_cost.ipynb", notebook)
    assert "Another cell of the notebook defines price too; it was left alone." in kvlab("reset", "price").out
    assert text_of(mine / "01_cost.ipynb", "copy") == SOLVED


def test_an_exercise_class_under_further_decorators_is_found(kvlab: Command, mine: Path, course: Course) -> None:
    for folder in (course.root / "labs", mine):
        edit(folder / "02_waste.ipynb", "ex-holes", "@exercise\n@triton.jit\n# why\n\nclass Holes:\n    ...", None)
    assert kvlab("reset", "Holes").code == 0


def test_an_unknown_exercise_gets_the_nearest_name_and_changes_nothing(kvlab: Command, mine: Path) -> None:
    before = sorted(path.name for path in mine.iterdir())
    said = kvlab("reset", "pricee")
    assert (said.code, said.err) == (2, 'kvlab: There is no exercise "pricee". Did you mean price?\n')
    assert kvlab("reset", "zzz").err == 'kvlab: There is no exercise "zzz". kvlab progress lists them all.\n'
    assert sorted(path.name for path in mine.iterdir()) == before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"cells": [3]}', b"\xff\xff"])
def test_a_damaged_notebook_is_left_as_it_is(kvlab: Command, mine: Path, content: bytes) -> None:
    (mine / "01_cost.ipynb").write_bytes(content)
    said = kvlab("reset", "price")
    assert said.code == 1 and "cannot be read as a notebook" in said.err
    assert (mine / "01_cost.ipynb").read_bytes() == content


def test_a_missing_notebook_says_how_to_get_it(kvlab: Command, mine: Path) -> None:
    (mine / "01_cost.ipynb").unlink()
    assert "Copy it with: kvlab start my-labs --no-lab" in kvlab("reset", "price").err


def test_a_renamed_notebook_can_be_named(kvlab: Command, mine: Path, here: Path) -> None:
    edit(mine / "01_cost.ipynb", "ex-price", SOLVED)
    (mine / "01_cost.ipynb").rename(mine / "Monday.ipynb")
    assert kvlab("reset", "price", "--notebook", "my-labs/Monday.ipynb").code == 0
    assert "..." in text_of(mine / "Monday.ipynb", "ex-price")


def test_a_damaged_progress_file_does_not_stop_a_reset(kvlab: Command, mine: Path) -> None:
    (mine / "kvlab-progress.json").write_bytes(b"{ broken")
    said = kvlab("reset", "price")
    assert said.code == 0 and "could not be read" in said.out
    assert b"{ broken" in {path.read_bytes() for path in mine.glob("kvlab-progress*.json")}
