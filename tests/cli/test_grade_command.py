"""`kvlab grade`: many learners at once, as a table, as CSV and as JSON, and what its exit status says."""

from __future__ import annotations

import csv
import json

from kvlab.cli.grade import named
from tests.course.grade.notebooks import notebook

RIGHT = "@exercise\ndef paged_waste(lengths, block_size):\n    return sum(-n % block_size for n in lengths)"
WRONG = "@exercise\ndef paged_waste(lengths, block_size):\n    return '=1+1'"
ONLY = ("--only", "paged_waste")


def test_many_learners_come_out_as_a_table_csv_and_json(kvlab, here):
    for name, cell in (("ana", RIGHT), ("ben", WRONG), ("cem", RIGHT)):
        notebook(here / "class" / name / "03.ipynb", cell)
    notebook(here / "class" / "cem" / ".ipynb_checkpoints" / "03.ipynb", WRONG)
    said = kvlab("grade", "class", *ONLY, "--csv", "grades.csv", "--json", "grades.json")
    assert said.code == 0 and "✓ paged_waste" in said.out and "✗ paged_waste" in said.out
    rows_said = [line.split() for line in said.out.splitlines()[-3:]]
    assert rows_said == [["ana", "1/1", "1/1"], ["ben", "0/1", "0/1"], ["cem", "1/1", "1/1"]]
    rows = list(csv.DictReader((here / "grades.csv").open(encoding="utf-8")))
    found = json.loads((here / "grades.json").read_text(encoding="utf-8"))
    assert [(row["learner"], row["points"]) for row in rows] == [("ana", "1"), ("ben", "0"), ("cem", "1")]
    assert [(one["learner"], one["points"]) for one in found] == [("ana", 1), ("ben", 0), ("cem", 1)]


def test_a_notebook_that_cannot_be_read_is_named_and_the_exit_status_says_so(kvlab, here):
    notebook(here / "class" / "ana" / "03.ipynb", RIGHT)
    (here / "class" / "ben").mkdir()
    (here / "class" / "ben" / "03.ipynb").write_text("{")
    said = kvlab("grade", "class", "class/cem/03.ipynb", *ONLY, "--json", "-")
    assert said.code == 1
    assert [(one["learner"], one["verdict"]) for one in json.loads(said.out)] == [
        ("ana", "passed"), ("ben", "unreadable"), ("cem", "unreadable")]


def test_what_is_asked_wrongly_is_refused_before_anything_runs(kvlab, here):
    (here / "empty").mkdir()
    for arguments, why in ((("empty",), "no notebook"), (("x.ipynb", "--seconds", "0"), "--seconds takes"),
                           (("x.ipynb", "--only", "paged_wast"), "Did you mean paged_waste")):
        said = kvlab("grade", *arguments)
        assert said.code == 2 and why in said.err


def test_learners_are_named_by_as_many_folders_as_tell_them_apart(tmp_path):
    paths = [tmp_path / "a" / "ana" / "labs" / "03.ipynb", tmp_path / "a" / "ana" / "labs" / "04.ipynb",
             tmp_path / "a" / "ben" / "labs" / "03.ipynb", tmp_path / "b" / "cem" / "03.ipynb"]
    assert [name for name, _ in named(paths)] == ["ana/labs", "ana/labs", "ben/labs", "b/cem"]
