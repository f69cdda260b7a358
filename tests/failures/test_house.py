"""F42 and F43: a course that is updated under a learner's hands, and versions that drift apart."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from kvlab.cli.copying import copy_labs
from kvlab.cli.places import labs
from tests.house.project import declared, pins, version


def git(*command: str, cwd: Path) -> str:
    """Run git with a name of its own; it must succeed."""
    names = {f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    full = ["git", "-c", "init.defaultBranch=main", *command]
    done = subprocess.run(full, cwd=cwd, capture_output=True, text=True, env=os.environ | names)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kvlab_start(folder: Path) -> None:
    """What `kvlab start` does to a clone's my-labs/."""
    copy_labs(list(labs(folder / "labs").values()), folder / "my-labs")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}


def work_through(path: Path) -> None:
    """Leave a lab as somebody does who answered, ran and saved it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        cell["execution_count"] = number + 1
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["mine\n"]}]
        cell["source"] = [*cell["source"], "\n# my own note"]
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def publish(repository: Path) -> None:
    """A new version of every lab: a sentence more in its first cell."""
    for path in labs(repository / "labs").values():
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"][0]["source"] = [*notebook["cells"][0]["source"], "\n\nNew in this version."]
        path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    git("commit", "-qam", "Improve every lab", cwd=repository)


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The course as a repository, and a learner's clone of it with my-labs/ made."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    upstream, mine = tmp_path / "upstream", tmp_path / "mine"
    shutil.copytree(root / "labs", upstream / "labs", ignore=shutil.ignore_patterns(".*", "kvlab-progress*"))
    shutil.copy(root / ".gitignore", upstream / ".gitignore")
    git("init", "-q", cwd=upstream)
    git("add", ".", cwd=upstream)
    git("commit", "-qm", "The course", cwd=upstream)
    git("clone", "-q", str(upstream), str(mine), cwd=tmp_path)
    kvlab_start(mine)
    return upstream, mine


def test_f42_after_every_lab_was_worked_through_an_update_pulls_cleanly(clone: tuple[Path, Path]) -> None:
    upstream, mine = clone
    for path in labs(mine / "my-labs").values():
        work_through(path)
    (mine / "my-labs" / "kvlab-progress.json").write_text("{}")
    before = contents(mine / "my-labs")
    publish(upstream)
    git("pull", "-q", "--ff-only", cwd=mine)
    assert git("status", "--porcelain", cwd=mine) == ""
    kvlab_start(mine)
    after = contents(mine / "my-labs")
    assert before.items() <= after.items()
    offered = {name: content for name, content in after.items() if name not in before}
    assert set(offered) == {f"{path.stem}.updated.ipynb" for path in labs(mine / "labs").values()}
    assert all(b"New in this version." in content for content in offered.values())
    assert git("status", "--porcelain", cwd=mine) == ""


def test_f42_labs_not_begun_follow_the_update_and_no_version_is_lost(clone: tuple[Path, Path]) -> None:
    upstream, mine = clone
    before = contents(mine / "my-labs")
    publish(upstream)
    git("pull", "-q", "--ff-only", cwd=mine)
    kvlab_start(mine)
    assert contents(mine / "my-labs") == {path.name: path.read_bytes() for path in labs(mine / "labs").values()}
    kept = contents(mine / "my-labs" / ".kvlab-old")
    assert sorted(kept.values()) == sorted(before.values())


@pytest.mark.notebooks
@pytest.mark.timeout(1200)  # every lab, one after the other: a minute here, several on a busy machine
def test_f42_labs_run_for_real_survive_an_update_to_the_byte(clone: tuple[Path, Path]) -> None:
    upstream, mine = clone
    for path in labs(mine / "my-labs").values():
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
        nbformat.write(notebook, path)
        assert b'"output_type": "stream"' in path.read_bytes()
    before = contents(mine / "my-labs")
    publish(upstream)
    git("pull", "-q", "--ff-only", cwd=mine)
    kvlab_start(mine)
    assert before.items() <= contents(mine / "my-labs").items()


# -- F43


def test_f43_every_pinned_version_lies_in_the_declared_range() -> None:
    known = pins()
    for requirement in declared():
        if requirement.name in known:
            pinned = version(known[requirement.name])
            assert requirement.specifier.contains(pinned, prereleases=True), f"{requirement} against {pinned}"


def test_f43_every_declared_dependency_is_pinned() -> None:
    assert {requirement.name for requirement in declared()} <= set(pins())


def test_f43_every_pin_is_one_exact_version() -> None:
    assert all(version(pin) for pin in pins().values())


def test_f43_torch_and_triton_are_the_pair_that_belong_together() -> None:
    known = pins()
    assert (version(known["torch"]), version(known["triton"])) == ("2.13.0", "3.7.1")
    assert str(known["triton"].marker) == 'sys_platform == "linux"'


def test_f43_triton_is_declared_for_linux_only_and_left_to_torch() -> None:
    (triton,) = [requirement for requirement in declared() if requirement.name == "triton"]
    assert str(triton.marker) == 'sys_platform == "linux"'
    assert all(clause.operator == ">=" for clause in triton.specifier)  # torch's CUDA build brings its own exact one


@pytest.mark.skipif("CI" not in os.environ, reason="only CI installs exactly what the constraints say")
def test_f43_what_ci_runs_on_is_what_the_constraints_say() -> None:
    known = pins()
    for name in sorted({requirement.name for requirement in declared()} - {"cuda-python"}):  # that is for GPUs alone
        assert importlib.metadata.version(name).split("+")[0] == version(known[name]), name
