"""Every figure in the prose comes out of a cell (DESIGN section 6); the rule itself is in `numbers.py`."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.labs.notebooks import committed, names
from tests.labs.prose_numbers import literals, numbers_in, prose_numbers, unsupported


@pytest.mark.parametrize("name", names())
def test_every_figure_in_the_prose_is_computed_or_asserted(name):
    assert unsupported(committed("solutions", name)) == []


def figures(text: str) -> list[str]:
    return [number[0] for number in prose_numbers(text)]


def test_figures_are_read_with_separators_percent_signs_and_units():
    assert figures("524,288 tokens, 64 GiB, 15.5 %, 20-38 %, 16-token blocks, 2.3x, an 8k context.") == [
        "524,288", "64", "15.5%", "20", "38%", "16", "2.3", "8k",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "`64 * 2**30` and\n```\n99\n```",
        "Llama 3 8B in bf16 on an A100-80 keeps I3",
        "see [lab 03](03_blocks.ipynb) after labs 01 and 02, then lab 11",
        "Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180), section 4",
        "1. first\n2. second",
        "★★☆ · core · 10 min",
        "an 80 GB card",
    ],
)
def test_what_is_no_figure_is_not_looked_at(text):
    assert figures(text) == []


def test_outputs_and_code_are_read_as_numbers():
    assert numbers_in("524,288 tokens, 15.47%, 2.0e12, (1, 2), [3,4]") >= {524288, 15.47, 2e12, 1, 2, 3, 4}
    assert literals("x = 64 * 2**30\nprint(f'{x:22}', 'text 5')") >= {64 * 2**30}
    assert 22 not in literals("print(f'{x:22}', 'text 5')") and 5 not in literals("'text 5'")
    assert literals("x = 7\nassert f(3) == 411", asserts_only=True) == {3, 411}


def lab(prose: str, output: str = "", code: str = "f()", more: str = "## Next"):
    out = [new_output("stream", name="stdout", text=output)]
    cells = [new_markdown_cell(prose), new_markdown_cell(more), new_code_cell(code, outputs=out)]
    return new_notebook(cells=cells)


@pytest.mark.parametrize(
    ("prose", "output"),
    [
        ("411 fit", "fit 411"),
        ("15.5 % and 15 %", "0.1547"),
        ("15.5 %", "15.47%"),
        ("524,288", "524288"),
        ("524288", "524,288"),
        ("about 1,268", "1,267.6"),
        ("64 GiB", "64.0 GiB"),
        ("about 524,000 tokens", "524,288"),
    ],
)
def test_a_figure_that_an_output_gives_is_supported(prose, output):
    assert unsupported(lab(prose, output)) == []


@pytest.mark.parametrize(
    ("prose", "output", "code"),
    [
        ("411 fit", "fit 410", "f()"),
        ("15.5 %", "15.4", "f()"),
        ("2 blocks", "1.6", "f()"),
        ("411 fit", "", "g(411)"),
        ("411 fit", "with which 411 fit", 'say_it("99", words)'),
        ("400 fit", "Your prediction: 400.\nPredicted 400, actual 411: close.", "f()"),
    ],
)
def test_a_figure_that_no_cell_gives_is_found(prose, output, code):
    assert len(unsupported(lab(prose, output, code))) == 1


def test_a_given_counts_in_its_own_section_and_an_assertion_everywhere():
    assert unsupported(lab("for 300 tokens", code="f(300)", more="So:")) == []
    assert unsupported(lab("411 fit", code="assert fit == 411")) == []
