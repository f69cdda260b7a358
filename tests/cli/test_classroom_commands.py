"""`kvlab slides`, `kvlab guide`, and the rules for assistants in a learner's folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kvlab.cli import slides
from kvlab.cli.assistants import POINTERS, RULES, TEXT
from kvlab.cli.guide import documents
from kvlab.cli.main import main
from kvlab.course import __all__ as course_names
from tests.cli.conftest import Said

Command = Callable[..., Said]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to type commands in, beside the real course."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_slides_are_written_once_and_replaced_only_when_told(elsewhere: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["slides", "3"]) == 0
    assert re.search(r"slides-03\.html: \d+ slides, without answers", capsys.readouterr().out)
    (elsewhere / "slides-03.html").write_text("mine")
    assert main(["slides", "03"]) == 1 and "--force" in capsys.readouterr().err
    assert (elsewhere / "slides-03.html").read_text() == "mine"
    assert main(["slides", "03", "--force"]) == 0 and "<section" in (elsewhere / "slides-03.html").read_text()
    (elsewhere / "decks").mkdir()
    assert main(["slides", "03", "decks"]) == 0 and (elsewhere / "decks" / "slides-03.html").exists()


def test_a_lab_that_is_none_is_refused(elsewhere: Path, capsys: pytest.CaptureFixture) -> None:
    for command in ("slides", "guide"):
        assert main([command, "77"]) == 2 and 'There is no lab "77".' in capsys.readouterr().err
    assert main(["guide"]) == 2 and "kvlab guide 03" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


def test_without_mistune_the_way_is_told(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(slides, "installed", lambda module: False)
    assert main(["slides", "03"]) == 1 and "pip install 'kvlab[lab]'" in capsys.readouterr().err


def test_the_guide_prints_answers_and_wrong_answers_of_a_lab(capsys: pytest.CaptureFixture) -> None:
    assert main(["guide", "3"]) == 0
    said = capsys.readouterr().out
    assert "**403 conversations**" in said and "### `BlockPool`" in said and "Looks like" in said


def test_the_documents_in_the_repository_are_what_the_declarations_give(root: Path, elsewhere: Path) -> None:
    assert main(["guide", "--write", "docs"]) == 0
    for name in documents():
        fresh, committed = (elsewhere / "docs" / name).read_text("utf-8"), (root / "docs" / name).read_text("utf-8")
        assert fresh == committed, f"docs/{name} is out of date: run `kvlab guide --write docs`"


def test_start_lays_the_rules_for_assistants_beside_the_labs(mine: Path) -> None:
    assert (mine / RULES).read_text("utf-8") == TEXT
    assert all(RULES in (mine / name).read_text("utf-8") for name in POINTERS)


def test_rules_that_somebody_changed_are_left_as_they_are(kvlab: Command, mine: Path) -> None:
    (mine / RULES).write_text("our own rules")
    (mine / POINTERS[0]).unlink()
    assert kvlab("start", "--no-lab").code == 0
    assert (mine / RULES).read_text() == "our own rules" and (mine / POINTERS[0]).exists()


def test_the_rules_name_what_there_is_and_keep_their_voice_down() -> None:
    assert set(re.findall(r"`(\w+)\(", TEXT)) <= set(course_names)
    assert "!" not in TEXT and len(TEXT.split()) < 300
    assert "tutor" in TEXT and "`@exercise`" in TEXT and "`solutions/`" in TEXT
