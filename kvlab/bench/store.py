"""Runs in files: those that ship with the course, and a user's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kvlab.errors import UsageError

from .record import Run

MEASURED = Path(__file__).parent / "measured"


def stored() -> list[Run]:
    """The runs that ship in kvlab/bench/measured/, by file name; empty as long as nothing was measured."""
    return [read(path) for path in sorted(MEASURED.glob("*.json"))]


def read(path: str | os.PathLike[str]) -> Run:
    """The run in a file. What is none is refused with `UsageError`, which names the file."""
    try:
        return Run.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
    except ValueError as error:  # neither text nor JSON, or a UsageError
        raise UsageError(f"{path} cannot be read: {error}") from None


def write(run: Run, path: str | os.PathLike[str]) -> None:
    """Put a run into a file, whole or not at all."""
    target = Path(path)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    fresh.write_text(json.dumps(run.to_json(), indent=1) + "\n", encoding="utf-8")
    os.replace(fresh, target)
