"""A package's docstring is a map: it names each module and folder that is there, and none that is not."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = ["memory", "compute", "serve", "course", "course.exercises", "view", "models", "bench", "cli"]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_names_what_is_in_it_and_nothing_else(name: str) -> None:
    package = import_module(f"kvlab.{name}")
    root = Path(package.__path__[0])
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    there = {path.relative_to(root).parts[0] for path in files if path.suffix == ".py" or path.parent != root}
    there = {Path(first).stem for first in there if first[0] not in "_."}
    named = {word.replace("NN", "[0-9][0-9]") for word in re.findall(r"`([\w*]+)`", package.__doc__ or "")} - {"kvlab"}
    found = {(stem, word) for stem in there for word in named if fnmatchcase(stem, word)}
    assert {stem for stem, _ in found} == there
    assert {word for _, word in found} == named
