"""`kvlab start` really serves lab 00, to this machine only, from the folder of the labs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvlab.cli.places import labs

pytest.importorskip("jupyterlab")


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get(url: str) -> Any:
    """What a page of the server says."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A server started as a learner starts it; its address and its token."""
    address, token = f"http://127.0.0.1:{(port := free_port())}", "a-token-of-the-test"
    command = [sys.executable, "-m", "kvlab", "start", "--no-browser", "--port", str(port)]
    command += ["--", f"--IdentityProvider.token={token}"]
    environment = os.environ | {"JUPYTER_CONFIG_DIR": str(tmp_path / "config")}
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(300):
            assert process.poll() is None, (tmp_path / "log").read_text()
            try:
                get(f"{address}/api?token={token}")
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        yield address, token
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_lab_00_is_served_to_this_machine(server: tuple[str, str], tmp_path: Path, root: Path) -> None:
    address, token = server
    first = next(iter(labs(root / "labs").values()))
    listing = json.loads(get(f"{address}/api/contents?token={token}"))
    assert first.name in {entry["name"] for entry in listing["content"]}
    assert "JupyterLab" in get(f"{address}/lab/tree/{first.name}?token={token}")
    kernels = json.loads(get(f"{address}/api/kernelspecs?token={token}"))
    assert kernels["default"] == "python3"
    said = (tmp_path / "log").read_text()
    assert f"Starting JupyterLab on my-labs/{first.name}" in said and "0.0.0.0" not in said
