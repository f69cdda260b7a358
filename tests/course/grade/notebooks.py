"""Notebooks as learners would hand them in, written for one test."""

from __future__ import annotations

import json
from pathlib import Path


def notebook(path: Path, *cells: str) -> Path:
    """Writes a notebook of code cells and returns where."""
    found = [{"cell_type": "code", "id": f"c{place}", "metadata": {}, "outputs": [], "execution_count": None,
              "source": cell.splitlines(keepends=True)} for place, cell in enumerate(cells)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path
