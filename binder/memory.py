"""How much memory a lab needs at its worst, so that it is known to fit where 2 GB are all there is.

`python binder/memory.py 05 09` starts a JupyterLab server as `kvlab start` does, runs the solved labs with those
numbers (all of them if none is named), each in a kernel of its own, and prints the largest sum that was seen of the
server and of the kernel with every process it started. It needs Linux: a process counts with its proportional set
size, in which pages that several processes share count once, as a container's limit counts them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient

SOLUTIONS = Path(__file__).resolve().parent.parent / "solutions"
LIMIT = 2_000_000_000  # bytes that mybinder.org allows one person
VERSIONS = ("torch", "triton", "transformers", "jupyterlab", "ipykernel")


def tree_bytes(process: psutil.Process) -> int:
    """Proportional set size of a process and of all it started, in bytes; 0 for those that are gone."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for member in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += member.memory_full_info().pss
    return total


class Peak(threading.Thread):
    """Looks at the processes below this one ten times a second; `largest` is the most they held together, in bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest, self._done = 0, threading.Event()

    def run(self) -> None:
        """Look until stopped."""
        me = psutil.Process()
        while not self._done.wait(0.1):
            self.largest = max(self.largest, sum(map(tree_bytes, me.children())))

    def stop(self) -> int:
        """End looking; the peak in bytes."""
        self._done.set()
        self.join()
        return self.largest


def run_lab(path: Path) -> int:
    """The peak in bytes while the notebook at `path` is executed, with a learner's folder of its own."""
    peak = Peak()
    peak.start()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KVLAB_PROGRESS"] = str(Path(folder) / "kvlab-progress.json")
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return peak.stop()


@contextlib.contextmanager
def server() -> Iterator[None]:
    """A JupyterLab server on a free port of this machine, up and answering."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}"]
        quiet = subprocess.DEVNULL
        running = subprocess.Popen([*command, f"--ServerApp.root_dir={folder}"], stdout=quiet, stderr=quiet)
        try:
            while running.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.2)
            yield
        finally:
            running.terminate()
            running.wait(30)


def main(arguments: list[str] | None = None) -> int:
    """Print a line a lab; 1 if one exceeded the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="numbers such as 05; all labs without")
    wanted = parser.parse_args(arguments).labs
    paths = [path for path in sorted(SOLUTIONS.glob("[0-9]*.ipynb")) if not wanted or path.name[:2] in wanted]
    print(f"Python {platform.python_version()},", ", ".join(f"{name} {version(name)}" for name in VERSIONS), flush=True)
    worst = 0
    with server():
        for path in paths:
            peak = run_lab(path)
            worst = max(worst, peak)
            print(f"{path.stem:26} {peak / 1e6:7,.0f} MB", flush=True)
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
