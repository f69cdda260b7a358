"""A check in a thread of this process: stopped by exceptions when its time is up or it takes too much memory."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from kvlab import has_gpu
from kvlab.course import memlimit
from kvlab.course.guard import MEMORY, STRETCH, Ending, Report, Stop, Work, described, starved, throw

_PATIENCE = 3.0  # seconds in which a thread that catches everything is given up


class _Check(threading.Thread):
    """The thread of one check. `throw` stops what it runs, and does nothing once that has ended."""

    def __init__(self, work: Work) -> None:
        super().__init__(daemon=True, name="kvlab check")
        self.ending = Ending()
        self.left = False  # whether the work has ended, however it did
        self._begun = False  # whether it need not begin any more
        self._work = work
        self._lock = threading.Lock()

    def run(self) -> None:
        """Runs the work, and then leaves: a `Stop` that arrives on the way out is dropped, and no other is thrown."""
        while not self.left:
            try:
                if not self._begun:
                    self._begun = True
                    self._check()
                with self._lock:
                    throw(threading.get_ident(), None)
                    self.left = True
            except Stop:
                pass

    def _check(self) -> None:
        def emit(report: Report) -> None:
            self.ending.report = report

        try:
            self._work.run(emit)
            self.ending.how = "done"
        except Stop:
            pass
        except MemoryError:
            self.ending.how = "memory"
        except BaseException as trouble:
            self.ending.how, self.ending.report = "broken", {"trouble": described(trouble)}

    def throw(self) -> None:
        """Throws `Stop` into the thread, unless it has left. One that has not begun yet does not begin."""
        with self._lock:
            self._begun = True
            if not self.left:
                throw(self.ident or 0, Stop)


def run(work: Work, seconds: float) -> Ending:
    """Runs `work` in a thread and waits for it, `seconds` + 3 at most. A thread that has not stopped by then is left
    behind, and stopped in the background."""
    thread = _Check(work)
    # One huge allocation is over before anybody can look, so the system has to refuse it. With a GPU it cannot be asked
    # to: CUDA maps far more than it uses.
    limit = contextlib.nullcontext() if has_gpu() else memlimit.limited(4 * MEMORY)
    with limit, work.setting():
        try:
            thread.start()  # inside: an interrupt may come while it waits for the thread to begin
            how = _watch(thread, seconds)
            report = work.late(sys._current_frames().get(thread.ident or 0)) if how == "late" else thread.ending.report
        except KeyboardInterrupt:
            how, report = "interrupted", thread.ending.report
        finally:
            _stop(thread)
    return Ending(how, report) if how else thread.ending


def _watch(thread: _Check, seconds: float) -> str:
    """Waits for the thread. "late" or "memory" if it has to be stopped, an empty string if it ended by itself."""
    allowed = memlimit.used() + MEMORY
    started, worked = time.monotonic(), time.process_time()
    while thread.is_alive():
        thread.join(0.02)
        waited = time.monotonic() - started
        if waited > seconds and (waited > seconds * STRETCH or not starved(time.process_time() - worked, seconds)):
            return "late"
        if memlimit.used() > allowed:
            return "memory"
    return ""


def _stop(thread: _Check) -> None:
    """Throws `Stop` into the thread again and again: a bare `except: pass` catches one, and then meets the next."""
    if thread.left:
        return
    deadline = time.monotonic() + _PATIENCE
    thread.throw()  # also before it is alive: then it does not begin
    try:
        with _hectic():
            while not thread.left and thread.is_alive() and time.monotonic() < deadline:
                thread.throw()
                time.sleep(0)
            thread.join(0.1)
    finally:  # also when the user interrupts a second time
        if not thread.left and thread.is_alive():
            # Left alone it would take half of the processor from every later cell, as long as the notebook is open.
            threading.Thread(target=_hunt, args=(thread,), daemon=True, name="kvlab hunt").start()


def _hunt(thread: _Check) -> None:
    """Goes on throwing until the thread is gone, at a pace that nobody notices."""
    while not thread.left and thread.is_alive():
        thread.throw()
        time.sleep(0.005)


@contextlib.contextmanager
def _hectic() -> Iterator[None]:
    """Threads take turns quickly, and a `Stop` that hits a thread's own clean-up or a destructor is not reported."""
    before = sys.getswitchinterval(), threading.excepthook, sys.unraisablehook
    sys.setswitchinterval(1e-5)
    threading.excepthook, sys.unraisablehook = (lambda _: None), (lambda _: None)
    try:
        yield
    finally:
        sys.setswitchinterval(before[0])
        threading.excepthook, sys.unraisablehook = before[1:]
