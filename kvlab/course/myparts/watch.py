"""A time limit for calls that stay in the caller's thread, where torch's settings and the notebook's stop button are.

A thread beside them throws `Stop` into a call whose time is up. That stops Python code, and not a call into C that
never returns. A call inside another one has a time of its own, which does not count for the outer one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kvlab.course.guard import STRETCH, Stop, starved, throw

Result = TypeVar("Result")
_TICK = 0.02  # seconds between two looks
_PATIENCE = 0.3  # seconds after the first `Stop`, before they come without a pause
_IDLE = 1.0  # seconds without a call, after which the watching thread ends


class TooLong(Exception):
    """A call did not end within its time."""


@dataclass
class _Call:
    thread: int
    seconds: float
    started: float
    worked: float  # processor seconds when it began
    inner: float = 0.0  # seconds that calls inside it took
    thrown: float = 0.0  # when the first `Stop` was thrown
    left: bool = False


class Watch:
    """Watches the calls of all threads. One object serves the process; see `timed`."""

    def __init__(self) -> None:
        self._calls: dict[int, list[_Call]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def enter(self, seconds: float) -> _Call:
        """A call of this thread begins."""
        call = _Call(threading.get_ident(), seconds, time.monotonic(), time.process_time())
        with self._lock:
            self._calls.setdefault(call.thread, []).append(call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, daemon=True, name="kvlab watch")
                self._thread.start()
        return call

    def leave(self, call: _Call) -> None:
        """It is over; a `Stop` that has been thrown and not yet arrived is taken back. To say so twice is harmless."""
        while not call.left:
            try:
                with self._lock:
                    self._remove(call)
            except Stop:
                continue

    def _remove(self, call: _Call) -> None:
        if call.left:
            return
        calls = self._calls[call.thread]
        calls.remove(call)
        if calls:
            calls[-1].inner += time.monotonic() - call.started
        else:
            del self._calls[call.thread]
        call.left = True
        if call.thrown:
            throw(call.thread, None)

    def _look(self) -> None:
        seen = time.monotonic()
        while True:
            with self._lock:
                now = time.monotonic()
                if self._calls:
                    seen = now
                elif now - seen > _IDLE:
                    self._thread = None
                    return
                hectic = any([self._stop_if_late(calls[-1], now) for calls in self._calls.values()])
            time.sleep(0 if hectic else _TICK)

    @staticmethod
    def _stop_if_late(call: _Call, now: float) -> bool:
        """Throws if its time is up; whether it is one that catches what is thrown, and must be thrown at again."""
        if call.thrown:
            if now - call.thrown < _PATIENCE:
                return False
        else:
            took, worked = now - call.started - call.inner, time.process_time() - call.worked
            if took < call.seconds or starved(worked, call.seconds) and took < STRETCH * call.seconds:
                return False
            call.thrown = now
        throw(call.thread, Stop)
        return now - call.thrown >= _PATIENCE


_WATCH = Watch()


def timed(work: Callable[[], Result], seconds: float) -> Result:
    """What `work()` returns. `TooLong` if it has not ended after `seconds`, or 1.6 times as many on a busy machine."""
    call = _WATCH.enter(seconds)
    try:
        try:
            return work()
        finally:
            _WATCH.leave(call)
    except Stop:
        _WATCH.leave(call)
        if not call.thrown:
            raise  # somebody else's
        raise TooLong(f"did not finish within {seconds:g} s") from None
