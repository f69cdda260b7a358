"""Notebooks as learners would hand them in, written for one test, and what a cheat must come to."""

from __future__ import annotations

import json
from pathlib import Path

from kvlab.course.grade import Grade


def notebook(path: Path, *cells: str) -> Path:
    """Writes a notebook of code cells and returns where."""
    found = [{"cell_type": "code", "id": f"c{place}", "metadata": {}, "outputs": [], "execution_count": None,
              "source": cell.splitlines(keepends=True)} for place, cell in enumerate(cells)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def no_points(grades: dict[str, Grade], name: str = "blocks_needed") -> str:
    """Asserts that an exercise was run and is worth nothing; returns why."""
    found = grades[name]
    assert (found.points, found.verdict in ("wrong", "stopped")) == (0, True), found
    return found.said
