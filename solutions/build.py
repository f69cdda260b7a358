"""Build the notebooks: `solutions/NN_name.py` is the only file an author edits.

`python solutions/build.py` writes, for every source, `solutions/NN_name.ipynb` (solved and executed) and
`labs/NN_name.ipynb` (what stands between `### BEGIN SOLUTION` and `### END SOLUTION` becomes `...`; no outputs, except
the verdict under each exercise). `--lab 03` builds one lab; `--check` writes nothing, and fails where a committed
notebook is not what its source gives.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from _colab import address, with_colab
from _execute import execute, with_verdicts_only
from _source import BuildError, as_lab, read_source
from nbformat import NotebookNode


def targets(source: Path) -> tuple[Path, Path]:
    """Where the solved notebook and the student's lab of `source` are written."""
    return source.with_suffix(".ipynb"), source.parent.parent / "labs" / f"{source.stem}.ipynb"


def build(source: Path) -> list[Path]:
    """Execute both notebooks of `source`, then write both: a source that fails leaves the files as they were."""
    solved, (solved_path, lab_path) = read_source(source), targets(source)
    lab_path.parent.mkdir(exist_ok=True)
    done = execute(solved, solved_path.parent, f"solutions/{solved_path.name}")
    bare = with_colab(as_lab(solved), address(source.parent.parent))
    lab = with_verdicts_only(execute(bare, lab_path.parent, f"labs/{lab_path.name}"))
    solved_path.write_text(to_text(done), encoding="utf-8")
    lab_path.write_text(to_text(lab), encoding="utf-8")
    return [solved_path, lab_path]


def to_text(notebook: NotebookNode) -> str:
    """The file's text; nbformat sorts keys, and refuses a notebook that breaks its schema."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def without_outputs(notebook: NotebookNode) -> str:
    """The notebook's text with neither outputs nor execution counts."""
    bare = copy.deepcopy(notebook)
    for cell in bare.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return to_text(bare)


def check(root: Path, sources: list[Path]) -> list[str]:
    """What differs, outputs aside, between the committed notebooks under `root` and their sources, orphans included."""
    wrong = []
    for source in sources:
        solved = read_source(source)
        lab = with_colab(as_lab(solved), address(root))
        for path, notebook in zip(targets(source), (solved, lab), strict=True):
            if not path.exists():
                wrong.append(f"{path}: missing; run `make notebooks`")
            elif without_outputs(nbformat.read(path, as_version=4)) != without_outputs(notebook):
                wrong.append(f"{path}: not what {source.name} gives; edit the source and run `make notebooks`")
    return wrong + [f"{path}: no source in solutions/ builds it" for path in orphans(root)]


def orphans(root: Path) -> list[Path]:
    """Notebooks in solutions/ and labs/ without a source."""
    expected = {target for source in find_sources(root) for target in targets(source)}
    present = [*root.glob("solutions/*.ipynb"), *root.glob("labs/*.ipynb")]
    return sorted(path for path in present if path not in expected)


def find_sources(root: Path, lab: str | None = None) -> list[Path]:
    """Sources `solutions/NN_name.py` in order, or those whose name begins with `lab`."""
    return sorted(path for path in root.glob("solutions/[0-9][0-9]_*.py") if path.stem.startswith(lab or ""))


def warm_up() -> None:
    """Let matplotlib list the fonts of a new machine here: in a cell it would say so on stderr."""
    with contextlib.suppress(ImportError):
        importlib.import_module("matplotlib.font_manager")


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if all is well, 1 if a source or notebook is wrong."""
    parser = argparse.ArgumentParser(
        prog="build.py", description="Build labs/ and solutions/*.ipynb from solutions/NN_name.py."
    )
    parser.add_argument("--lab", help="only the sources whose name begins with this, such as 03")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a committed notebook is not what its source gives"
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parent.parent,
        help="folder that holds solutions/ and labs/",
    )
    options = parser.parse_args(arguments)
    sources = find_sources(options.root, options.lab)
    try:
        if not sources:
            raise BuildError(f"{options.root / 'solutions'}: no source {options.lab or 'NN'}_name.py")
        if options.check:
            wrong = check(options.root, sources)
            print("\n".join(wrong) or f"{len(sources)} sources, {2 * len(sources)} notebooks: all match")
            return int(bool(wrong))
        warm_up()
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for paths in pool.map(build, sources):
                print("wrote", *(path.relative_to(options.root) for path in paths))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
