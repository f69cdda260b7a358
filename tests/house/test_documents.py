"""What README, CONTRIBUTING and the Makefile say is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kvlab.cli.main import COMMANDS
from kvlab.cli.places import labs
from tests.house.project import project

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "kernels/README.md", "Makefile")


def make_goals(root: Path) -> set[str]:
    """The goals that the Makefile declares."""
    (line,) = [line for line in (root / "Makefile").read_text().splitlines() if line.startswith(".PHONY:")]
    return set(line.split()[1:])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_keeps_its_voice_down(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    assert "!" not in text.replace("[ !", "").replace("!=", "")
    assert not re.search("[\U0001f300-\U0001faff]", text)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_link_to_a_file_leads_somewhere(root: Path, name: str) -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", (root / name).read_text(encoding="utf-8"))
    assert all((root / link).exists() for link in links)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "Makefile"])
def test_every_make_goal_mentioned_exists(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    mentioned = set(re.findall(r"(?:`|^ {4}|\")make ([a-z]+)", text, re.MULTILINE))
    assert mentioned and mentioned <= make_goals(root)


def test_the_readme_knows_every_command(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    assert {name for name in COMMANDS if f"`kvlab {name}" in text} == set(COMMANDS)


def test_the_readme_lists_the_labs_there_are(root: Path) -> None:
    rows = re.findall(r"^\| (\d\d) ([^|]+) \|", (root / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = {f"{number}_{title.lower().replace(' ', '_')}.ipynb" for number, title in rows}
    assert {path.name for path in labs(root / "labs").values()} <= listed


def test_the_readme_installs_extras_that_exist(root: Path) -> None:
    extras = re.findall(r"\.\[([a-z,]+)\]", (root / "README.md").read_text(encoding="utf-8"))
    assert {extra for group in extras for extra in group.split(",")} <= set(project()["optional-dependencies"])


def test_licence_and_python_are_stated_alike_everywhere(root: Path) -> None:
    assert project()["license"] == "Apache-2.0" and "Apache License" in (root / "LICENSE").read_text()
    lowest = project()["requires-python"].removeprefix(">=")
    assert lowest in (root / "README.md").read_text(encoding="utf-8")
    assert f"({lowest.replace('.', ', ')})" in (root / "Makefile").read_text()
    tools = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["mypy"]["python_version"] == lowest
