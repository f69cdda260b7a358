"""Nothing that a learner's code does reaches the notebook: in a forked check, and in a thread where there is none."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
import threading
import time

import psutil
import pytest

from kvlab.course import registry, threaded
from kvlab.course.guard import guarded
from tests.course import small
from tests.course.cells import Notebook, fits
from tests.course.gates import children_seconds

ISOLATED = [pytest.param(True, id="forked", marks=pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux")),
            pytest.param(False, id="threaded")]


@pytest.fixture(params=ISOLATED)
def quick(request):
    """A notebook whose exercises are stopped after 0.4 s, in a fork or in a thread."""
    entries = [dataclasses.replace(entry, isolate=request.param, seconds=0.4) for entry in small.EXERCISES]
    with registry.declared(*entries):
        yield Notebook()


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


def assert_nothing_runs_on():
    for thread in [thread for thread in threading.enumerate() if thread.name in ("kvlab check", "kvlab hunt")]:
        thread.join(60)  # it has been stopped, and may be about to leave
        assert not thread.is_alive()


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


@pytest.mark.parametrize("body, said", [
    ("raise SystemExit", "ended the program"), ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
    ("return blocks_up(n, b)", "called itself without end"), ("return input('? ')", "input() cannot be used"),
    ("import threading; threading.Thread(target=print).start(); raise ValueError('x')", "raised ValueError: x")])
def test_exceptions_do_not_escape(quick, body, said):
    assert said in quick.exercise(f"def blocks_up(n, b):\n    {body}")


def test_what_the_code_prints_is_kept_for_help_me(quick):
    said = quick.exercise("""
        def blocks_up(n, b):
            print("looking at", n)
            import sys
            print("careful", file=sys.stderr)
            return 0
    """)
    assert "looking" not in said
    assert "Your code printed:\n    looking at 1\n    careful" in quick.run("help_me()")


def test_the_names_of_the_notebook_are_as_before(quick):
    quick.run("blocks_up = 'something of mine'\ncount = [0]")
    quick.run("def blocks_up(n, b):\n    return 1 + blocks_up(n - b, b) if n > 0 else 0\nmine = blocks_up")
    assert "✗" in quick.run("kept = exercise(mine)")
    assert quick.names["blocks_up"] is quick.names["mine"]
    assert sys.stdout is not None and input.__module__ != "kvlab.course.tape"


def test_a_forked_check_changes_nothing_in_the_notebook(notebook):
    notebook.run("seen = []")
    notebook.exercise("def blocks_up(n, b):\n    seen.append(n)\n    return 0")
    assert notebook.names["seen"] == []


def test_files_and_processes_of_a_check_do_not_stay(notebook):
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    children = {child.pid for child in psutil.Process().children()}  # a compiler that another test started
    for _ in range(3):
        notebook.exercise("""
            def blocks_up(n, b):
                import subprocess
                subprocess.Popen(["sleep", "100"])
                return 0
        """)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
        assert os.system("pgrep -P 1 -f '^sleep 100$' > /dev/null") != 0
    assert {child.pid for child in psutil.Process().children()} == children


def test_interrupting_the_kernel_stops_the_check_and_not_the_kernel(quick):
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    said = quick.exercise("def blocks_up(n, b):\n    while True:\n        pass")
    assert said.splitlines()[0] == "✗ blocks_up: the check was interrupted, so it did not count."
    assert_nothing_runs_on()


class Endless:
    """Work that never ends."""

    setting = contextlib.nullcontext

    def run(self, emit):
        while True:
            pass

    def late(self, frame):
        return {}


class Interrupts(Endless):
    """Work that interrupts the kernel as soon as it has begun, and never ends."""

    def run(self, emit):
        os.kill(os.getpid(), signal.SIGINT)
        super().run(emit)


def test_an_interrupt_that_comes_while_the_thread_begins_leaves_nothing_running():
    assert {guarded(Interrupts(), 5.0, isolate=False).how for _ in range(30)} == {"interrupted"}
    assert_nothing_runs_on()


def test_a_second_interrupt_leaves_nothing_running(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(threaded, "_watch", interrupted)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(threaded, "_hectic", interrupted)
        threaded.run(Endless(), 5.0)
    assert_nothing_runs_on()


def test_where_no_process_can_be_forked_a_thread_does_it(notebook, monkeypatch):
    monkeypatch.setattr(os, "fork", lambda: (_ for _ in ()).throw(BlockingIOError("no more processes")))
    assert "returned 0, expected 1" in notebook.exercise("def blocks_up(n, b):\n    return 0")


def test_a_check_that_passes_is_quick(notebook):
    before = children_seconds()  # of processor time: the tests may run on a busy machine
    said = notebook.exercise("""
        class Shelf:
            def __init__(self, books):
                self.free = [*range(books)]
            @property
            def num_free(self):
                return len(self.free)
            def take(self, count):
                from kvlab.errors import OutOfBlocks
                if count > len(self.free):
                    raise OutOfBlocks(count, len(self.free))
                taken, self.free = self.free[:count], self.free[count:]
                return taken
            def release(self, books):
                self.free += books
    """)
    assert said == "✓ Shelf: refusal · random traces"
    assert children_seconds() - before < 1


class Broken:
    """Work that raises by itself."""

    setting = contextlib.nullcontext

    def run(self, emit):
        raise RuntimeError("no")

    def late(self, frame):
        return {}


@pytest.mark.parametrize("isolate", ISOLATED)
def test_work_that_breaks_by_itself_says_so(isolate):
    ending = guarded(Broken(), 1.0, isolate)
    assert ending.how == "broken"
    assert ending.report["trouble"].startswith("RuntimeError: no in test_course_guard.py, line ")
