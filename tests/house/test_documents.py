"""What README, CONTRIBUTING and the Makefile say is so."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from kvlab.cli.main import COMMANDS
from kvlab.cli.places import labs
from kvlab.course import registry
from tests.house.project import ROOT, project

PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
DOCUMENTS = [*PAGES, "kernels/README.md", "Makefile"]


def make_goals(root: Path) -> set[str]:
    """The goals that the Makefile declares."""
    (line,) = [line for line in (root / "Makefile").read_text().splitlines() if line.startswith(".PHONY:")]
    return set(line.split()[1:])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_keeps_its_voice_down(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    assert "!" not in text.replace("[ !", "").replace("!=", "").replace("![", "[")
    assert not re.search("[\U0001f300-\U0001faff]", text)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_to_a_file_leads_somewhere(root: Path, name: str) -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", (root / name).read_text(encoding="utf-8"))
    assert [link for link in links if not ((root / name).parent / link).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "Makefile", "docs/GUIDE.md", "docs/WHERE.md"])
def test_every_make_goal_mentioned_exists(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    mentioned = set(re.findall(r"(?:`|^ {4}|\")make ([a-z]+)", text, re.MULTILINE))
    assert mentioned and mentioned <= make_goals(root)


def test_the_readme_knows_every_command(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    assert {name for name in COMMANDS if f"`kvlab {name}" in text} == set(COMMANDS)


@pytest.mark.parametrize("name", PAGES)
def test_every_command_that_a_document_mentions_exists(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    mentioned = set(re.findall(r"(?:`|^ {4})kvlab\s+([a-z][a-z-]*)", text, re.MULTILINE))
    assert mentioned <= set(COMMANDS)


def plans(root: Path) -> dict[str, list[list[str]]]:
    """Each timetable of the guide, by the heading above it and its number, as rows of cells."""
    found = {}
    for part in re.split(r"^## ", (root / "docs/GUIDE.md").read_text(encoding="utf-8"), flags=re.MULTILINE):
        for number, table in enumerate(re.findall(r"^\| at .*\n(?:\|.*\n)+", part, re.MULTILINE)):
            rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]]
            found[f"{part.splitlines()[0]} {number}"] = rows
    return found


def test_the_guides_timetables_add_up_and_name_exercises_that_exist(root: Path) -> None:
    lengths = {}
    for name, rows in plans(root).items():
        starts = [int(at.split(":")[0]) * 60 + int(at.split(":")[1]) for at, *_ in rows]
        minutes = [int(row[1]) for row in rows]
        assert [after - before for before, after in pairwise(starts)] == minutes[:-1], name
        lengths[name] = sum(minutes)
        exercises = re.findall(r"`(\w+)`", " ".join(row[3] for row in rows))
        core = {entry.name for entry in registry.every() if entry.core}
        assert exercises and set(exercises) <= core, name
        assert sum(entry.minutes for entry in registry.every() if entry.name in exercises) < lengths[name]
    assert lengths == {"Three hours 0": 180, "Two days 0": 450, "Two days 1": 450}


def test_the_guide_discusses_every_exercise_and_lab_by_a_name_that_exists(root: Path) -> None:
    text = (root / "docs/GUIDE.md").read_text(encoding="utf-8")
    worth, questions = text.split("## Wrong answers worth stopping for")[1].split("## Questions to discuss")
    named = re.findall(r"^- `(\w+)`", worth, re.MULTILINE)
    assert named and set(named) <= {entry.name for entry in registry.every()}
    assert set(re.findall(r"^- \*\*(\d\d)\*\*", questions, re.MULTILINE)) <= set(registry.labs())


def test_the_readme_lists_the_labs_there_are(root: Path) -> None:
    rows = re.findall(r"^\| (\d\d) ([^|]+) \|", (root / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = {f"{number}_{title.lower().replace(' ', '_')}.ipynb" for number, title in rows}
    assert {path.name for path in labs(root / "labs").values()} <= listed


@pytest.mark.parametrize("name", PAGES)
def test_a_page_installs_extras_that_exist(root: Path, name: str) -> None:
    extras = re.findall(r"(?:\.|kvlab)\[([a-z,]+)\]", (root / name).read_text(encoding="utf-8"))
    assert {extra for group in extras for extra in group.split(",")} <= set(project()["optional-dependencies"])


def test_licence_and_python_are_stated_alike_everywhere(root: Path) -> None:
    assert project()["license"] == "Apache-2.0" and "Apache License" in (root / "LICENSE").read_text()
    lowest = project()["requires-python"].removeprefix(">=")
    assert lowest in (root / "README.md").read_text(encoding="utf-8")
    assert f"({lowest.replace('.', ', ')})" in (root / "Makefile").read_text()
    tools = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["mypy"]["python_version"] == lowest
