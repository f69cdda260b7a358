"""One real browser works through lab 03 as a learner does, from a fresh folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is a development dependency: pip install -e '.[dev]'")

from tests.browser.jupyter import chromium, jupyter_lab
from tests.browser.page import NotebookPage, browser_page
from tests.labs.notebooks import cells, committed, is_exercise

LAB = "03_blocks_and_tables"
EXPLORER, EXERCISE, LAST = "explorer-pool", "ex-blocks-needed", "close-lab"
SIGNATURE = "@exercise\ndef blocks_needed(num_tokens, block_size):\n    return "
WRONG, RIGHT = SIGNATURE + "num_tokens // block_size + 1", SIGNATURE + "-(-num_tokens // block_size)"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not chromium(), reason="no chromium: install the distribution's, or name one in CHROMIUM"),
]


@pytest.fixture()
def lab(tmp_path: Path):
    """Lab 03 of a fresh `my-labs`, open in a browser, and the folder."""
    folder, state = tmp_path / "my-labs", tmp_path / "state"
    state.mkdir()
    start = "import sys; from kvlab.cli.main import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", start, "start", "--no-lab", str(folder)], cwd=tmp_path, check=True)
    with jupyter_lab(folder, state) as server, browser_page() as page:
        yield NotebookPage(page, server, f"{LAB}.ipynb"), folder


def picture(lab: NotebookPage) -> bytes:
    return lab.cell(EXPLORER).locator("img").first.screenshot()


def moves_the_slider_and_sees_another_picture(lab: NotebookPage) -> None:
    before = picture(lab)
    lab.cell(EXPLORER).locator(".noUi-handle").first.focus()
    lab.page.keyboard.press("ArrowRight")
    for _ in range(50):
        if picture(lab) != before:
            return
        lab.page.wait_for_timeout(100)
    raise AssertionError("the picture stayed as it was for five seconds")


def test_a_learner_works_through_lab_03(lab):
    notebook, folder = lab
    notebook.run_all()
    assert notebook.problems() == []
    for cell in filter(is_exercise, cells(committed("labs", LAB), "code")):
        assert notebook.output(cell.id).startswith("○ "), cell.id

    moves_the_slider_and_sees_another_picture(notebook)

    notebook.write(EXERCISE, WRONG)
    verdict = notebook.run(EXERCISE)
    assert verdict.startswith("✗ blocks_needed(") and "Next:" in verdict
    notebook.write(EXERCISE, RIGHT)
    assert notebook.run(EXERCISE).startswith("✓ blocks_needed")

    notebook.save()
    notebook.restart_kernel()
    notebook.run("setup")
    notebook.write(LAST, "print(progress())")
    lines = [line for line in notebook.run(LAST).splitlines() if "blocks_needed" in line]
    assert lines and "✓" in lines[0]
    assert "blocks_needed" in json.dumps(json.loads((folder / "kvlab-progress.json").read_text()))
