"""The learner's record as the command needs it: what passed, forgetting an exercise, noting a solution filled in.

All of it goes through the course's own `Progress`, which locks, writes atomically and keeps a damaged file aside.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

from kvlab.cli.copying import create_first_free
from kvlab.course import state


def path_for(folder: Path) -> Path | None:
    """The progress file of a folder; KVLAB_PROGRESS goes first, as in notebooks. None: kept in memory."""
    return state.default_path() if os.environ.get("KVLAB_PROGRESS", "").strip() else folder / state.FILE


def passed(path: Path | None) -> set[str]:
    """The names of the exercises that passed at some time."""
    records = state.Progress(path).read()["exercises"]
    return {name for name, record in records.items() if "passed_at" in record}


def forget(path: Path | None, exercise: str) -> bool:
    """Drop everything recorded of an exercise. Whether a pass was among it."""
    dropped: list[bool] = []

    def edit(all_: state.State) -> None:
        dropped.append("passed_at" in all_["exercises"].pop(exercise, {}))

    state.Progress(path).change(edit)
    return dropped[-1]


def catch_up(path: Path | None, lab: str, solved: dict[str, str]) -> None:
    """Note that the solutions (exercise -> text of its cell) were filled in: caught up with, not passed."""

    def edit(all_: state.State) -> None:
        for name, text in solved.items():
            record = all_["exercises"].setdefault(name, {"lab": lab})
            record["caught_up_at"], record["caught_up_source"] = state.now(), definition(text, name)

    state.Progress(path).change(edit)


def definition(text: str, name: str) -> str:
    """The definition of `name` in a cell, decorators included: what the course records as an exercise's source."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno]).rstrip()
    return text.rstrip()


def backup(path: Path | None, stamp: str) -> Path | None:
    """Copy the progress file beside itself, never over another file. None if there is no file yet."""
    if path is None or not path.exists():
        return None
    return create_first_free(path.parent, f"{path.stem}.backup-{stamp}", path.read_bytes(), path.suffix)
