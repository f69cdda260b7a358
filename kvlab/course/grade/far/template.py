"""The learner's side: a process that knows Python, numpy, torch and Triton, and nothing of the course.

`template` is started once, loads what takes seconds to load, and forks for each job. A fork takes its limits and serves
(`server`) until its socket closes. What lies beside this file is all that it has of ours; `kvlab` is here a name under
which there are the exceptions, the plain classes that arguments are made of, and a few constants.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import os
import signal
import socket
import sys
import types
from typing import Any

from kvlab.course.grade.far import locks
from kvlab.course.grade.far.pipes import ended, receive, send
from kvlab.course.grade.far.server import Server

PRINTED = 1 << 20  # characters that a job may print


class NotHere(Exception):
    """The learner's code asked for something of the course."""


class Absent:
    """What stands where a notebook has something of the course: whoever uses it is told that it is not there."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _refuse(self, *_given: Any, **_named: Any) -> Any:
        raise NotHere(f"{self.__dict__['_name']} is out of reach while a part is graded")

    __call__ = __getattr__ = __setattr__ = __getitem__ = __iter__ = __len__ = __add__ = __mul__ = _refuse


class _Course(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `kvlab` and everything in it as empty modules, so that a notebook's imports go through."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] != "kvlab":
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        module.__dict__["__all__"] = []
        module.__dict__["__getattr__"] = lambda wanted: _absent(name, wanted)


def _absent(module: str, wanted: str) -> Any:
    if wanted.startswith("__"):
        raise AttributeError(wanted)
    return Absent(f"{module}.{wanted}")


def template(control: socket.socket) -> None:
    """Loads what jobs need, then forks one for each pair of a job and a socket that comes, and answers with its id."""
    setup = receive(control)
    sys.meta_path.insert(0, _Course())
    os.environ["TRITON_INTERPRET"] = "1"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that end are gone at once
    _course_modules(setup["sources"])
    for name in setup["load"]:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    readables = list(locks.readable(setup["readable"], setup["hidden"]))
    send(control, {"lacks": locks.lacking()})
    parent = os.getpid()
    while True:
        note, handles, _, _ = socket.recv_fds(control, 4, 1)
        if not note:
            return
        child = os.fork()
        if child == 0:
            control.close()
            _forked(parent, socket.socket(fileno=handles[0]), readables)
        os.close(handles[0])
        send(control, {"pid": child})


def _course_modules(sources: dict[str, str]) -> None:
    for name, text in sources.items():
        module = importlib.import_module(name)
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    vars(importlib.import_module("kvlab"))["has_gpu"] = lambda: False


class _Counted:
    """Where prints go: nowhere, and not without end."""

    encoding, errors = "utf-8", "strict"

    def __init__(self, pipe: socket.socket) -> None:
        self.left, self._pipe = PRINTED, pipe

    def write(self, text: Any) -> int:
        self.left -= len(text)
        if self.left < 0:
            ended(self._pipe, f"printed more than {PRINTED >> 20} MB")
        return len(text)

    def flush(self) -> None:
        """There is nothing to flush."""

    def isatty(self) -> bool:
        """It is none."""
        return False


def _forked(parent: int, pipe: socket.socket, readables: list[str]) -> None:
    os.setsid()
    locks.die_with(parent)
    try:
        job = receive(pipe)
        if job is not None:
            _job(job, pipe, readables)
    except MemoryError:
        ended(pipe, "needed more memory than it may take")
    except BaseException as trouble:
        ended(pipe, f"ended with {type(trouble).__name__}: {str(trouble)[:200]}")
    os._exit(0)


def _job(job: dict[str, Any], pipe: socket.socket, readables: list[str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(job["scratch"])
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    sys.stdin, sys.stdout, sys.stderr = open(os.devnull), _Counted(pipe), _Counted(pipe)  # type: ignore[assignment]
    os.environ.clear()
    os.environ.update({"TRITON_INTERPRET": "1", "HOME": job["scratch"], "TMPDIR": job["scratch"], "LANG": "C.UTF-8"})
    locks.limit(job["memory"], job["seconds"])
    locks.landlock(readables, job["scratch"])
    locks.seccomp()
    with open("cell.py", "w", encoding="utf-8") as file:
        file.write("\n".join(job["pieces"]))
    locks.watch(readables, job["scratch"], lambda why: ended(pipe, why))
    Server(pipe, job).serve()
