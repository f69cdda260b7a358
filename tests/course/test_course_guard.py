"""Nothing that a learner's code does reaches the notebook: in a forked check, and in a thread where there is none."""

from __future__ import annotations

import contextlib
import os
import sys

import psutil
import pytest

from kvlab.course.guard import guarded
from tests.course import isolated
from tests.course.gates import children_seconds
from tests.course.isolated import ISOLATED

quick = isolated.quick  # the fixture: a notebook in a fork, and one in a thread


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
