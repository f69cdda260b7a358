"""solutions/build.py on small sources: what it refuses, what it replaces, and that two builds are one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import nbformat
import pytest

from tests.labs.notebooks import builder, cells, sources

SAMPLE = '''\
# %% [markdown] id="title"
# # Sample

# %% id="setup" tags=["nbval-ignore-output"]
import time

from IPython.display import display


def exercise(part):
    print("○ not attempted" if part(2) is None else "✓ passed")


print(time.time())

# %% id="guess"
### BEGIN SOLUTION
guess = 64
words = """two
lines"""
### END SOLUTION
print(guess)

# %% id="ex-double"
@exercise
def double(number):
    """Twice `number`."""
    ### BEGIN SOLUTION
    twice = number * 2
    return twice
    ### END SOLUTION


# %% id="picture"
from kvlab_sample import Picture

print("before")
display(Picture())
for step in range(3):
    print(step, flush=True)
'''
PICTURE = """
import zlib
from ipywidgets import IntSlider
class Picture:
    def _repr_mimebundle_(self, **options):
        from matplotlib.figure import Figure
        import io
        figure, png = Figure((2, 1)), io.BytesIO()
        figure.subplots().plot([1, 2])
        figure.savefig(png)
        return IntSlider()._repr_mimebundle_() | {"text/plain": "a line that rises", "image/png": png.getvalue()}
"""


@pytest.fixture()
def course(tmp_path: Path) -> Path:
    for folder in ("solutions", "labs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kvlab_sample.py").write_text(PICTURE)
    (tmp_path / "solutions" / "03_sample.py").write_text(SAMPLE)
    return tmp_path


def refuse(tmp_path: Path, text: str) -> str:
    path = tmp_path / "07_bad.py"
    path.write_text(textwrap.dedent(text))
    with pytest.raises(builder().BuildError) as caught:
        builder().read_source(path)
    return str(caught.value).removeprefix(str(path))


def test_a_cell_without_an_id_is_refused_with_its_line(tmp_path):
    assert refuse(tmp_path, '# %% id="a"\nx = 1\n\n# %% [markdown]\n# Text\n').startswith(":4: a cell without an id")


def test_an_id_used_twice_is_refused_with_both_lines(tmp_path):
    message = refuse(tmp_path, '# %% id="a"\nx = 1\n\n# %% id="a"\ny = 1\n')
    assert message.startswith(":4: the id 'a' is taken") and "line 1" in message


def test_code_before_the_first_cell_is_refused(tmp_path):
    assert refuse(tmp_path, 'import os\n\n# %% id="a"\nx = 1\n').startswith(":1: text before")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["### BEGIN SOLUTION", "x = 1"], ":2: ### BEGIN SOLUTION is not closed"),
        (["x = 1", "### END SOLUTION"], ":3: ### END SOLUTION without"),
        (
            ["### BEGIN SOLUTION", "### BEGIN SOLUTION"],
            ":3: ### BEGIN SOLUTION inside the solution that began in line 2",
        ),
        (["x = 1  ### BEGIN SOLUTION", "### END SOLUTION"], ":2: a marker stands alone"),
        (["## begin solution", "### END SOLUTION"], ":2: a marker stands alone"),
    ],
)
def test_a_misplaced_marker_is_refused_with_its_line(tmp_path, lines, message):
    assert refuse(tmp_path, "\n".join(['# %% id="a"', *lines, '# %% id="b"', "y = 1", ""])).startswith(message)


def test_a_marker_in_markdown_is_refused(tmp_path):
    message = refuse(tmp_path, '# %% [markdown] id="a"\n# ### BEGIN SOLUTION\n')
    assert message == ":2: a solution marker in a Markdown cell"


@pytest.mark.parametrize(
    ("solution", "lab"),
    [
        ("guess = 64\nother: int = (1 +\n    2)", "guess = ...\nother = ..."),
        ("guess = 64\nprint(guess)", "..."),
        ("a, b = 1, 2", "..."),
        ("total += 1", "..."),
        ("# only a comment", "..."),
    ],
)
def test_top_level_assignments_keep_their_names_and_all_else_becomes_dots(solution, lab):
    text = f"x = 0\n### BEGIN SOLUTION\n{solution}\n### END SOLUTION\nprint(x)"
    assert sources().without_solutions(text) == f"x = 0\n{lab}\nprint(x)"


def test_an_indented_assignment_is_a_body_and_becomes_dots():
    text = "def f():\n    ### BEGIN SOLUTION\n    x = 1\n    ### END SOLUTION\n    return x"
    assert sources().without_solutions(text) == "def f():\n    ...\n    return x"


@pytest.mark.notebooks
def test_two_builds_are_identical_to_the_byte_and_the_lab_keeps_only_the_verdict(course):
    source = course / "solutions" / "03_sample.py"
    first = [path.read_bytes() for path in builder().build(source)]
    assert [path.read_bytes() for path in builder().build(source)] == first

    solved, lab = (nbformat.reads(text.decode(), as_version=4) for text in first)
    assert (
        [cell.id for cell in solved.cells]
        == [cell.id for cell in lab.cells]
        == ["title", "setup", "guess", "ex-double", "picture"]
    )
    setup, guess, verdict, picture = cells(lab, "code")
    assert verdict.outputs[0].text == "○ not attempted\n" and verdict.execution_count
    assert [cell.outputs or cell.execution_count for cell in (setup, guess, picture)] == [None] * 3
    assert "twice" not in first[1].decode() and guess.source == "guess = ...\nwords = ...\nprint(guess)"

    setup, guess, verdict, picture = cells(solved, "code")
    assert setup.outputs == [] and guess.outputs[0].text == "64\n" and verdict.outputs[0].text == "✓ passed\n"
    assert [sorted(output.get("data", [output.get("text")])) for output in picture.outputs] == [
        ["before\n"],
        ["image/png", "text/plain"],
        ["0\n1\n2\n"],
    ]
    assert b"widget" not in first[0].replace(b"ipywidgets", b"") and b'execution"' not in first[0]


@pytest.mark.notebooks
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import sys; print('careful', file=sys.stderr)", "cell last: wrote to stderr: careful"),
        ("object()", "cell last: prints the memory address 0x"),
        ("%no_such_magic\nraise ValueError", "no_such_magic"),
    ],
)
def test_a_cell_that_cannot_be_committed_stops_the_build(course, code, message):
    source = course / "solutions" / "03_sample.py"
    source.write_text(f'# %% id="last"\n{code}\n')
    with pytest.raises(builder().BuildError, match=message):
        builder().build(source)
    assert not (course / "solutions" / "03_sample.ipynb").exists()


def test_check_finds_a_changed_source_a_missing_notebook_and_both_kinds_of_orphan(course, capsys):
    build, source = builder(), course / "solutions" / "03_sample.py"
    solved = build.read_source(source)
    for path, notebook in zip(build.targets(source), (solved, build.as_lab(solved)), strict=True):
        path.write_text(build.to_text(notebook))
    arguments = ["--check", "--root", str(course)]
    assert build.main(arguments) == 0

    source.write_text(SAMPLE.replace("# # Sample", "# # Changed"))
    assert build.main(arguments) == 1 and capsys.readouterr().out.count("not what 03_sample.py gives") == 2

    source.rename(course / "solutions" / "04_renamed.py")
    assert build.main(arguments) == 1
    report = capsys.readouterr().out
    assert report.count("missing") == 2 and report.count("no source in solutions/ builds it") == 2
