"""`kvlab doctor`: what a bug report needs, in one block. It looks without importing and answers whatever is broken."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import kvlab
from kvlab.cli.places import DEFAULT_FOLDER, is_learners, labs, labs_folder, shown
from kvlab.mode import mode

PACKAGES = ("torch", "triton", "transformers", "numpy", "jupyterlab", "ipywidgets", "nbval")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab doctor` takes."""
    parser.add_argument("--dir", metavar="DIR", help="the folder of your labs")


def _answer(command: list[str], folder: Path | None = None) -> str:
    """What a program prints, or nothing if it is missing, slow or fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _commit() -> str:
    root = Path(kvlab.__file__).resolve().parent.parent
    if not (root / "pyproject.toml").exists():
        return "installed package, no clone"
    commit = _answer(["git", "rev-parse", "--short=10", "HEAD"], root)
    if not commit:
        return "not in git"
    changed = _answer(["git", "status", "--porcelain", "--untracked-files=no"], root)
    return f"commit {commit}{', with local changes' if changed else ''}"


def _version() -> str:
    return f"{kvlab.__version__} ({_commit()}) in {shown(Path(kvlab.__file__).parent)}"


def _python() -> str:
    kind = "virtual environment" if sys.prefix != sys.base_prefix else "no virtual environment"
    return f"{platform.python_version()} ({platform.python_implementation()}, {kind} {shown(Path(sys.prefix))})"


def _system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except (OSError, AttributeError):
        name = ""
    return " ".join(filter(None, [platform.system(), platform.release(), platform.machine(), name and f"({name})"]))


def _memory() -> str:
    """Total memory, and what is free where the system says so. Linux and macOS; elsewhere unknown without a library."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "memory unknown"
    free = ""
    if Path("/proc/meminfo").exists():
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = f", {int(lines['MemAvailable'].split()[0]) / 2**20:.1f} free"
    return f"{total / 2**30:.1f} GiB of memory{free}"


def _machine() -> str:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{usable} of {os.cpu_count()} cores, {_memory()}"


def _gpu() -> str:
    if not kvlab.has_gpu():
        return "none"
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    return _answer(query).replace("\n", "; ") or "a device is there, but nvidia-smi does not answer"


def _package(name: str) -> str:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
    if name == "triton":
        compiles = kvlab.has_gpu() and os.environ.get("TRITON_INTERPRET") != "1"
        return f"{version} ({'compiles for the GPU' if compiles else 'interpreter'})"
    return version


def _folder(given: str | None) -> Path | None:
    candidates = [Path(given)] if given else [path for path in (Path("."), Path(DEFAULT_FOLDER)) if is_learners(path)]
    return next((path for path in candidates if path.is_dir()), None)


def _labs(folder: Path | None) -> str:
    if folder is None:
        return "no folder of yours here (kvlab start makes one)"
    writable = "writable" if os.access(folder, os.W_OK) else "NOT writable: nothing can be saved there"
    return f"{len(labs(folder))} of {len(labs(labs_folder()))} in {shown(folder)}, {writable}"


def _progress(folder: Path | None) -> str:
    from kvlab.cli.progress import state_line  # here, so that a broken course engine costs this line only

    return state_line(folder)


def _safely(look: Callable[[], str]) -> str:
    """What `look` found, or why it could not look. The report never fails."""
    try:
        return " ".join(look().split())
    except Exception as error:
        return f"unknown ({type(error).__name__}: {error})"


def report(given: str | None = None) -> str:
    """The whole block, a line for each fact."""
    folder = _folder(given)
    looks: dict[str, Callable[[], str]] = {"kvlab": _version, "python": _python, "system": _system}
    looks |= {"machine": _machine, "gpu": _gpu}
    looks |= {name: partial(_package, name) for name in PACKAGES}
    looks |= {"labs": lambda: _labs(folder), "progress": lambda: _progress(folder)}
    looks |= {"mode": lambda: mode().sentence}
    looks |= {"cannot check": lambda: "; ".join(mode().cannot_check) or "nothing is left out"}
    return "\n".join(f"{name:<13} {_safely(look)}" for name, look in looks.items())


def run(options: argparse.Namespace) -> int:
    """Print the block."""
    print(report(options.dir))
    return 0
