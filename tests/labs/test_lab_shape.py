"""Every lab keeps the course's rules; and every rule finds what it is there for."""

from __future__ import annotations

import importlib
import re

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.labs import rules
from tests.labs.notebooks import ROOT, builder, cells, committed, is_exercise, names, source, sources

each_lab = pytest.mark.parametrize("name", names())


def test_labs_are_numbered_without_a_gap():
    assert [name[:2] for name in names()] == [f"{number:02}" for number in range(len(names()))]
    assert len(names()) >= 4


def test_committed_notebooks_are_what_their_sources_give():
    assert builder().check(ROOT, builder().find_sources(ROOT)) == []


@each_lab
def test_a_lab_is_committed_clean_but_for_the_verdicts(name):
    for cell in cells(committed("labs", name), "code"):
        if is_exercise(cell):
            assert [output.text.startswith("○ ") and "not attempted" in output.text for output in cell.outputs] == [
                True
            ]
            assert cell.execution_count is not None, "nbval refuses outputs without an execution count"
        else:
            assert cell.outputs == [] and cell.execution_count is None


@each_lab
def test_a_solved_notebook_passes_every_exercise(name):
    for cell in filter(is_exercise, committed("solutions", name).cells):
        assert [output.text[:2] for output in cell.outputs] == ["✓ "], cell.id


@each_lab
def test_no_line_of_a_solution_stands_in_the_lab(name):
    assert leaks(source(name), committed("labs", name)) == []


@each_lab
def test_a_lab_is_short_and_its_file_small(name):
    assert rules.too_long(committed("labs", name)) == []
    assert (ROOT / "labs" / f"{name}.ipynb").stat().st_size < rules.MAX_BYTES


@each_lab
def test_pictures_have_words_and_stay_out_of_the_text(name):
    assert rules.pictures(committed("labs", name)) == []


@each_lab
def test_nothing_shouts(name):
    assert rules.loud(committed("solutions", name)) + rules.loud(committed("labs", name)) == []


@each_lab
def test_no_cell_can_fail_unseen(name):
    assert rules.hidden_from_nbval(committed("solutions", name)) == []


@each_lab
def test_the_parts_of_a_lab_stand_in_the_order_of_the_course(name):
    lab = committed("labs", name)
    assert rules.order(lab, name[:2]) + rules.questions(lab, name[:2]) == []


@each_lab
def test_each_exercise_states_its_stars_and_minutes_as_they_are_declared(name):
    declared = importlib.import_module(f"kvlab.course.exercises.lab{name[:2]}").EXERCISES
    stated, missing = rules.exercise_lines(committed("labs", name))
    assert missing == []
    assert stated == {exercise.name: (exercise.stars, exercise.core, exercise.minutes) for exercise in declared}


@each_lab
def test_links_to_other_labs_lead_somewhere(name):
    text = "\n".join(cell.source for cell in cells(committed("labs", name), "markdown"))
    linked = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in linked if not (ROOT / "labs" / link.split("#")[0]).exists()] == []


# ---------------------------------------------------------------------------------------------- the rules themselves


def leaks(solved: NotebookNode, lab: NotebookNode) -> list[str]:
    """Lines that only solutions hold and that the lab shows all the same."""
    public = "\n".join(cell.source for cell in sources().as_lab(solved).cells if cell.cell_type == "code")
    text = str(lab)
    found = ["a marker"] if "SOLUTION" in text else []
    for cell in cells(solved, "code"):
        for block in re.findall(rf"(?s){sources().BEGIN}\n(.*?){sources().END}", cell.source):
            lines = [line.strip() for line in block.splitlines()]
            found += [
                f"{cell.id}: {line}"
                for line in lines
                if len(line) > 9 and line not in public and repr(line)[1:-1] in text
            ]
    return found


def notebook(*cells_) -> NotebookNode:
    return new_notebook(cells=list(cells_))


BODY = "@exercise\ndef f(x):\n    ### BEGIN SOLUTION\n    return x * 1234\n    ### END SOLUTION\n"


def test_a_leak_is_found_in_code_prose_and_outputs():
    solved = notebook(new_code_cell(BODY))
    out = new_output("stream", name="stdout", text="hint: return x * 1234")
    for cell in (new_code_cell(BODY), new_markdown_cell("try `return x * 1234`"), new_code_cell("...", outputs=[out])):
        assert leaks(solved, notebook(cell))
    assert leaks(solved, sources().as_lab(solved)) == []


def test_lines_of_code_are_counted_without_docstrings_comments_and_blanks():
    assert rules.lines_of_code('def f():\n    """One\n    two."""\n\n    # why\n    return 1  # so\n') == 2


def test_each_rule_finds_what_it_is_there_for():
    long = notebook(
        new_markdown_cell("word " * 1501), new_code_cell("x = 1\n" * 13), *[new_code_cell(BODY) for _ in range(7)]
    )
    assert len(rules.too_long(long)) == 3
    assert (
        len(rules.pictures(notebook(new_markdown_cell("![](a.png) <img src='b'> ![x](data:image/png;base64,AA)")))) == 3
    )
    loud = notebook(new_markdown_cell("Well done!"), new_code_cell('print(f"go! {x!r}", x != 1)  # \U0001f389'))
    assert len(rules.loud(loud)) == 3
    assert (
        rules.loud(
            notebook(new_markdown_cell("`a != b` ★★☆ ![alt](x.png)"), new_code_cell('f"{x!r}" if x != 1 else 0'))
        )
        == []
    )
    tagged = new_code_cell("%time x\n# NBVAL_SKIP", metadata={"tags": ["raises-exception"]})
    assert len(rules.hidden_from_nbval(notebook(tagged))) == 3
    assert len(rules.exercise_lines(notebook(new_markdown_cell("★☆ · core · 3 min"), new_code_cell(BODY)))[1]) == 1


def test_parts_out_of_order_and_missing_are_found():
    lab = notebook(new_markdown_cell("# 03"), new_code_cell('say_it("03", ...)'), new_code_cell('recall("a", ...)'))
    found = rules.order(lab, "03")
    assert "lab: say it stands before recall" in found and "lab: no bug hunt" in found
