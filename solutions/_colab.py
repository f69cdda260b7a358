"""The cell of a lab that installs the course where a notebook is opened alone: on Google Colab."""

from __future__ import annotations

import tomllib
from pathlib import Path

import nbformat
from nbformat import NotebookNode

CELL_ID = "colab"
CELL = '''# On Google Colab this installs the course, which takes a minute or two. Anywhere else it does nothing.
import importlib.util
import sys

if "google.colab" in sys.modules and not importlib.util.find_spec("kvlab"):
    import subprocess

    course = "kvlab[notebook,torch] @ git+{address}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", course], check=True)
'''


def address(root: Path) -> str | None:
    """The public address that `root`/pyproject.toml states as its source, if there is such a file and it states one."""
    path = root / "pyproject.toml"
    if not path.exists():
        return None
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"].get("urls", {}).get("Source")


def with_colab(lab: NotebookNode, source: str | None) -> NotebookNode:
    """The lab with the cell above its first code cell, folded away; as it is where there is no address."""
    first = next((index for index, cell in enumerate(lab.cells) if cell.cell_type == "code"), None)
    if source and first is not None:
        cell = nbformat.v4.new_code_cell(CELL.format(address=source).rstrip("\n"), id=CELL_ID)
        cell.metadata = nbformat.from_dict({"cellView": "form", "jupyter": {"source_hidden": True}})
        lab.cells.insert(first, cell)
    return lab
