"""Finds exercises: by name or by lab. A lab's declarations are imported when they are first asked for."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kvlab.course import exercises
from kvlab.course.declare import Exercise
from kvlab.course.shorten import clip

TITLES = {
    "00": "Start here", "01": "What a token costs", "02": "Reserve and waste", "03": "Blocks and tables",
    "04": "Paged attention in PyTorch", "05": "Paged attention in Triton", "06": "Copy-on-write sampling",
    "07": "Sharing prefixes", "08": "Scheduling and preemption", "09": "Smaller caches",
    "10": "Other homes for blocks", "11": "Serve it",
}

_PACKAGES = {  # what a lab may need beyond the base installation, and how to get it
    "torch": ("PyTorch", "run `make torch` in the course's folder, or `pip install torch`"),
    "triton": ("Triton", "run `pip install triton`"),
    "transformers": ("transformers", "run `pip install transformers`"),
}

_loaded: dict[str, tuple[Exercise, ...]] = {}
_extra: list[Exercise] = []  # declared by a test, or by an author who tries one out in a notebook


def labs() -> list[str]:
    """Numbers of the labs that have declarations, in order: ["00", "01", ...]."""
    names = (module.name for module in pkgutil.iter_modules(exercises.__path__))
    declared = {name[3:5] for name in names if name.startswith("lab") and name[3:5].isdigit()}
    return sorted(declared | {entry.lab for entry in _extra})


def _declared(lab: str) -> tuple[Exercise, ...]:
    if lab not in _loaded:
        _loaded[lab] = _load(lab)
    return _loaded[lab]


def _load(lab: str) -> tuple[Exercise, ...]:
    try:
        module = importlib.import_module(f"{exercises.__name__}.lab{lab}")
    except ModuleNotFoundError as missing:
        if missing.name == f"{exercises.__name__}.lab{lab}":
            return ()
        raise
    return tuple(module.EXERCISES)


def of_lab(lab: str) -> list[Exercise]:
    """The exercises of one lab, in the order of the lab. Empty for a lab that does not exist."""
    return [*_declared(lab), *(entry for entry in _extra if entry.lab == lab)]


def titled(lab: str) -> str:
    """"Lab 03 · Blocks and tables"."""
    return f"Lab {lab} · {TITLES[lab]}" if lab in TITLES else f"Lab {lab}"


def every() -> Iterator[Exercise]:
    """Every exercise of the course, lab by lab."""
    for lab in labs():
        yield from of_lab(lab)


def find(name: str) -> Exercise | None:
    """The exercise of that name, or None. Labs that are open already are asked first."""
    for entries in (reversed(_extra), *list(_loaded.values()), every()):
        for entry in entries:
            if entry.name == name:
                return entry
    return None


def unknown(name: str) -> str:
    """The sentence for a name that no exercise has, with the name that was perhaps meant."""
    return f"{clip(name, 40)} is not an exercise of this course.{suggestion(name, (known.name for known in every()))}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """" Did you mean X?" for the nearest known name, or an empty string."""
    by_letters = {_letters(entry): entry for entry in known}
    asked = _letters(name)
    near = difflib.get_close_matches(asked, by_letters, n=1, cutoff=0.6)
    near = near or [letters for letters in by_letters if len(asked) >= 3 and asked in letters]
    return f" Did you mean {by_letters[near[0]]}?" if near else ""


def _letters(name: str) -> str:
    return name.lower().replace("_", "")


def lab_number(lab: object) -> str:
    """3, "3" or "03" as "03"; anything else as its text."""
    text = str(lab).strip()
    return text.zfill(2) if text.isdecimal() else text


def part_of(entry: Exercise) -> Any:
    """The finished part itself: the object that the exercise's dotted name says."""
    module, _, name = entry.part.rpartition(".")
    return getattr(importlib.import_module(module), name)


def lacking(lab: str, missing: ModuleNotFoundError) -> str:
    """The sentence that says what to install for a lab whose finished parts cannot be imported; empty if what is
    missing is none of the packages that a lab may need."""
    title, how = _PACKAGES.get((missing.name or "").partition(".")[0], ("", ""))
    return f"✗ Lab {lab} needs {title}, which is not installed: {how}, then restart the kernel." if title else ""


@contextmanager
def declared(*entries: Exercise) -> Iterator[None]:
    """Adds exercises for a while, and lets them take precedence over the course's: for tests and for trying one out."""
    _extra.extend(entries)
    try:
        yield
    finally:
        for entry in entries:
            _extra.remove(entry)
