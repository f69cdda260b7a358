"""Copying the labs into a learner's folder without ever overwriting a byte of it.

A record in the folder says which version of each lab was copied (by hash), so that three cases can be told apart:
a copy nobody touched, a copy the learner worked in, and a lab that changed in the course meanwhile.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kvlab.cli.places import RECORD

OLD_COPIES = ".kvlab-old"  # where an untouched copy goes when a newer version takes its place


def digest(content: bytes) -> str:
    """The name of a version of a lab in the record."""
    return hashlib.sha256(content).hexdigest()


@dataclass
class Record:
    """What `kvlab start` did in a folder before: the version copied of each lab, and the versions offered beside it."""

    copied: dict[str, str] = field(default_factory=dict)
    offered: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Record:
        """The record of `folder`. A missing or damaged one is empty: every notebook there then counts as worked in."""
        try:
            data = json.loads((folder / RECORD).read_bytes())
            copied, offered = dict(data["copied"]), {name: dict(versions) for name, versions in data["offered"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()
        return cls(copied, offered)

    def write(self, folder: Path) -> None:
        """Replace the record at once, so that a crash leaves the old one."""
        text = json.dumps({"copied": self.copied, "offered": self.offered}, indent=1, sort_keys=True)
        fresh = folder / f"{RECORD}.{os.getpid()}"
        fresh.write_text(text + "\n", encoding="utf-8")
        os.replace(fresh, folder / RECORD)


@dataclass(frozen=True)
class Step:
    """What happened to one lab: `did` is "copied", "kept", "refreshed" or "offered"; `file` is the notebook meant."""

    lab: str
    did: str
    file: Path


def numbered(folder: Path, stem: str, suffix: str) -> Iterator[Path]:
    """stem.ipynb, stem-2.ipynb, stem-3.ipynb, ... in `folder`."""
    yield folder / f"{stem}{suffix}"
    for number in itertools.count(2):
        yield folder / f"{stem}-{number}{suffix}"


def create(path: Path, content: bytes) -> None:
    """Write a file that must not exist yet (FileExistsError if it does); a write that fails leaves none behind."""
    with open(path, "xb") as file:
        try:
            file.write(content)
        except OSError:
            path.unlink()
            raise


def create_first_free(folder: Path, stem: str, content: bytes, suffix: str = ".ipynb") -> Path:
    """Write `content` under the first of the numbered names that is free, or already holds exactly that."""
    for path in numbered(folder, stem, suffix):
        try:
            create(path, content)
        except FileExistsError:
            if path.is_file() and path.read_bytes() == content:
                return path
            continue
        return path
    raise AssertionError("the numbered names never end")


def _refresh(mine: Path, version: str, fresh: bytes) -> bool:
    """Move `mine`, an untouched copy, aside and put `fresh` in its place. False if it was touched after all."""
    aside = mine.parent / OLD_COPIES / f"{mine.stem}.{version[:12]}.ipynb"
    aside.parent.mkdir(exist_ok=True)
    if aside.exists():
        aside = aside.with_name(f"{mine.stem}.{version[:12]}-{os.getpid()}.ipynb")
    os.rename(mine, aside)
    if digest(aside.read_bytes()) != version:  # saved between the look and the move
        os.rename(aside, mine)
        return False
    create(mine, fresh)
    return True


def _offer(mine: Path, version: str, fresh: bytes, record: Record) -> Step:
    """Lay the changed lab beside the learner's own, once: a version offered and thrown away does not come back."""
    offered = record.offered.setdefault(mine.name, {})
    if version in offered:
        return Step(mine.name, "kept", mine.with_name(offered[version]))
    beside = create_first_free(mine.parent, f"{mine.stem}.updated", fresh)
    offered[version] = beside.name
    return Step(mine.name, "offered", beside)


def _place(source: Path, folder: Path, record: Record) -> Step:
    fresh, mine = source.read_bytes(), folder / source.name
    version, before = digest(fresh), record.copied.get(source.name)
    try:
        create(mine, fresh)
    except FileExistsError:
        own = mine.read_bytes()
    else:
        record.copied[mine.name] = version
        return Step(mine.name, "copied", mine)
    if own == fresh:
        record.copied[mine.name] = version
        return Step(mine.name, "kept", mine)
    if version == before:  # the learner's work on the version that is still the course's
        return Step(mine.name, "kept", mine)
    if digest(own) == before and _refresh(mine, before, fresh):
        record.copied[mine.name] = version
        return Step(mine.name, "refreshed", mine)
    return _offer(mine, version, fresh, record)


def copy_labs(sources: list[Path], folder: Path) -> list[Step]:
    """Bring every lab of `sources` into `folder` (made if missing). Nothing in it is ever overwritten or deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    record = Record.read(folder)
    try:
        return [_place(source, folder, record) for source in sources]
    finally:
        record.write(folder)
