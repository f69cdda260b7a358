"""A real Jupyter kernel, for what only shows there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel


class Kernel:
    """Runs cells in a kernel. `run` returns what a cell prints; what it raises raises here too."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager, self.client = manager, client

    def run(self, source: str, timeout: float = 60) -> str:
        """The text that a cell printed or displayed. RuntimeError with the name of what it raised."""
        texts: list[str] = []

        def keep(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                texts.append(content["text"])
            elif message["msg_type"] in ("execute_result", "display_data"):
                texts.append(content["data"].get("text/plain", ""))

        reply = self.client.execute_interactive(source, output_hook=keep, timeout=timeout)["content"]
        if reply["status"] != "ok":
            raise RuntimeError(reply.get("ename", reply["status"]))
        return "".join(texts).rstrip("\n")


@contextmanager
def kernel(folder: Path, **environment: str) -> Iterator[Kernel]:
    """A kernel that works in `folder`, as one that JupyterLab starts for a notebook there."""
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder), env=variables)
    try:
        running = Kernel(manager, client)
        running.run("from kvlab.course import *")
        yield running
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
