"""An interrupt of the kernel stops the check and not the kernel, and leaves nothing running."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import pytest

from kvlab.course import threaded
from kvlab.course.guard import guarded
from tests.course import isolated
from tests.course.isolated import assert_nothing_runs_on

quick = isolated.quick  # the fixture: a notebook in a fork, and one in a thread


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
