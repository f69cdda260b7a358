"""What the course remembers of a learner: one JSON file beside the notebooks, `kvlab-progress.json`.

`KVLAB_PROGRESS=path` puts it elsewhere, `KVLAB_PROGRESS=off` keeps it in memory. Every change reads the file, changes
it and replaces it as a whole, under a lock, so that two kernels lose nothing of each other's and a crash leaves the old
file or the new one. What cannot be read is kept aside; where nothing can be written, the session remembers in memory.
Either is said in one line, once.

    {"version": 1,
     "exercises": {"blocks_needed": {
         "lab": "03", "tries": 3, "attempts": [{"at", "passed", "said", "mistake", "seconds"}, ...],
         "source", "passed_at", "passed_source", "hints": ["at", ...], "solutions": ["at", ...],
         "caught_up_at", "caught_up_source"}},  (by `kvlab catch-up`: filled in, not passed)
     "predictions": {key: {...}}, "recall": {key: {...}}, "say_it": {lab: {...}}}
"""

from __future__ import annotations

import copy
import datetime
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kvlab.course.say import say

VERSION = 1
FILE = "kvlab-progress.json"
_SECTIONS = ("exercises", "predictions", "recall", "say_it")
_KINDS: dict[str, Any] = {"attempts": list, "hints": list, "solutions": list, "tries": int, "source": str,
                          "guess": (int, float), "actual": (int, float), "unit": str}
_PATIENCE = 3.0  # seconds to wait for another kernel's lock

State = dict[str, Any]


class _Foreign(Exception):
    """The file is of a newer version: it must be left as it is."""


def now() -> str:
    """The time as the state writes it: UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def empty() -> State:
    """The state of somebody who has just begun."""
    return {"version": VERSION} | {section: {} for section in _SECTIONS}


class Progress:
    """The state in one file, or in memory if `path` is None. `notify` is given each line that the learner should
    read."""

    def __init__(self, path: Path | None, notify: Callable[[str], None] = say) -> None:
        self.path, self.notify = path, notify
        self._memory = empty()

    def read(self) -> State:
        """The state as it is now. Yours to change: nothing is kept unless it goes through `change`."""
        if self.path is not None:
            try:
                return self._load(self.path)
            except (OSError, _Foreign) as trouble:
                self._give_up(trouble)
        return copy.deepcopy(self._memory)

    def change(self, edit: Callable[[State], None]) -> None:
        """Reads the state, lets `edit` change it in place, and writes it."""
        if self.path is None:
            return edit(self._memory)
        try:
            self._change_file(self.path, edit)
        except (OSError, _Foreign) as trouble:
            self._give_up(trouble)
            edit(self._memory)

    def _change_file(self, path: Path, edit: Callable[[State], None]) -> None:
        from filelock import FileLock

        with FileLock(path.with_name(f"{path.name}.lock"), timeout=_PATIENCE):
            state = self._load(path)
            edit(state)
            _replace(path, json.dumps(state, indent=1, ensure_ascii=False))

    def _load(self, path: Path) -> State:
        """The file's state; what is no state of ours is renamed and counts as empty."""
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return empty()
        try:
            state = json.loads(text)
            if state["version"] > VERSION:
                raise _Foreign(f"{path.name} was written by a newer kvlab")
            return _whole(state)
        except (ValueError, TypeError, KeyError, RecursionError):
            return self._set_aside(path)

    def _set_aside(self, path: Path) -> State:
        for number in range(1, 1000):
            aside = path.with_name(f"{path.name}.unreadable-{number}")
            if not aside.exists():
                break
        os.replace(path, aside)
        self.notify(f"{path.name} could not be read. It is kept as {aside.name}, and a new one begins.")
        return empty()

    def _give_up(self, trouble: Exception) -> None:
        """From here on in memory, beginning with what could still be read."""
        path, self.path = self.path, None
        assert path is not None
        try:
            self._memory = _whole(json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError, KeyError):
            pass
        why = trouble if isinstance(trouble, _Foreign) else f"{path.name} cannot be written here ({_reason(trouble)})"
        self.notify(f"{why}, so this session's progress stays in memory.")


def seen_in(data: bytes) -> State | None:
    """The state that the bytes of a file are, for whoever only looks; None for what is half-written, damaged or of a
    newer version."""
    try:
        state = json.loads(data)
        return None if state["version"] > VERSION else _whole(state)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _reason(trouble: Exception) -> str:
    return getattr(trouble, "strerror", None) or type(trouble).__name__


def _whole(state: Any) -> State:
    """`state` with every section there. KeyError or TypeError for what is no state of ours."""
    if not isinstance(state, dict) or not isinstance(state["version"], int):
        raise TypeError("no state of kvlab")
    for section in _SECTIONS:
        if not isinstance(state.setdefault(section, {}), dict):
            raise TypeError(f"{section} is no table")
    if not all(isinstance(entry, dict) for section in _SECTIONS for entry in state[section].values()):
        raise TypeError("an entry is no table")
    for entry in (entry for section in _SECTIONS for entry in state[section].values()):
        for key, kind in _KINDS.items():  # what somebody edited by hand into another shape is as if it were not there
            if key in entry and (not isinstance(entry[key], kind) or isinstance(entry[key], bool)):
                del entry[key]
        if "attempts" in entry:
            entry["attempts"] = [attempt for attempt in entry["attempts"] if isinstance(attempt, dict)]
    return state


def _replace(path: Path, text: str) -> None:
    """Writes the whole file beside the old one and puts it in its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def default_path() -> Path | None:
    """Where the state of this process belongs: KVLAB_PROGRESS, or the folder that the kernel works in. None: in
    memory."""
    wish = os.environ.get("KVLAB_PROGRESS", "").strip()
    if wish.lower() == "off":
        return None
    return Path(wish).expanduser().absolute() if wish else Path.cwd() / FILE
