"""Code that never ends or takes all memory: a check stops it, in a fork or in a thread, and names what it did."""

from __future__ import annotations

import dataclasses
import time

import pytest

from kvlab.course import registry, threaded
from tests.course import isolated, small
from tests.course.cells import Notebook, fits
from tests.course.isolated import ISOLATED, assert_nothing_runs_on

quick = isolated.quick  # the fixture: a notebook in a fork, and one in a thread

LOOPS = {
    "bare": "while True:\n        pass",
    "catches everything": "while True:\n        try:\n            n += 1\n        except:\n            pass",
    "catches everything around calls": "while True:\n        try:\n            sorted([3, 1, 2], key=lambda x: x)\n"
                                       "        except BaseException:\n            continue",
    "prints": "while True:\n        print('again', n)",
    "for without end": "for _ in iter(int, 1):\n        pass",
    "sleeps": "import time\n    while True:\n        time.sleep(0.01)",
    "finally": "while True:\n        try:\n            n += 1\n        finally:\n            continue",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_an_endless_loop_is_stopped_and_named(quick, loop, monkeypatch):
    monkeypatch.setattr(threaded, "_PATIENCE", 60.0)  # a thread is stopped when its turn comes: late on a busy machine
    said = quick.exercise(f"def blocks_up(n, b):\n    {LOOPS[loop]}")
    assert said.splitlines()[0] == "✗ blocks_up(num_tokens=1, block_size=16) did not finish within 0.4 s."
    assert "your code was here:\n    line" in quick.run("help_me()")
    assert_nothing_runs_on()


@pytest.mark.parametrize("quick", ISOLATED[1:], indirect=True)
@pytest.mark.parametrize("loop", ["catches everything", "catches everything around calls", "finally"])
def test_a_thread_that_outlives_the_patience_is_stopped_in_the_background(quick, loop, monkeypatch):
    monkeypatch.setattr(threaded, "_PATIENCE", 0.0)
    assert "did not finish within 0.4 s" in quick.exercise(f"def blocks_up(n, b):\n    {LOOPS[loop]}")
    assert_nothing_runs_on()


def test_a_loop_inside_a_trace_is_stopped_and_named(quick):
    said = quick.exercise("""
        class Shelf:
            def __init__(self, books):
                self.num_free = books
            def take(self, count):
                while count > self.num_free:
                    count = count
                return []
            def release(self, books):
                self.num_free += len(books)
    """)
    assert said.splitlines()[0] == "✗ Shelf did not finish within 0.4 s.  (I13)"


@pytest.mark.parametrize("quick", ISOLATED[:1], indirect=True)
def test_a_call_into_c_that_never_returns_is_killed(quick):
    started = time.monotonic()
    said = quick.exercise("def blocks_up(n, b):\n    return sum(iter(int, 1))")
    assert time.monotonic() - started < 8
    assert "did not finish in time, and nothing could interrupt it." in " ".join(said.split())


@pytest.mark.parametrize("body", ["x = []\n    while True:\n        x.append('x' * 100_000)",
                                  "x = [0]\n    while True:\n        x += x",
                                  "x = b'x'\n    while True:\n        x += x"])
def test_a_list_that_grows_for_ever_is_stopped(quick, body):
    said = quick.exercise(f"def blocks_up(n, b):\n    {body}")
    assert said.startswith("✗") and fits(said)
    assert "memory" in said or "did not finish" in said
    assert quick.exercise("def blocks_up(n, b):\n    ...").startswith("○")


def test_a_thread_that_takes_too_much_memory_is_stopped_and_lets_go_of_it():
    with registry.declared(dataclasses.replace(small.BLOCKS_UP, isolate=False, seconds=2.0)):
        notebook = Notebook()
        notebook.run("import weakref\nclass Big:\n    def __init__(self):\n        self.room = bytes(10**6)")
        notebook.run("alive = weakref.WeakSet()")
        said = notebook.exercise("""
            def blocks_up(n, b):
                kept = []
                while True:
                    kept.append(Big())
                    alive.add(kept[-1])
        """)
    assert "needed more memory than a check may take" in said
    assert len(notebook.names["alive"]) <= 1
