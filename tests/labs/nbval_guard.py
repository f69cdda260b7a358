"""A pytest plugin that makes nbval red where it is green by mistake: `pytest --nbval -p tests.labs.nbval_guard labs`.

nbval compares nothing for a cell that is stored unexecuted, as most cells of labs/ are. So it misses there
- an unknown magic: IPython reports it on stderr, skips the rest of the cell, and sends no error;
- a cell marked as raising that does not raise.
And it notices a dead kernel only when the cell's time is up.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from queue import Empty

import pytest
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

wait_for_message = RunningKernel.get_message


def message_of_a_living_kernel(kernel: RunningKernel, stream: str, timeout: float | None = None) -> dict:
    """nbval's `get_message`, looking once a second whether the kernel is still there."""
    deadline = time.monotonic() + (timeout or 0)
    while True:
        left = deadline - time.monotonic() if timeout is not None else 1.0
        try:
            return wait_for_message(kernel, stream, timeout=max(0.0, min(1.0, left)))
        except Empty:
            if not kernel.is_alive():
                raise RuntimeError("The kernel died") from None
            if left <= 0:
                raise


def pytest_configure() -> None:
    """Put the watched `get_message` in its place."""
    RunningKernel.get_message = message_of_a_living_kernel


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """After nbval's own comparison, refuse what it lets pass."""
    result = yield
    if isinstance(item, IPyNbCell):
        message = missed(item)
        if message:
            item.raise_cell_error(message)
    return result


def missed(cell: IPyNbCell) -> str | None:
    """What is wrong with a cell that nbval has passed, if anything."""
    outputs = cell.test_outputs or []
    if cell.options["check_exception"] and not any(output.output_type == "error" for output in outputs):
        return "The cell is marked as raising, and did not raise"
    stored = any(output.get("name") == "stderr" for output in cell.cell.outputs)
    written = "".join(output.text for output in outputs if output.get("name") == "stderr")
    if written and not stored and cell.options["check"]:
        return f"The cell wrote to stderr: {written.strip()[:400]}"
    return None
