"""Every lab, solved, in a real browser: it runs to its end, and looks right on a small and on a large screen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is a development dependency: pip install -e '.[dev]'")

from tests.browser.jupyter import chromium, jupyter_lab
from tests.browser.page import NotebookPage, browser_page
from tests.labs.notebooks import ROOT, cells, committed, is_exercise, names

WIDTHS = (1280, 1920)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not chromium(), reason="no chromium: install the distribution's, or name one in CHROMIUM"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """JupyterLab on a folder with every solved lab."""
    folder, state = (tmp_path_factory.mktemp(name) for name in ("labs", "state"))
    for name in names():
        shutil.copy(ROOT / "solutions" / f"{name}.ipynb", folder)
    with jupyter_lab(Path(folder), Path(state)) as running:
        yield running


@pytest.mark.parametrize("name", names())
def test_a_solved_lab_passes_and_looks_right_on_both_screens(server, name: str) -> None:
    with browser_page(WIDTHS[0]) as page:
        lab = NotebookPage(page, server, f"{name}.ipynb")
        lab.run_all()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 1000})
            page.wait_for_timeout(500)  # pictures and widgets settle
            assert lab.problems() == [], width
        for cell in filter(is_exercise, cells(committed("solutions", name), "code")):
            assert lab.output(cell.id).startswith("✓ "), cell.id
        lab.command("notebook:shutdown-kernel")
