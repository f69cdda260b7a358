"""Build the notebooks: `solutions/NN_name.py` is the only file an author edits.

`python solutions/build.py` writes, for every source, `solutions/NN_name.ipynb` (solved and executed) and `labs/NN_name.ipynb`
(what stands between `### BEGIN SOLUTION` and `### END SOLUTION` becomes `...`; no outputs, except the verdict under each exercise).
`--lab 03` builds one lab, `--check` writes nothing and fails where a committed notebook is not what its source gives.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import re
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
CELL_TIMEOUT = 120  # seconds, the limit nbval runs with
IGNORE = "nbval-ignore-output"
WIDGET = "application/vnd.jupyter.widget-view+json"
HEADER = re.compile(r"# ?%%")
CELL_ID = re.compile(r'\bid="([A-Za-z0-9_-]{1,64})"')
EXERCISE = re.compile(r"^@exercise\b", re.MULTILINE)
ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")
METADATA = {  # nothing in it depends on the machine that builds
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"},
}


class BuildError(Exception):
    """What is wrong, beginning with `file:line:` or `file: cell id:`."""


# ------------------------------------------------------------------------------------------------------------ reading


def read_source(path: Path) -> NotebookNode:
    """The solved notebook in `path`, not executed. Cell ids are those of the source; missing, doubled or malformed ids are refused."""
    text = path.read_text(encoding="utf-8")
    ids = _cell_ids(path, text)
    check_markers(path, text)
    notebook = jupytext.reads(text, fmt="py:percent")
    if len(notebook.cells) != len(ids):
        raise BuildError(f"{path}:1: text before the first `# %%` line belongs to no cell")
    for cell, cell_id in zip(notebook.cells, ids):
        cell.id = cell_id
        cell.metadata = NotebookNode({"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {})
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _cell_ids(path: Path, text: str) -> list[str]:
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if HEADER.match(line):
            found = CELL_ID.search(line)
            if not found:
                raise BuildError(f'{path}:{number}: a cell without an id; write `# %% id="a-name"`')
            if found[1] in seen:
                raise BuildError(f"{path}:{number}: the id {found[1]!r} is taken by the cell of line {seen[found[1]]}")
            seen[found[1]] = number
    return list(seen)


def check_markers(path: Path, text: str) -> None:
    """Refuse solution markers that are not alone on their line, stray, nested, unclosed at the end of their cell, or in Markdown."""
    opened, markdown = 0, False
    for number, line in enumerate([*text.splitlines(), "# %%"], 1):
        where = f"{path}:{number}:"
        if HEADER.match(line):
            if opened:
                raise BuildError(f"{path}:{opened}: {BEGIN} is not closed in its cell")
            markdown = "[markdown]" in line
        elif re.search(r"#\s*(BEGIN|END)\s+SOLUTION", line, re.IGNORECASE):
            marker = line.strip()
            if marker not in (BEGIN, END):
                raise BuildError(f"{where} a marker stands alone on its line, as `{BEGIN}` or `{END}`")
            if markdown:
                raise BuildError(f"{where} a solution marker in a Markdown cell")
            if marker == BEGIN and opened:
                raise BuildError(f"{where} {BEGIN} inside the solution that began in line {opened}")
            if marker == END and not opened:
                raise BuildError(f"{where} {END} without a {BEGIN}")
            opened = number if marker == BEGIN else 0


# ----------------------------------------------------------------------------------------------------- the student's lab


def as_lab(notebook: NotebookNode) -> NotebookNode:
    """The student's notebook: the same cells and ids, with `...` for every solution."""
    lab = copy.deepcopy(notebook)
    for cell in lab.cells:
        if cell.cell_type == "code":
            cell.source = without_solutions(cell.source)
    return lab


def without_solutions(source: str) -> str:
    """`source` with each solution replaced: top-level assignments by `name = ...` each, anything else by one `...` at its indentation."""
    kept: list[str] = []
    block: list[str] | None = None
    for line in source.splitlines():
        if line.strip() == BEGIN:
            block, indent = [], line[: len(line) - len(line.lstrip())]
        elif line.strip() == END and block is not None:
            kept += [f"{name} = ..." for name in _assigned(block, indent)] or [f"{indent}..."]
            block = None
        elif block is not None:
            block.append(line)
        else:
            kept.append(line)
    return "\n".join(kept)


def _assigned(block: list[str], indent: str) -> list[str]:
    """Names that the block assigns if it stands at the top level and does nothing else, otherwise nothing."""
    if indent:
        return []
    names = []
    for statement in ast.parse(textwrap.dedent("\n".join(block))).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if isinstance(statement, ast.AugAssign) or len(targets) != 1 or not isinstance(targets[0], ast.Name):
            return []
        names.append(targets[0].id)
    return names


def is_exercise(cell: NotebookNode) -> bool:
    """Whether the cell holds an exercise: a line that begins with `@exercise`."""
    return cell.cell_type == "code" and bool(EXERCISE.search(cell.source))


# ---------------------------------------------------------------------------------------------------------- execution


def execute(notebook: NotebookNode, folder: Path, name: str) -> NotebookNode:
    """`notebook` run from top to bottom in `folder`, its outputs made fit to commit. Errors and stderr are refused."""
    done = copy.deepcopy(notebook)
    client = NotebookClient(
        done, timeout=CELL_TIMEOUT, kernel_name="python3", record_timing=False,
        store_widget_state=False, resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    try:
        client.execute(env={**os.environ, "KVLAB_PROGRESS": "off"})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise BuildError(f"{name}: {error}") from None
    for cell in done.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            kept = [] if IGNORE in cell.metadata.get("tags", []) else cell.outputs
            cell.outputs = _joined([_clean(output, f"{name}: cell {cell.id}:") for output in kept])
    done.metadata = nbformat.from_dict(METADATA)
    return done


def _clean(output: NotebookNode, where: str) -> NotebookNode:
    """The output without what differs between two runs; refused if that cannot be taken out of it."""
    if output.get("name") == "stderr":
        raise BuildError(f"{where} wrote to stderr: {output.text.strip()[:400]}")
    data = output.get("data", {})
    if len(data) > 1:
        data.pop(WIDGET, None)
    found = ADDRESS.search(str(output.get("text", "")) + str(data.get("text/plain", "")) + str(data.get("text/html", "")))
    if found:
        raise BuildError(f"{where} prints the memory address {found[0]}, which differs in every run")
    return output


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Neighbouring pieces of stdout as one: how often the kernel flushes depends on time."""
    joined: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and joined and joined[-1].output_type == "stream":
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def with_verdicts_only(lab: NotebookNode) -> NotebookNode:
    """An executed lab as it is committed: outputs (and, for nbval, the execution count) only under exercises."""
    for cell in lab.cells:
        if cell.cell_type == "code" and not is_exercise(cell):
            cell.outputs, cell.execution_count = [], None
    return lab


# -------------------------------------------------------------------------------------------------------------- files


def targets(source: Path) -> tuple[Path, Path]:
    """Where the solved notebook and the student's lab of `source` are written."""
    return source.with_suffix(".ipynb"), source.parent.parent / "labs" / f"{source.stem}.ipynb"


def build(source: Path) -> list[Path]:
    """Execute and write both notebooks of `source`."""
    solved = read_source(source)
    for path, notebook in zip(targets(source), (solved, as_lab(solved))):
        path.parent.mkdir(exist_ok=True)
        done = execute(notebook, path.parent, f"{path.parent.name}/{path.name}")
        path.write_text(to_text(done if notebook is solved else with_verdicts_only(done)), encoding="utf-8")
    return list(targets(source))


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
        for path, notebook in zip(targets(source), (solved, as_lab(solved))):
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


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if all is well, 1 if a source or notebook is wrong."""
    parser = argparse.ArgumentParser(prog="build.py", description="Build labs/ and solutions/*.ipynb from solutions/NN_name.py.")
    parser.add_argument("--lab", help="only the sources whose name begins with this, such as 03")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a committed notebook is not what its source gives")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="folder that holds solutions/ and labs/")
    options = parser.parse_args(arguments)
    sources = find_sources(options.root, options.lab)
    try:
        if not sources:
            raise BuildError(f"{options.root / 'solutions'}: no source {options.lab or 'NN'}_name.py")
        if options.check:
            wrong = check(options.root, sources)
            print("\n".join(wrong) or f"{len(sources)} sources, {2 * len(sources)} notebooks: all match")
            return int(bool(wrong))
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for paths in pool.map(build, sources):
                print("wrote", *(path.relative_to(options.root) for path in paths))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
