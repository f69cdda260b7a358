"""The house style, as far as a machine can see it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kvlab
from tests.conftest import SLOW

PACKAGE = Path(kvlab.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a file, methods included."""
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, FUNCTIONS)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_file_is_short_and_so_are_its_functions(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 200
    long = [node.name for node in functions(path) if (node.end_lineno or 0) - node.lineno >= 40]
    assert not long, f"more than 40 lines: {long}"


def test_the_median_function_is_short() -> None:
    lengths = sorted((node.end_lineno or 0) - node.lineno + 1 for path in FILES for node in functions(path))
    assert lengths[len(lengths) // 2] <= 12


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_module_and_public_definition_says_what_it_is(path: Path) -> None:
    if "exercises" in path.parts:
        return  # the mistakes declared there are what a learner might write
    tree = ast.parse(path.read_text(encoding="utf-8"))
    public = [node for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name[0] != "_"]
    missing = [node.name for node in public if not ast.get_docstring(node)]
    assert ast.get_docstring(tree) and not missing, f"no docstring: {missing or path.name}"


def test_ruff_finds_nothing(root: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_no_file_of_the_tests_bears_the_name_of_another_or_of_a_standard_module(root: Path) -> None:
    # pytest puts their folders on sys.path, and whoever is started from there would import ours for Python's own
    names = [path.stem for path in (root / "tests").rglob("*.py") if path.name != "conftest.py"]
    tests = [name for name in names if name.startswith("test_")]
    assert not sys.stdlib_module_names & set(names)
    assert sorted(tests) == sorted(set(tests))


def test_what_is_called_slow_is_there_and_is_not_all_there_is(root: Path) -> None:
    for name in SLOW:
        path, _, function = name.partition("::")
        defined = {node.name for node in functions(root / path)}
        assert not function or function in defined, name
    whole = {name for name in SLOW if "::" not in name}
    assert len(whole) < len(list((root / "tests").rglob("test_*.py"))) / 4
