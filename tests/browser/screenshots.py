"""Look at a lab as a learner sees it: `python -m tests.browser.screenshots LAB.ipynb OUTDIR [--dark] [--width 1280]`.

Opens a copy of the notebook in JupyterLab, runs all cells, saves one picture per screenful, and prints what looks
wrong: error boxes, stderr, dead widgets, wide outputs, console errors. Nothing is written beside the notebook.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.browser.jupyter import chromium, jupyter_lab
from tests.browser.page import NotebookPage, browser_page

SCROLLER = "document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer')"
OVERLAP = 60  # pixels that two pictures share


def photograph(
    lab: Path, out: Path, dark: bool = False, width: int = 1280, height: int = 1000, run: bool = True
) -> list[str]:
    """Save the pictures of `lab` into `out`; returns what looks wrong."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder, state = Path(scratch, "labs"), Path(scratch, "state")
        folder.mkdir(), state.mkdir()
        shutil.copy(lab, folder)
        with jupyter_lab(folder, state, dark) as server, browser_page(width, height, dark) as page:
            noise: list[str] = []
            page.on(
                "console",
                lambda message: noise.append(f"console: {message.text[:300]}") if message.type == "error" else None,
            )
            notebook = NotebookPage(page, server, lab.name)
            if run:
                notebook.run_all()
            page.wait_for_timeout(1500)  # pictures and widgets settle
            _save_steps(page, out / f"{lab.stem}-{'dark' if dark else 'light'}-{width}")
            return notebook.problems() + noise


def _save_steps(page, stem: Path) -> None:
    room = page.evaluate(f"() => {SCROLLER}.clientHeight")
    total = page.evaluate(f"() => {SCROLLER}.scrollHeight")
    steps = range(0, max(total - OVERLAP, 1), room - OVERLAP)
    for number, top in enumerate(steps, 1):
        page.evaluate(f"top => {{ {SCROLLER}.scrollTop = top; }}", top)
        page.wait_for_timeout(250)
        page.screenshot(path=f"{stem}-{number:02}.png")
    print(f"{len(steps)} pictures: {stem}-NN.png")


def main() -> int:
    """The command line; 1 if something looks wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__.splitlines()[0])
    parser.add_argument("lab", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=1000)
    parser.add_argument("--no-run", action="store_true", help="show the outputs that are stored in the file")
    options = parser.parse_args()
    if not chromium():
        print("no chromium on PATH; install the distribution's, or name one in CHROMIUM", file=sys.stderr)
        return 1
    wrong = photograph(options.lab, options.out, options.dark, options.width, options.height, not options.no_run)
    print("\n".join(wrong) or "nothing looks wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
