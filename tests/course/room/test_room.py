"""A class at a glance, from files that exercises really wrote, on clocks that disagree, while files come and go."""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import time
from pathlib import Path

import pytest

from kvlab.course.room import Room, board, room
from kvlab.course.room.shown import as_html, as_json, text
from kvlab.course.session import restart
from kvlab.course.state import FILE
from tests.course.cells import Notebook

TOO_MANY = "def blocks_needed(num_tokens, block_size):\n    return num_tokens // block_size + 1"
RIGHT = "def blocks_needed(num_tokens, block_size):\n    return -(-num_tokens // block_size)"
NOW = 1_800_000_000.0


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """Runs exercise cells in a folder of a learner's own, as a notebook there would."""

    def run(name: str, *cells: str) -> Path:
        folder = tmp_path / "class" / name / "my-labs"
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("KVLAB_PROGRESS", str(folder / FILE))
        restart()
        page = Notebook()
        for cell in cells:
            page.exercise(cell)
        return folder / FILE

    return run


def at(seconds: float) -> str:
    """A time as progress files have it."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")


def write(folder: Path, now: float = NOW, ago: float | None = None, **exercises: list) -> Path:
    """A progress file: of each exercise its tries as (seconds ago, passed, mistake), written `ago` seconds ago, by
    default with the last try. now: what the learner's clock says."""
    records = {name: {"lab": "03", "tries": len(tries),
                      "attempts": [{"at": at(now - then), "passed": passed, "mistake": mistake}
                                   for then, passed, mistake in tries]}
               for name, tries in exercises.items()}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(json.dumps({"version": 1, "exercises": records}))
    written = NOW - (min(then for tries in exercises.values() for then, *_ in tries) if ago is None else ago)
    os.utime(path, (written, written))
    return path


def seats(folder: Path, now: float = NOW):
    """Everybody below a folder, by name."""
    return {seat.name: seat for seat in board(Room([folder]).look(), now).seats}


def test_what_learners_ran_is_what_the_room_shows(learner, tmp_path):
    learner("ana", RIGHT)
    learner("ben", TOO_MANY)
    learner("cem", TOO_MANY, TOO_MANY + "  # once more")
    seen = board(Room([tmp_path / "class"]).look(), time.time())
    assert {seat.name: seat.cells["blocks_needed"].sign for seat in seen.seats} == {"ana": "✓", "ben": "✗", "cem": "✗"}
    (count, name, says), *rest = seen.mistakes
    assert (count, name, rest) == (2, "blocks_needed", []) and "num_tokens // block_size + 1" in says
    assert "slot_mapping" in seen.exercises and not seen.stuck


def test_a_mistake_that_was_mended_is_no_mistake_now(learner, tmp_path):
    learner("ana", TOO_MANY, RIGHT)
    seen = board(Room([tmp_path / "class"]).look(), time.time())
    assert seen.mistakes == () and seen.seats[0].passed == 1


def test_who_fails_at_one_exercise_for_ten_minutes_is_stuck(tmp_path):
    write(tmp_path / "ana", blocks_needed=[(601, False, None), (30, False, None)])
    write(tmp_path / "ben", blocks_needed=[(590, False, None), (30, False, None)])
    write(tmp_path / "cem", blocks_needed=[(900, False, None), (30, True, None)])
    write(tmp_path / "dia", blocks_needed=[(900, False, None)], paged_waste=[(30, True, None)])
    write(tmp_path / "eve", blocks_needed=[(900, True, None), (300, False, None)])
    assert [seat.name for seat in board(Room([tmp_path]).look(), NOW).stuck] == ["ana"]


def test_silence_after_a_failed_try_counts_as_stuck_until_an_hour_has_gone(tmp_path):
    write(tmp_path / "ana", blocks_needed=[(0, False, None)])
    assert not seats(tmp_path, NOW + 599)["ana"].needs_help
    assert seats(tmp_path, NOW + 601)["ana"].needs_help
    later = seats(tmp_path, NOW + 3700)["ana"]
    assert later.away and not later.needs_help


def test_a_try_of_yesterday_does_not_make_anybody_stuck_today(tmp_path):
    write(tmp_path / "ana", blocks_needed=[(86_400, False, None), (60, False, None)])
    assert seats(tmp_path)["ana"].stuck == pytest.approx(60, abs=1)


@pytest.mark.parametrize("off", [-7200.0, -45.0, 0.0, 45.0, 86_400.0])
def test_a_learners_clock_that_is_wrong_changes_nothing(tmp_path, off):
    write(tmp_path / "ana", now=NOW + off, ago=120, blocks_needed=[(620, False, None), (120, False, None)])
    assert seats(tmp_path)["ana"].stuck == pytest.approx(500 + 120, abs=1.5)


def test_a_time_with_another_zone_or_none_is_read_and_one_that_is_no_time_is_left_out(tmp_path):
    path = write(tmp_path / "ana", blocks_needed=[(700, False, None), (10, False, None)])
    first = datetime.datetime.fromtimestamp(NOW - 700, datetime.timezone(datetime.timedelta(hours=5, minutes=30)))
    state = json.loads(path.read_text())
    tries = state["exercises"]["blocks_needed"]["attempts"]
    tries[0]["at"] = first.isoformat()
    tries[1]["at"] = tries[1]["at"].removesuffix("+00:00")
    tries.insert(0, {"at": "yesterday", "passed": False, "mistake": 7})
    path.write_text(json.dumps(state))
    os.utime(path, (NOW - 10, NOW - 10))
    assert seats(tmp_path)["ana"].stuck == pytest.approx(700, abs=1)


def test_a_half_written_file_leaves_a_person_as_they_were(tmp_path):
    path = write(tmp_path / "ana", blocks_needed=[(60, True, None)])
    looker = Room([tmp_path])
    assert looker.look()["ana"].readable
    whole = path.read_bytes()
    for end in range(0, len(whole), 17):
        path.write_bytes(whole[:end])
        person = looker.look()["ana"]
        assert not person.readable and "blocks_needed" in person.state["exercises"]
        assert path.read_bytes() == whole[:end]
    path.write_bytes(whole)
    assert looker.look()["ana"].readable


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"null", b'{"version": 99}', b"\xff\xfe", b"[" * 100_000,
                                  b'{"version": 1, "exercises": {"blocks_needed": 3}}'])
def test_what_is_no_progress_file_is_said_beside_the_name_and_left_as_it_is(tmp_path, data):
    write(tmp_path / "ana", blocks_needed=[(60, True, None)])
    (tmp_path / "ben").mkdir()
    (tmp_path / "ben" / FILE).write_bytes(data)
    seen = board(Room([tmp_path]).look(), NOW)
    assert [(seat.name, seat.note) for seat in seen.seats] == [("ana", ""), ("ben", "file cannot be read just now")]
    assert "cannot be read" in text(seen) and (tmp_path / "ben" / FILE).read_bytes() == data
    assert os.listdir(tmp_path / "ben") == [FILE]


def test_thirty_people_come_and_go(tmp_path):
    looker = Room([tmp_path])
    assert text(board(looker.look(), NOW)).startswith("Nobody yet")
    for number in range(30):
        write(tmp_path / f"p{number:02}", blocks_needed=[(900 - number, False, "Looks like it."), (1, False, "Looks.")])
    seen = board(looker.look(), NOW)
    assert len(seen.seats) == 30 and seen.mistakes[0][0] == 30
    for number in range(0, 30, 2):
        (tmp_path / f"p{number:02}" / FILE).unlink()
        (tmp_path / f"p{number:02}").rmdir()
    gone = board(looker.look(), NOW)
    assert [seat.note for seat in gone.seats] == ["folder is gone", ""] * 15
    lines = text(gone, 100).splitlines()
    assert max(map(len, lines)) <= 120 and sum(line.startswith("blocks_needed ") for line in lines) == 2


def test_a_folder_that_may_not_be_read_and_a_loop_of_links_stop_nobody(tmp_path):
    write(tmp_path / "ana", blocks_needed=[(60, True, None)])
    (tmp_path / "ben").symlink_to(tmp_path / "ben")
    (tmp_path / "round").mkdir()
    (tmp_path / "round" / "again").symlink_to(tmp_path / "round")
    assert list(seats(tmp_path)) == ["ana"]


def test_people_are_named_by_what_tells_them_apart(tmp_path):
    for place in ("a/ana/my-labs", "b/ben/my-labs", "b/cem/my-labs"):
        write(tmp_path / place, blocks_needed=[(60, True, None)])
    assert list(seats(tmp_path)) == ["ana", "ben", "cem"]
    write(tmp_path / "a/ben/my-labs", blocks_needed=[(60, True, None)])
    assert sorted(seats(tmp_path)) == ["a/ana", "a/ben", "b/ben", "b/cem"]


def test_a_name_or_a_sentence_cannot_steer_the_page_or_the_terminal(tmp_path):
    write(tmp_path / "<b>ana", blocks_needed=[(60, False, "<script>\x1b[2Jx</script>")])
    seen = board(Room([tmp_path]).look(), NOW)
    assert "<script>" not in as_html(seen) and "<b>" not in as_html(seen) and "\x1b" not in text(seen)


def test_json_tells_all_and_no_sources(learner, tmp_path):
    learner("ana", TOO_MANY)
    seen = json.loads(as_json(board(Room([tmp_path / "class"]).look(), time.time())))
    (ana,) = seen["people"]
    assert ana["exercises"]["blocks_needed"]["state"] == "not there yet" and seen["mistakes"][0]["people"] == 1
    assert "return num_tokens" not in json.dumps(ana)


def test_in_a_notebook_the_table_follows_the_class(tmp_path):
    async def page() -> tuple[str, str]:
        view = room(tmp_path, every=0.05, clock=lambda: NOW)
        shown = view._repr_mimebundle_()
        write(tmp_path / "ana", blocks_needed=[(60, True, None)])
        for _ in range(100):
            await asyncio.sleep(0.05)
            if "ana" in view._box.value:
                break
        view.stop()
        return shown["text/plain"], view._box.value

    before, after = asyncio.run(page())
    assert before.startswith("Nobody yet") and "ana" in after


def test_where_nothing_is_live_it_shows_text_and_a_table(tmp_path):
    write(tmp_path / "ana", blocks_needed=[(60, True, None)])
    shown = room(tmp_path, clock=lambda: NOW)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"} and "✓" in shown["text/html"]
