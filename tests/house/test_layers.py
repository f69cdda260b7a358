"""Layers only point down, and what labs 00-03 need loads without torch, at once."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kvlab

PACKAGE = Path(kvlab.__file__).parent
BELOW = {  # what each room may import of ours, besides itself and the modules at the package's root
    "memory": set(),
    "kernels": set(),
    "compute": {"memory", "kernels"},
    "serve": {"memory", "kernels", "compute"},
    "bench": {"memory", "kernels", "compute"},
    "view": {"memory", "kernels", "compute", "serve", "bench"},
    "course": {"memory", "kernels", "compute", "serve", "bench"},
    "cli": {"memory", "kernels", "compute", "serve", "bench", "view", "course"},
}
ROOT_MODULES = {"errors", "mode"}
HEAVY = {"torch", "triton", "transformers", "matplotlib", "IPython", "ipywidgets", "hypothesis", "nbformat", "pytest"}


def modules(room: str) -> list[Path]:
    """The source files of one room of the package."""
    return sorted(path for path in (PACKAGE / room).rglob("*.py") if "__pycache__" not in path.parts)


def imported(path: Path) -> Iterator[str]:
    """Every module a file imports, also inside functions, as an absolute dotted name."""
    package = ("kvlab", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [above, node.module or ""]))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def rooms_used(path: Path) -> set[str]:
    """The rooms, or root modules, of ours that a file imports; `from kvlab import f` is none of them."""
    parts = (name.split(".") for name in imported(path))
    used = {part[1] for part in parts if part[0] == "kvlab" and len(part) > 1}
    return used & (set(BELOW) | ROOT_MODULES)


def python(code: str) -> str:
    """What a fresh interpreter prints for `code`, run away from the repository."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    for path in modules(room):
        allowed = BELOW[room] | {room} | (set() if room == "kernels" else ROOT_MODULES)
        assert rooms_used(path) <= allowed, f"{path} imports {sorted(rooms_used(path) - allowed)}"


def test_kernels_import_nothing_of_ours() -> None:
    for path in modules("kernels"):
        ours = {name for name in imported(path) if name.split(".")[0] == "kvlab"}
        assert all(name.startswith("kvlab.kernels.") for name in ours), f"{path} imports {sorted(ours)}"


def test_memory_never_imports_torch_not_even_inside_a_function() -> None:
    assert modules("memory")
    for path in modules("memory"):
        roots = {name.split(".")[0] for name in imported(path)}
        assert not roots & {"torch", "triton", "transformers"}, path


def test_every_room_is_known_to_this_test() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - set(BELOW) <= {"labs", "solutions", "models"}


def test_importing_kvlab_and_its_memory_side_loads_nothing_heavy() -> None:
    loaded = python("import sys, kvlab, kvlab.memory, kvlab.errors, kvlab.mode; print(*sys.modules)").split()
    assert not {name.split(".")[0] for name in loaded} & HEAVY


def test_importing_the_memory_side_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import time; a = time.process_time(); import kvlab, kvlab.memory; print(time.process_time() - a)"
    seconds = min(float(python(code)) for _ in range(3))
    with capsys.disabled():
        print(f"\nimport kvlab and kvlab.memory: {seconds:.2f} s (0.3 s wanted)", end=" ")
    assert seconds < 1.0  # of processor time, which waits for nobody; 0.3 s are wanted


def test_the_course_and_the_command_need_the_base_dependencies_alone() -> None:
    extras = ("matplotlib", "ipywidgets", "IPython", "ipykernel", "jupyterlab", "nbformat", "transformers", "torch")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({extras!r}))"
    python(f"{blocked}\nimport kvlab.memory, kvlab.course, kvlab.cli.main\nkvlab.course.progress()")


def test_labs_00_to_03_need_neither_torch_nor_transformers() -> None:
    rooms = ("memory", "course", "view", "cli")
    files = [path.relative_to(PACKAGE.parent).with_suffix("") for room in rooms for path in modules(room)]
    names = [".".join(file.parts).removesuffix(".__init__") for file in files]
    blocked = "import sys; sys.modules.update(dict.fromkeys(('torch', 'triton', 'transformers')))"
    python(f"{blocked}\nimport importlib\nfor name in {names!r}: importlib.import_module(name)")
