"""`kvlab room`: once, as JSON, and until it is interrupted."""

from __future__ import annotations

import json
import time

from kvlab.course.state import FILE, now


def attend(folder, passed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    record = {"lab": "03", "tries": 1, "attempts": [{"at": now(), "passed": passed, "mistake": None}]}
    (folder / FILE).write_text(json.dumps({"version": 1, "exercises": {"blocks_needed": record}}))


def test_once_shows_the_class_and_ends(kvlab, here):
    attend(here / "class" / "ana", True)
    attend(here / "class" / "ben", False)
    said = kvlab("room", "class", "--once")
    assert said.code == 0 and "ana" in said.out and "blocks_needed" in said.out
    assert "✓  ✗" in said.out and "Nobody has been stuck" in said.out


def test_json_is_for_other_programs(kvlab, here):
    attend(here / "class" / "ana", True)
    said = kvlab("room", "class", "--json")
    assert said.code == 0 and json.loads(said.out)["people"][0]["name"] == "ana"


def test_a_class_that_has_not_begun_is_no_error_and_a_folder_that_is_not_there_is(kvlab, here):
    (here / "class").mkdir()
    assert kvlab("room", "class", "--once").out.startswith("Nobody yet")
    said = kvlab("room", "klass", "--once")
    assert said.code == 2 and "is no folder" in said.err
    assert kvlab("room", "class", "--every", "0").code == 2


def test_it_looks_again_until_it_is_interrupted(kvlab, here, monkeypatch):
    (here / "class").mkdir()
    turns = []

    def sleep(seconds: float) -> None:
        turns.append(seconds)
        attend(here / "class" / "ana", True)
        if len(turns) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    said = kvlab("room", "class", "--every", "2")
    assert (said.code, turns) == (0, [2.0, 2.0])
    assert said.out.index("Nobody yet") < said.out.index("ana")
