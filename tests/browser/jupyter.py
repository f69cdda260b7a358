"""A private JupyterLab on 127.0.0.1 and a headless Chromium that looks at it, for tests and screenshots."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()
NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}
SETTINGS = {  # plugin -> what differs from JupyterLab's defaults
    "@jupyterlab/apputils-extension/notification": NO_NEWS,
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},  # every cell is in the page, seen or not
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


def chromium() -> str | None:
    """Path of the Chromium that the distribution installed (or that CHROMIUM names), if there is one."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass(frozen=True)
class Server:
    """A running JupyterLab and the folder it shows."""

    port: int
    token: str
    folder: Path

    def url(self, notebook: str) -> str:
        """The page that shows `notebook`, alone and without the file browser."""
        return f"http://127.0.0.1:{self.port}/doc/tree/{notebook}?token={self.token}"


@contextlib.contextmanager
def jupyter_lab(folder: Path, state: Path, dark: bool = False) -> Iterator[Server]:
    """JupyterLab showing `folder`, its settings and runtime files under `state`; stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(port, secrets.token_hex(16), folder)
    write_settings(state / "settings", dark)
    with (state / "jupyter.log").open("w") as log:
        process = subprocess.Popen(
            _command(server), cwd=folder, env=_environment(state), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_it_answers(server, process, state / "jupyter.log")
            yield server
        finally:
            process.terminate()  # the server shuts its kernels down
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def write_settings(folder: Path, dark: bool) -> None:
    """Write `SETTINGS` and the theme where JupyterLab looks for user settings."""
    theme = {"theme": "JupyterLab Dark" if dark else "JupyterLab Light", "adaptive-theme": False}
    for plugin, values in {**SETTINGS, "@jupyterlab/apputils-extension/themes": theme}.items():
        path = folder / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def _command(server: Server) -> list[str]:
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": server.port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": server.folder,
        "ServerApp.allow_root": True,
        "ServerApp.open_browser": False,
        "IdentityProvider.token": server.token,
        "LabApp.expose_app_in_browser": True,
        "LabApp.extension_manager": "readonly",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    }
    return [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]


def _environment(state: Path) -> dict[str, str]:
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
    }
    places |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    environment = {name: value for name, value in os.environ.items() if name != "KVLAB_PROGRESS"}
    return environment | {name: str(state / place) for name, place in places.items()}


def _wait_until_it_answers(server: Server, process: subprocess.Popen[bytes], log: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/api/status?token={server.token}", timeout=5).close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")
