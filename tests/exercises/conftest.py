"""The answers of every lab, and a notebook in which to try them."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.course.cells import Notebook

LABS = sorted(path.stem for path in Path(__file__).parent.glob("lab*_answers.py"))


def answers(kind: str) -> Iterator[tuple[str, int, object]]:
    """(exercise, number, answer) for every right or wrong answer of every lab."""
    for lab in LABS:
        for name, given in getattr(importlib.import_module(f"tests.exercises.{lab}"), kind).items():
            yield from ((name, number, answer) for number, answer in enumerate(given))


def cell(source: str) -> str:
    """An answer as its cell: its last definition under the decorator, what it needs before that."""
    lines = textwrap.dedent(source).strip("\n").split("\n")
    start = max(i for i, line in enumerate(lines) if line.startswith(("def ", "class ")))
    while lines[start - 1].startswith("@"):
        start -= 1
    return "\n".join([*lines[:start], "@exercise", *lines[start:]])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    monkeypatch.setenv("KVLAB_PROGRESS", "off")
    opened = Notebook()
    opened.run("from kvlab.errors import OutOfBlocks, OutOfMemory, OutOfPages, UsageError")
    return opened
