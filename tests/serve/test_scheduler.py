"""The scheduler, on integers: who runs, who is admitted, and that nobody is forgotten."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from kvlab.errors import UsageError
from kvlab.memory import BlockManager
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.stores import PagedStore
from tests.serve.jobs import Ask, Served, alone

B = 4


def rows(plan) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Who decodes, and (job, start, stop) of each chunk."""
    return [job.id for job in plan.decoding], [(chunk.job.id, chunk.start, chunk.stop) for chunk in plan.chunks]


def test_a_prompt_runs_in_chunks_of_the_budget_and_then_decodes():
    served = Served(10, token_budget=3)
    ask = served.submit(7, 3)
    assert [rows(served.step()) for _ in range(5)] == [
        ([], [(0, 0, 3)]), ([], [(0, 3, 6)]), ([], [(0, 6, 7)]), ([0], []), ([0], []),
    ]  # fmt: skip
    assert ask.tokens == alone(ask) and served.idle and not served.scheduler.has_work


def test_those_who_decode_come_first_and_prompts_share_what_is_left_in_order():
    served = Served(40, token_budget=6)
    for prompt in (2, 9, 3):
        served.submit(prompt, 9)
    assert rows(served.step()) == ([], [(0, 0, 2), (1, 0, 4)])
    assert rows(served.step()) == ([0], [(1, 4, 9)])
    assert rows(served.step()) == ([0, 1], [(2, 0, 3)])


def test_everybody_who_decodes_does_so_in_every_step_since_no_more_run_than_the_budget_has_tokens():
    served = Served(40, token_budget=3)
    for _ in range(5):
        served.submit(1, 4)
    assert rows(served.step()) == ([], [(0, 0, 1), (1, 0, 1), (2, 0, 1)])
    assert rows(served.step()) == ([0, 1, 2], [])


def test_nobody_is_admitted_unless_all_its_tokens_fit_at_once_however_small_the_chunks():
    served = Served(5, token_budget=2, watermark=0)
    asks = [served.submit(3 * B, 2), served.submit(3 * B, 2)]
    while served.scheduler.has_work:
        served.step()
        assert served.scheduler.num_running <= 1  # 4 blocks in the end, then 3 more: never both
    assert served.finished == asks and not served.scheduler.preemptions


def test_the_watermark_stays_free_when_somebody_is_admitted_beside_others_but_not_for_one_alone():
    served = Served(10, watermark=0.3)
    served.submit(4 * B, 3)
    served.submit(4 * B, 3)
    served.step()
    assert served.scheduler.num_running == 1  # 6 are free, 4 are needed, and 3 are to stay free
    served = Served(10, watermark=0.2)
    served.submit(4 * B, 3)
    served.submit(4 * B, 3)
    served.step()
    assert served.scheduler.num_running == 2
    lone = Served(4, watermark=0.5)
    ask = lone.submit(3 * B, B + 1)
    lone.run()
    assert ask.tokens == alone(ask)


def test_the_head_of_the_queue_is_not_overtaken_by_a_smaller_request():
    served = Served(6, watermark=0)
    served.submit(4 * B, 6)
    large, small = served.submit(5 * B, 1), served.submit(1, 1)
    served.run()
    assert [ask.id for ask in served.finished] == [0, large.id, small.id]


def test_settings_that_could_never_run_anything_are_refused():
    store = PagedStore(BlockManager(4, B))
    for wrong in ({"max_running": 0}, {"token_budget": 0}, {"watermark": 1.0}, {"watermark": -0.1}):
        with pytest.raises(UsageError):
            Scheduler(store, **wrong)


def test_schedule_can_be_read_aloud():
    for name in ("schedule", "_decode", "_admit", "_preempt"):
        assert len(inspect.getsource(getattr(Scheduler, name)).splitlines()) < 40
    assert "Ask" in repr(Ask(0, [1], 1))


def test_planning_and_simulating_load_neither_torch_nor_transformers():
    names = ("simulate", "sweep", "metrics", "scheduler", "stores", "costmodel")
    code = "import sys, " + ", ".join(f"kvlab.serve.{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not {name.split(".")[0] for name in done.stdout.split()} & {"torch", "transformers", "triton"}
