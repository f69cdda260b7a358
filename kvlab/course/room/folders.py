"""Finds the progress files of a class, and remembers what each last said."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kvlab.course.state import FILE, State, seen_in

DEEPEST = 4  # folders below the one that was named, in which a progress file is looked for
LARGEST = 64 << 20  # bytes of a progress file


@dataclass(frozen=True)
class Person:
    """A learner's folder. `state`: what its file said when it could last be read. `written`: when that was changed, in
    seconds as the file system's clock counts. `readable`: whether it can be read now; `there`: whether it exists."""

    folder: Path
    state: State
    written: float
    readable: bool = True
    there: bool = True


class Room:
    """The learners' folders below `folders`. `look` reads them anew; people may come and go between two looks."""

    def __init__(self, folders: Iterable[Path | str]) -> None:
        self.folders = [Path(folder) for folder in folders]
        self._people: dict[Path, Person] = {}
        self._read: dict[Path, tuple[int, int]] = {}  # size and time of a file when it was read

    def look(self) -> dict[str, Person]:
        """Everybody by name, as they are now, or were when last seen. Never raises for what lies in the folders."""
        found = {path.parent for folder in self.folders for path in progress_files(folder)}
        for folder in found:
            self._look_at(folder)
        for folder, person in self._people.items():
            if folder not in found:
                self._people[folder] = Person(folder, person.state, person.written, False, False)
        return dict(zip(names(list(self._people)), self._people.values(), strict=True))

    def _look_at(self, folder: Path) -> None:
        before, path = self._people.get(folder), folder / FILE
        try:
            now = path.stat()
            stamp = now.st_size, now.st_mtime_ns
            if before is not None and before.readable and self._read.get(folder) == stamp:
                return
            state = seen_in(path.read_bytes()) if now.st_size <= LARGEST else None
        except OSError:
            state, stamp = None, (0, 0)
        if state is not None:
            self._people[folder], self._read[folder] = Person(folder, state, stamp[1] / 1e9), stamp
        else:
            kept = (before.state, before.written) if before is not None else ({"exercises": {}}, 0.0)
            self._people[folder] = Person(folder, *kept, readable=False)


def progress_files(folder: Path, deep: int = DEEPEST) -> Iterator[Path]:
    """The progress files in a folder and below it, without hidden folders. Where one lies, it looks no deeper."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # gone meanwhile, or not for us to read
        return
    if any(entry.name == FILE for entry in entries):
        yield folder / FILE
        return
    for entry in entries:
        if deep > 0 and not entry.name.startswith(".") and _is_folder(entry):
            yield from progress_files(Path(entry.path), deep - 1)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=True)
    except OSError:
        return False


def names(folders: list[Path]) -> list[str]:
    """A name for each folder: what tells it from the others, without what all of them end with (`ana/my-labs`: ana)."""
    parts = [folder.absolute().parts for folder in folders]
    end = 0
    while len(parts) > 1 and all(len(one) > end + 1 for one in parts) and len({one[-1 - end] for one in parts}) == 1:
        end += 1
    if len(parts) == 1 and len(parts[0]) > 2 and parts[0][-1] in ("my-labs", "labs"):
        end = 1
    kept = [one[: len(one) - end] for one in parts]
    depth = 1
    while depth < max(map(len, kept), default=0) and len({one[-depth:] for one in kept}) < len(kept):
        depth += 1
    return ["/".join(one[-depth:]) for one in kept]
