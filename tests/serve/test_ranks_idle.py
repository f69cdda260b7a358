"""Two ranks of which one idles, fails, hangs or dies, in processes of their own; see `ranks_idle`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvlab.serve.ranks_launch import environment
from tests.serve.models import greedy, prompt, tiny
from tests.serve.ranks_idle import LONG, PARTNERS, SHORT
from tests.serve.ranks_running import free_port


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each process saw, by its part. All of them ended of themselves, but for the one that hangs."""
    folder = tmp_path_factory.mktemp("ranks")
    parts = ["leads", *dict.fromkeys(PARTNERS.values())]
    command = [sys.executable, "-m", "tests.serve.ranks_idle"]
    ports = [str(free_port()) for _ in PARTNERS]
    running = {
        part: subprocess.Popen([*command, part, *ports, str(folder)], env=environment(), cwd=folder) for part in parts
    }
    try:
        for part in ("follows", "leads", "waits"):
            running[part].wait(180)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return {path.name: json.loads(path.read_text()) for path in Path(folder).iterdir()}


def test_an_engine_that_idles_for_longer_than_the_timeout_works_afterwards(seen):
    assert seen["leads"]["idle"] == [greedy(tiny("llama"), prompt(5, number), 4) for number in range(3)]
    assert seen["follows"]["idle"][0] == "", "let go in peace"


def test_a_close_after_a_step_that_failed_ends_all_ranks_at_once(seen):
    step, close, seconds = seen["leads"]["broken"]
    assert (step, close) == ("ZeroDivisionError", "") and seconds < LONG / 4
    heard, seconds = seen["follows"]["broken"]
    assert heard == "RankLost" and seconds < LONG / 4


def test_a_rank_that_hangs_in_a_step_is_found_when_the_timeout_is_over(seen):
    heard, seconds = seen["leads"]["hung"]
    assert heard == "RankLost" and SHORT / 2 < seconds < LONG / 4


def test_a_rank_that_waits_for_work_hears_at_once_that_the_first_has_died(seen):
    heard, seconds = seen["waits"]["dead"]
    assert heard == "RankLost" and seconds < LONG / 4
