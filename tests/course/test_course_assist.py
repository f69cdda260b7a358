"""`hint`, `help_me` and `solution`: what a learner asks for."""

from __future__ import annotations

import json

from kvlab.course import notebooks
from kvlab.course.session import restart
from tests.course.cells import fits

WRONG = "def blocks_up(n, b):\n    print('n is', n)\n    return helper(n)"


def test_hints_come_one_by_one_for_the_exercise_checked_last(notebook):
    notebook.exercise(WRONG)
    assert notebook.run("hint()") == "Hint 1 of 3 for blocks_up: How many blocks do 17 tokens need?"
    assert notebook.run("hint()") == "Hint 2 of 3 for blocks_up: Round up."
    assert notebook.run("hint()") == "Hint 3 of 3 for blocks_up: Negate, divide, negate."
    last = notebook.run("hint()").splitlines()[-1]
    assert last == 'There are no more hints. solution("blocks_up") shows one way to write it.'
    assert len(notebook.run("hint()").splitlines()) == 4


def test_a_hint_can_be_asked_for_by_name_or_by_the_object(notebook):
    assert "Hint 1 of 3 for Shelf" in notebook.run("hint('Shelf')")
    notebook.run("open_lab('97')")
    assert "Hint 2 of 3 for Shelf" in notebook.run("hint(Shelf)")


def test_asking_before_anything_was_checked_or_for_an_unknown_name_is_answered(notebook):
    for asked in ("hint", "help_me", "solution"):
        assert notebook.run(f"{asked}()") == f'No exercise was checked yet, so name one: {asked}("round_up_to_block").'
        said = notebook.run(f"{asked}('shelff')")
        assert said == "shelff is not an exercise of this course. Did you mean Shelf?"
        assert "is not an exercise" in notebook.run(f"{asked}(3)")
    assert "was not checked since the kernel started" in notebook.run("help_me('Shelf')")


def test_a_lab_that_was_opened_names_its_own_exercise_and_a_piece_of_a_name_is_enough(notebook):
    notebook.run("open_lab('97')")
    assert notebook.run("hint()") == 'No exercise was checked yet, so name one: hint("blocks_up").'
    assert notebook.run("hint('roundup')").endswith("Did you mean round_up_to_block?")
    assert notebook.run("hint('zzz')") == "zzz is not an exercise of this course."


def test_help_shows_the_learners_own_lines_and_what_was_printed(notebook):
    notebook.run("def helper(n):\n    return deeper(n)\ndef deeper(n):\n    return n / 0")
    notebook.exercise(WRONG)
    assert notebook.run("help_me()").splitlines() == [
        "✗ blocks_up(num_tokens=1, block_size=16) raised ZeroDivisionError: division by zero, expected 1.",
        "Where, in your code:",
        "    line 4, in blocks_up: return helper(n)",
        "    line 2, in helper: return deeper(n)",
        "    line 4, in deeper: return n / 0",
        "Your code printed:",
        "    n is 1",
        "Until it passes, blocks_up means tests.course.small.blocks_up in the other cells.",
        "Next: look at line 4: return n / 0."]


def test_help_shows_long_values_in_full_and_long_prints_by_their_end(notebook):
    notebook.exercise("def halves(numbers):\n    for n in numbers:\n        print(n)\n"
                      "    return [n / 2 + (n == 199) for n in numbers]")
    said = notebook.run("help_me()")
    assert "It returned: [0.0, 0.5, 1.0, 1.5, 2.0" in said and "in its last 15 lines:" in said
    assert "    199" in said and "    184" not in said and len(said.splitlines()) < 40


def test_help_after_a_pass_repeats_the_verdict(notebook):
    notebook.exercise("def grow(table, extra):\n    table += [0] * extra\n    return len(table)")
    assert notebook.run("help_me()") == "✓ grow: in place"


def test_help_for_endless_recursion_is_short(notebook):
    notebook.exercise("def blocks_up(n, b):\n    return blocks_up(n, b)")
    assert len(notebook.run("help_me()").splitlines()) < 12


def test_a_solution_is_the_solved_cell_with_a_diff(notebook, monkeypatch, tmp_path):
    solved = ('@exercise\ndef grow(table, extra):\n    """Grows."""\n    ### BEGIN SOLUTION\n'
              '    table.extend([0] * extra)\n    return len(table)\n    ### END SOLUTION\n')
    (tmp_path / "97_small.ipynb").write_text(json.dumps({"cells": [
        {"cell_type": "code", "source": ["%matplotlib inline\n"]}, {"cell_type": "code", "source": solved}]}))
    monkeypatch.setattr(notebooks, "folder", lambda name: tmp_path if name == "solutions" else None)
    notebook.exercise('def grow(table, extra):\n    """Grows."""\n    return len(table)')
    assert notebook.run("solution()").splitlines() == [
        "def grow(table, extra):", '    """Grows."""', "    table.extend([0] * extra)", "    return len(table)", "",
        "--- yours", "+++ solution", "@@ -1,3 +1,4 @@", " def grow(table, extra):", '     """Grows."""',
        "+    table.extend([0] * extra)", "     return len(table)"]


def test_a_solution_without_a_notebook_is_the_finished_part(notebook):
    said = notebook.run("solution('grow')")
    assert said.startswith('def grow(table, extra):\n    """Appends') and "yours" not in said


def test_a_solution_like_the_learners_own_says_so(notebook):
    notebook.exercise('def grow(table, extra):\n'
                      '    """Appends `extra` zeros to `table` in place and returns the new length."""\n'
                      '    table.extend([0] * extra)\n    return len(table)')
    assert notebook.run("solution()").endswith("Yours is the same, to the letter.")


def test_hints_go_on_after_a_restart(notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("KVLAB_PROGRESS", str(tmp_path / "p.json"))
    restart()
    notebook.run("hint('grow')")
    restart()
    assert "Hint 2 of 3" in notebook.run("hint('grow')")
    assert fits(notebook.run("hint('grow')"))
