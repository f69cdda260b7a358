"""Exercises whose part is a kernel: the same verdicts, the same limits, and mistakes that are told apart."""

from __future__ import annotations

import dataclasses

import pytest

from kvlab.course import registry
from kvlab.course.interpreter import hooks
from kvlab.course.judge import judge
from tests.course import gates
from tests.course.cells import Notebook, fits
from tests.course.interpreter import kernels
from tests.course.interpreter.masked_copy import MASKED_COPY, masked_copy

HEAD = "@triton.jit\ndef masked_copy(source, target, n, TILE: tl.constexpr):\n"
INDEX = "    i = tl.program_id(0) * TILE + tl.arange(0, TILE)\n"


@pytest.fixture
def notebook():
    with registry.declared(dataclasses.replace(MASKED_COPY, seconds=2.0)):
        opened = Notebook()
        opened.run("import triton\nimport triton.language as tl")
        yield opened


def test_the_finished_part_passes():
    gates.finished_part_passes(MASKED_COPY)
    assert judge(MASKED_COPY, masked_copy).text == "✓ masked_copy: whole tiles · a ragged end"


@pytest.mark.parametrize("index", range(5), ids=lambda index: MASKED_COPY.mistakes[index].code.__name__)
def test_each_mistake_is_called_by_its_name(index):
    gates.mistake_is_rejected_with_its_own_message(MASKED_COPY, index)


def test_a_learners_kernel_passes_and_is_bound(notebook):
    said = notebook.exercise(HEAD + INDEX + "    tl.store(target + i, tl.load(source + i, i < n), i < n)")
    assert said == "✓ masked_copy: whole tiles · a ragged end"
    assert notebook.names["masked_copy"] is not masked_copy


def test_a_fault_names_the_learners_line_and_the_mistake(notebook):
    said = notebook.exercise(HEAD + INDEX + "    numbers = tl.load(source + i)\n"
                             "    tl.store(target + i, numbers, mask=i < n)")
    assert fits(said)
    flat = " ".join(said.split())
    assert "reads source past its end: element 100, and it has 100 elements." in flat
    assert "Program 1, line 3: numbers = tl.load(source + i)." in flat
    assert "The load has no mask" in flat
    assert notebook.names["masked_copy"] is masked_copy
    assert "numbers = tl.load(source + i)" in notebook.run("help_me()")


def test_wrong_numbers_name_the_first_element(notebook):
    said = notebook.exercise(HEAD + INDEX + "    tl.store(target + i, 2 * tl.load(source + i, i < n), i < n)")
    assert said.splitlines()[0] == "✗ masked_copy: target[0] is 2, expected 1; 64 of 64 elements are wrong."


def test_what_was_never_stored_is_said(notebook):
    said = notebook.exercise(HEAD + "    n = n")
    assert said.splitlines()[0].startswith("✗ masked_copy: target[0] was never written, expected 1;")


@pytest.mark.parametrize("body", ["...", "pass", "raise NotImplementedError", '"""Copies."""\n    ...'])
def test_an_untouched_kernel_is_not_attempted(notebook, body):
    assert notebook.exercise(HEAD + "    " + body).startswith("○ masked_copy: not attempted.")


def test_a_function_without_jit_is_told_what_is_missing(notebook):
    said = notebook.exercise("def masked_copy(source, target, n, TILE):\n    return 1")
    assert said.splitlines()[0] == "✗ masked_copy: is no Triton kernel."
    assert "put @triton.jit on the line above its def" in said


@pytest.mark.parametrize("body, said", [
    ("tl.store(target, sauce)", "raised NameError: name 'sauce' is not defined."),
    ("tl.arange(0, 60)", "raised ValueError: arange's range must be a power of 2"),
    ("raise SystemExit", "ended the program"),
    ("while True:\n        n += 1", "did not finish within 2 s.")])
def test_whatever_a_kernel_raises_stays_a_verdict(notebook, body, said):
    text = notebook.exercise(HEAD + "    " + body)
    assert fits(text) and said in text, text


def test_parameters_that_are_gone_are_named(notebook):
    said = notebook.exercise("@triton.jit\ndef masked_copy(source, target):\n    tl.store(target, tl.load(source))")
    assert "takes (source, target), but is launched with (source, target, n, TILE)." in said


def test_a_kernel_that_changes_its_input_is_wrong(notebook):
    said = notebook.exercise(HEAD + INDEX + "    x = tl.load(source + i, mask=i < n)\n"
                             "    tl.store(target + i, x, mask=i < n)\n    tl.store(source + i, 0.0, mask=i < n)")
    assert "stores into source, expected it to be read alone." in said


def test_the_finished_part_is_not_checked_in_the_learners_place(notebook):
    notebook.names["finished"] = masked_copy
    assert "nothing of yours to check" in notebook.run("kept = exercise(finished)")


@kernels.interpreted
def test_a_triton_that_the_guard_does_not_know_is_said_once(notebook, monkeypatch):
    monkeypatch.setattr(hooks, "NEEDED", (*hooks.NEEDED, "gone_in_the_next_version"))
    right = HEAD + INDEX + "    tl.store(target + i, tl.load(source + i, i < n), i < n)"
    first, second = notebook.exercise(right).splitlines(), notebook.exercise(right).splitlines()
    assert first[0] == second[0] == "✓ masked_copy: whole tiles · a ragged end"
    assert first[1].startswith("The bounds guard does not fit Triton") and len(second) == 1


def test_autotuning_is_told_what_to_do_instead(notebook):
    said = notebook.exercise("@triton.autotune([triton.Config({'TILE': 32})], key=['n'])\n" + HEAD + "    n = n")
    assert fits(said)
    flat = " ".join(said.split())
    assert "@triton.autotune measures on a GPU" in flat and "leave it out" in flat
