"""A check in a forked copy of this process: it reports through a pipe and is killed when its time is up."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import select
import signal
import struct
import sys
import time
import warnings
from types import FrameType
from typing import NoReturn

from kvlab.course import memlimit
from kvlab.course.guard import GRACE, MEMORY, STRETCH, Ending, Report, Work, starved

_FINAL = "__final__"


def run(work: Work, seconds: float) -> Ending:
    """Runs `work` in a child. Raises OSError if no child can be had; nothing else."""
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads are no danger here: the child only computes
            child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if child == 0:
        _child(work, seconds, writer)
    os.close(writer)
    ending = Ending()
    try:
        _collect(reader, time.monotonic() + seconds * STRETCH + GRACE, ending)
    except KeyboardInterrupt:
        ending.how = "interrupted"
    finally:
        killed_by = _end(child, patience=0.5 if ending.how == "ended" else 0.0)
        os.close(reader)
    if ending.how == "ended" and killed_by:  # a kill that is not ours is the system's, short of memory
        ending.how = "memory" if killed_by == signal.SIGKILL else "crashed"
    return ending


def _collect(reader: int, deadline: float, ending: Ending) -> None:
    """Takes reports from the pipe until the final one, the child's death or the deadline."""
    data = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            ending.how = "late"
            return
        piece = os.read(reader, 65536)
        if not piece:
            return
        data += piece
        while len(data) >= 4 and len(data) >= 4 + (size := struct.unpack("<I", data[:4])[0]):
            report, data = json.loads(data[4 : 4 + size]), data[4 + size :]
            if _FINAL in report:
                ending.how = report[_FINAL]
                return
            ending.report = report


def _end(child: int, patience: float) -> int:
    """Kills the child with everything it started, after giving it `patience` seconds to end by itself. Returns the
    signal that ended it, 0 for none."""
    deadline = time.monotonic() + patience
    while not (status := _waited(child, os.WNOHANG)) and time.monotonic() < deadline:
        time.sleep(0.005)
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except OSError:  # already gone
            pass
    status = status or _waited(child, 0)
    return os.WTERMSIG(status[1]) if status else 0


def _waited(child: int, options: int) -> tuple[int, int] | None:
    """(child, status) once the child has ended; None before that, or if somebody else waited for it."""
    try:
        done = os.waitpid(child, options)
    except ChildProcessError:
        return child, 0
    return done if done[0] else None


def _child(work: Work, seconds: float, writer: int) -> NoReturn:
    try:
        _settle()
        started, stretched = time.process_time(), []

        def late(_signal: int, frame: FrameType | None) -> None:
            if starved(time.process_time() - started, seconds) and not stretched:
                stretched.append(True)
                signal.setitimer(signal.ITIMER_REAL, seconds * (STRETCH - 1))
                return
            _send(writer, work.late(frame))
            _send(writer, {_FINAL: "late"})
            os._exit(0)

        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with memlimit.limited(MEMORY), work.setting():
            work.run(lambda report: _send(writer, report))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(writer, {_FINAL: "done"})
    except MemoryError:
        _send(writer, {_FINAL: "memory"})
    finally:
        os._exit(0)


def _settle() -> None:
    """Makes the copy harmless: a group of its own, no terminal, one thread for torch, no crash report."""
    os.setpgid(0, 0)
    gc.freeze()  # what was there before needs no collecting; looking at it would copy its pages
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # OpenMP's threads do not survive a fork: a parallel loop would hang


def _send(writer: int, report: Report) -> None:
    """Writes one report whole: the alarm waits, so that it cannot cut a report in two."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    data = json.dumps(report).encode()
    data = struct.pack("<I", len(data)) + data
    while data:
        data = data[os.write(writer, data) :]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
