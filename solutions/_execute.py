"""Running a notebook and making its outputs fit to commit."""

from __future__ import annotations

import copy
import os
import re
from pathlib import Path

import nbformat
from _source import METADATA, BuildError
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")  # this environment's kernel, before a "python3" of the user's
CELL_TIMEOUT = 120  # seconds, the limit nbval runs with
IGNORE = "nbval-ignore-output"
WIDGET = "application/vnd.jupyter.widget-view+json"
EXERCISE = re.compile(r"^@exercise\b", re.MULTILINE)
ANSI = re.compile(r"\x1b\[[\d;]*m")
ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")


def execute(notebook: NotebookNode, folder: Path, name: str) -> NotebookNode:
    """`notebook` run from top to bottom in `folder`, its outputs made fit to commit. Errors and stderr are refused."""
    done = copy.deepcopy(notebook)
    client = NotebookClient(
        done,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],  # else every kernel warns that its sockets are plain TCP
    )
    try:
        client.execute(env={**os.environ, "KVLAB_PROGRESS": "off"})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise BuildError(f"{name}: {_where(done)}{ANSI.sub('', str(error))}") from None
    for cell in done.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            kept = [] if IGNORE in cell.metadata.get("tags", []) else cell.outputs
            cell.outputs = _joined([_clean(output, f"{name}: cell {cell.id}:") for output in kept])
    done.metadata = nbformat.from_dict(METADATA)
    return done


def _where(notebook: NotebookNode) -> str:
    failed = [c.id for c in notebook.cells if any(o.output_type == "error" for o in c.get("outputs", []))]
    return f"cell {failed[0]}: " if failed else ""


def _clean(output: NotebookNode, where: str) -> NotebookNode:
    """The output without what differs between two runs; refused if that cannot be taken out of it."""
    if output.get("name") == "stderr":
        raise BuildError(f"{where} wrote to stderr: {output.text.strip()[:400]}")
    data = output.get("data", {})
    if len(data) > 1:
        data.pop(WIDGET, None)
    found = ADDRESS.search(
        str(output.get("text", "")) + str(data.get("text/plain", "")) + str(data.get("text/html", ""))
    )
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


def is_exercise(cell: NotebookNode) -> bool:
    """Whether the cell holds an exercise: a line that begins with `@exercise`."""
    return cell.cell_type == "code" and bool(EXERCISE.search(cell.source))
