"""Whole notebooks: solved ones get all their points, handed-out ones none; what is broken is named and passed by."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kvlab.course.grade.grader import Learner, graded
from kvlab.course.grade.house import Limits
from kvlab.course.notebooks import folder
from kvlab.course.registry import every
from tests.course.grade.notebooks import notebook

FEW = ("attend_blockwise", "write_kv_kernel", "append_with_cow", "beam_step", "block_hashes", "radix_insert",
       "swap_plan", "quantize_fp8", "release_window", "HostTier")

HEAD = "@exercise\ndef blocks_needed(num_tokens, block_size):\n    "
WASTE = "@exercise\ndef paged_waste(lengths, block_size):\n    return sum(-n % block_size for n in lengths)"


def labs(name: str) -> list[Path]:
    """The course's own notebooks, solved or handed out."""
    found = folder(name)
    assert found is not None
    return sorted(found.glob("*.ipynb"))


def test_a_solved_lab_gets_all_its_points(house):
    path = next(path for path in labs("solutions") if path.name.startswith("03"))
    found = graded(house, [Learner("ana", path)], Limits())
    assert {one.exercise for one in found} == {entry.name for entry in every() if entry.lab == "03"}
    assert [one for one in found if one.points != one.possible or one.verdict != "passed"] == []


def test_one_part_of_each_kind_gets_its_points_in_the_solved_labs(house):
    found = graded(house, [Learner("ana", path) for path in labs("solutions")], Limits(), FEW)
    passed = {one.exercise for one in found if one.verdict == "passed" and one.points == one.possible > 0}
    assert passed == set(FEW), [one for one in found if one.exercise and one.verdict != "passed"]


def test_a_lab_as_it_was_handed_out_is_not_attempted(house):
    found = graded(house, [Learner("ana", path) for path in labs("labs")], Limits())
    assert {one.exercise for one in found if one.exercise} == {entry.name for entry in every()}
    assert {(one.verdict, one.points) for one in found if one.exercise} == {("not attempted", 0)}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"cells": [3]}', "\x00\xff",
                                  '{"cells": [{"cell_type": "code", "source": {}}'])
def test_a_corrupt_notebook_is_reported_and_the_others_are_graded(house, tmp_path, text):
    (tmp_path / "ana").mkdir()
    (tmp_path / "ana" / "03.ipynb").write_text(text)
    good, lost = notebook(tmp_path / "ben" / "x.ipynb", WASTE), tmp_path / "no.ipynb"
    people = [Learner("ana", tmp_path / "ana" / "03.ipynb"), Learner("ben", good), Learner("cem", lost)]
    ana, *ben, cem = graded(house, people, Limits(), ["paged_waste"])
    assert ana.verdict == cem.verdict == "unreadable" and "03.ipynb is no notebook" in ana.said
    assert [one.points for one in ben] == [1]


def test_a_cell_that_is_no_python_is_wrong_and_says_where(graded_cells):
    found = graded_cells(HEAD + "return (\n", WASTE, only=("blocks_needed", "paged_waste"))
    assert found["blocks_needed"].verdict == "wrong" and "is no Python" in found["blocks_needed"].said
    assert found["paged_waste"].points == 1


def test_of_several_cells_of_one_name_the_last_one_counts(graded_cells):
    right, wrong = "return -(-num_tokens // block_size)", "return 0"
    assert graded_cells(HEAD + wrong, HEAD + right, only=("blocks_needed",))["blocks_needed"].points == 1
    assert graded_cells(HEAD + right, HEAD + wrong, only=("blocks_needed",))["blocks_needed"].points == 0


def test_imports_helpers_and_plain_constants_of_other_cells_are_there_and_calls_are_not_made(graded_cells):
    helper = "def up(a, b):\n    return UP * ceil(a / b)"
    found = graded_cells("from math import ceil\n%matplotlib inline\nUP = 1 * 1", helper,
                         "up = lambda a, b: 0\nraise SystemExit", "!ls", HEAD + "return up(num_tokens, block_size)",
                         only=("blocks_needed",))
    assert found["blocks_needed"].points == 1


def test_a_part_may_use_an_earlier_one_that_the_learner_did_not_solve(graded_cells):
    append = """@exercise
def append_tokens(table, num_tokens, new_tokens, pool, block_size):
    missing = blocks_needed(num_tokens + new_tokens, block_size) - len(table)
    table += pool.take(missing)
    return slot_mapping(table, num_tokens, num_tokens + new_tokens, block_size)
"""
    empty = "@exercise\ndef blocks_needed(num_tokens, block_size):\n    ..."
    found = graded_cells(empty, append, only=("blocks_needed", "append_tokens"))
    assert (found["blocks_needed"].points, found["append_tokens"].points) == (0, 3)


def test_a_wrong_answer_is_told_with_the_mistake_it_looks_like(graded_cells):
    found = graded_cells(HEAD + "return num_tokens // block_size + 1", only=("blocks_needed",))["blocks_needed"]
    assert found.verdict == "wrong" and "expected" in found.said and "exactly full" in found.mistake


def test_a_missing_cell_is_missing_and_a_notebook_of_something_else_says_so(graded_cells):
    found = graded_cells("@exercise\ndef blocks_needed(num_tokens, block_size):\n    ...")
    assert found["blocks_needed"].verdict == "not attempted" and found["BlockPool"].verdict == "missing"
    assert graded_cells("print(1)")[""].verdict == "missing"


def test_copies_of_one_notebook_are_graded_alike(house, tmp_path):
    path = next(path for path in labs("solutions") if path.name.startswith("01"))
    copies = [Path(shutil.copy(path, tmp_path / f"{place}.ipynb")) for place in range(2)]
    one, other = (graded(house, [Learner("ana", copy)], Limits(), ["bytes_per_token"]) for copy in copies)
    assert [(grade.exercise, grade.points) for grade in one] == [(grade.exercise, grade.points) for grade in other]


def test_generators_of_python_and_of_numpy_are_taken_alike(graded_cells):
    for make in ('random.Random(f"{seed} {i}")', "np.random.default_rng([seed, i])"):
        found = graded_cells("import random\nimport numpy as np", "@exercise\ndef sample_generators(seed, n):\n"
                             f"    return [{make} for i in range(n)]", only=("sample_generators",))
        assert found["sample_generators"].verdict == "passed", found


ODD = {"digits": "0x" + "f" * 20_000, "a sum": "+".join(["1"] * 9000), "signs": "-" * 9000 + "1",
       "brackets": "(" * 150 + ")" * 150}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_a_text_that_can_hardly_be_read_costs_nobody_else_anything(graded_cells, value):
    found = graded_cells(f"ODD = {value}", HEAD + f"return {value}", WASTE, only=("blocks_needed", "paged_waste"))
    assert (found["blocks_needed"].points, found["paged_waste"].points) == (0, 1)


def test_a_template_that_is_gone_is_started_anew(house, tmp_path):
    house._process.kill()
    house._process.wait()
    good = notebook(tmp_path / "ben" / "x.ipynb", WASTE)
    (found,) = graded(house, [Learner("ben", good)], Limits(), ["paged_waste"])
    assert found.points == 1
