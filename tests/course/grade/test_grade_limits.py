"""Code that takes too much, or ends where it stands, is ended in time, and the grade says why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kvlab.course.grade.house import House, Limits

HEAD = "@exercise\ndef blocks_needed(num_tokens, block_size):\n    "


def stopped(graded_cells, body: str, seconds: float = 20.0) -> str:
    found = graded_cells(HEAD + body.replace("\n", "\n    ") + "\n", only=("blocks_needed",), seconds=seconds)
    one = found["blocks_needed"]
    assert (one.verdict, one.points) == ("stopped", 0), one
    return one.said


@pytest.mark.parametrize("loop", ["while True: pass", "import time\nwhile True: time.sleep(1)",
                                  "while True:\n    try:\n        while True: pass\n    except BaseException: pass"])
def test_an_endless_loop_is_ended_in_time(graded_cells, loop):
    began = time.monotonic()
    assert "did not finish within 1 s" in stopped(graded_cells, loop, seconds=1.0)
    assert time.monotonic() - began < 15


def test_a_memory_hog_is_ended_and_named(graded_cells):
    assert "memory" in stopped(graded_cells, "kept = []\nwhile True: kept.append(bytearray(1 << 24))")


def test_a_memory_hog_in_a_tensor_is_ended_and_named(graded_cells):
    found = graded_cells(HEAD + "import torch\n    return int(torch.zeros(1 << 32).sum())\n", only=("blocks_needed",))
    assert found["blocks_needed"].points == 0
    assert "memory" in found["blocks_needed"].said


@pytest.mark.parametrize("start", [
    "import os\nwhile True: os.fork()", "import subprocess\nsubprocess.run(['sleep', '9'])",
    "import os\nos.system('sleep 9')", "import multiprocessing as m\nm.Process(target=print).start()"])
def test_a_fork_bomb_is_ended_and_named(graded_cells, start):
    assert "another process" in stopped(graded_cells, start)


def test_a_fork_around_python_is_refused_by_the_system(graded_cells):
    body = "import ctypes\nwhile True:\n    if ctypes.CDLL(None).fork() < 0: raise RuntimeError('no fork')"
    cell = HEAD + body.replace("\n", "\n    ") + "\n"
    one = graded_cells(cell, only=("blocks_needed",), seconds=3.0)["blocks_needed"]
    assert one.points == 0
    assert "no fork" in one.said


def test_a_flood_of_prints_is_ended_and_named(graded_cells):
    assert "printed more than 1 MB" in stopped(graded_cells, "while True: print('x' * 1000)")


def test_an_answer_without_end_is_ended_and_named(graded_cells):
    assert "sent back" in stopped(graded_cells, "return ['x' * 1000] * 40_000 + ['y' * (1 << 25)]")


def test_what_ends_its_own_process_is_named(graded_cells):
    assert "ended its process" in stopped(graded_cells, "import os\nos._exit(0)")


def test_nobody_can_ask_for_input(graded_cells):
    found = graded_cells(HEAD + "return int(input())\n", only=("blocks_needed",))
    assert found["blocks_needed"].points == 0


def test_a_job_ends_with_the_grader_whatever_it_does_meanwhile():
    job = {"name": "part", "pieces": ["import time", "time.sleep(600)"], "services": [], "constants": {}}
    with House(packages=()) as house:
        pipe, pid = house.start(job, Limits())
        stat = Path(f"/proc/{pid}/stat")
        assert stat.exists()
    until = time.monotonic() + 10
    while stat.exists() and " Z " not in stat.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    pipe.close()
    assert time.monotonic() < until


def test_one_bad_part_leaves_the_others_their_points(graded_cells):
    found = graded_cells(HEAD + "while True: print('x' * 1000)\n", "@exercise\ndef paged_waste(lengths, block_size):\n"
                         "    return sum(-n % block_size for n in lengths)\n", only=("blocks_needed", "paged_waste"))
    assert (found["blocks_needed"].points, found["paged_waste"].points) == (0, 1)
