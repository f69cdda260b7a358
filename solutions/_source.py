"""Reading a lab's source: cells and ids, solution markers, and the student's version."""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
HEADER = re.compile(r"# ?%%")
CELL_ID = re.compile(r'\bid="([A-Za-z0-9_-]{1,64})"')
METADATA = {  # nothing in it depends on the machine that builds
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


class BuildError(Exception):
    """What is wrong, beginning with `file:line:` or `file: cell id:`."""


def read_source(path: Path) -> NotebookNode:
    """The solved notebook in `path`, not executed. An id that is missing, doubled or malformed is refused."""
    text = path.read_text(encoding="utf-8")
    ids = _cell_ids(path, text)
    check_markers(path, text)
    notebook = jupytext.reads(text, fmt="py:percent")
    if len(notebook.cells) != len(ids):
        raise BuildError(f"{path}:1: text before the first `# %%` line belongs to no cell")
    for cell, cell_id in zip(notebook.cells, ids, strict=True):
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
    """Refuse markers that are stray, nested, unclosed in their cell, in Markdown, or not alone on their line."""
    opened, markdown = 0, False
    for number, line in enumerate([*text.splitlines(), "# %%"], 1):
        where = f"{path}:{number}:"
        if HEADER.match(line):
            if opened:
                raise BuildError(f"{path}:{opened}: {BEGIN} is not closed in its cell")
            markdown = "[markdown]" in line
        elif re.search(r"#\s*(BEGIN|END)\s+SOLUTION", line, re.IGNORECASE):
            marker = line.strip()
            if markdown:
                raise BuildError(f"{where} a solution marker in a Markdown cell")
            if marker not in (BEGIN, END):
                raise BuildError(f"{where} a marker stands alone on its line, as `{BEGIN}` or `{END}`")
            if marker == BEGIN and opened:
                raise BuildError(f"{where} {BEGIN} inside the solution that began in line {opened}")
            if marker == END and not opened:
                raise BuildError(f"{where} {END} without a {BEGIN}")
            opened = number if marker == BEGIN else 0


def as_lab(notebook: NotebookNode) -> NotebookNode:
    """The student's notebook: the same cells and ids, with `...` for every solution."""
    lab = copy.deepcopy(notebook)
    for cell in lab.cells:
        if cell.cell_type == "code":
            cell.source = without_solutions(cell.source)
    return lab


def without_solutions(source: str) -> str:
    """`source` with `name = ...` for each assignment of a top-level solution, and one `...` for any other solution."""
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
