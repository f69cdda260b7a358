"""Where learners' processes come from: one template that has loaded torch, and a fork of it for each job.

The template is a Python of its own, without the course on its path and without this process's environment. It never
runs a learner's code itself.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import shutil
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import kvlab
from kvlab import errors
from kvlab.course import interpreter, shorten
from kvlab.course.grade import far
from kvlab.course.grade.far.pipes import receive, send
from kvlab.errors import KVLabError
from kvlab.memory import CachedBlock, RadixNode

READY = 120.0  # seconds in which the template must have torch loaded
_START = "import socket, sys; sys.path[:] = sys.argv[2:]; from far.template import template; " \
         "template(socket.socket(fileno=int(sys.argv[1])))"


class NoTemplate(KVLabError):
    """The process that jobs are forked from did not start; the text says what is known of it."""


@dataclass(frozen=True)
class Limits:
    """What one exercise may take. seconds: of time, by the clock; memory: bytes on top of Python, numpy and torch."""

    seconds: float = 20.0
    memory: int = 512 << 20


class House:
    """A context in which jobs can be started; entering it is refused with `NoTemplate` where the template does not
    start. `packages`: what the template loads beforehand. `lacks`: which of the system's own locks there are none of
    here, in words."""

    def __init__(self, packages: Sequence[str] = ("numpy", "torch", "triton")) -> None:
        self.packages = list(packages)

    def __enter__(self) -> House:
        self._folder = tempfile.TemporaryDirectory(prefix="kvlab-grade-", ignore_cleanup_errors=True)
        self.code, self.scratch = Path(self._folder.name, "code"), Path(self._folder.name, "scratch")
        self.lacks: list[str] = []
        self._jobs = 0
        _written(self.code)
        self.scratch.mkdir()
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        self._close()
        self._folder.cleanup()

    def _open(self) -> None:
        """Starts the template."""
        self._control, theirs = socket.socketpair()
        environment = {"LANG": "C.UTF-8", "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "PATH": os.defpath,
                       "HOME": str(self.scratch), "TRITON_CACHE_DIR": str(self.scratch / "triton")}
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _START, str(theirs.fileno()), *self._path()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said, env=environment,
            pass_fds=[theirs.fileno()], cwd=self.scratch, start_new_session=True)
        theirs.close()
        self._control.settimeout(READY)
        try:
            send(self._control, self._setup())
            self.lacks = list(receive(self._control)["lacks"])
        except (OSError, ValueError, TypeError):
            self._process.kill()
            self._process.wait()
            self._said.seek(0)
            said = self._said.read()[-400:].decode(errors="replace").strip()
            self.__exit__(None, None, None)
            raise NoTemplate(f"the process for learners' code did not start. {said}") from None

    def _close(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._said.close()

    def _path(self) -> list[str]:
        """Where Python's own modules and the installed ones lie; not the course's folder."""
        paths = sysconfig.get_paths()
        shared = sysconfig.get_config_var("DESTSHARED") or paths["platstdlib"]
        found = [str(self.code), paths["stdlib"], shared, paths["purelib"], paths["platlib"], *site.getsitepackages()]
        return list(dict.fromkeys(found))

    def _setup(self) -> dict[str, Any]:
        package = Path(kvlab.__file__).resolve().parent
        hidden = [package, *(package.parent / name for name in ("labs", "solutions", "kernels", "tests", "docs"))]
        readable = [*self._path(), sys.base_prefix + "/lib", "/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache",
                    "/dev/null", "/dev/urandom", "/dev/zero", "/usr/share/zoneinfo"]
        return {"sources": _sources(), "load": [*self.packages, "kernelguard"],
                "readable": readable, "hidden": list(map(str, hidden))}

    def start(self, job: dict[str, Any], limits: Limits) -> tuple[socket.socket, int]:
        """Starts a job and returns the socket to it and its process id. `end` must follow. A template that is gone,
        as when memory ran out, is started anew."""
        try:
            ours, pid = self._fork()
        except (OSError, TypeError):
            self._close()
            self._open()
            ours, pid = self._fork()
        self._jobs += 1
        scratch = self.scratch / str(self._jobs)
        scratch.mkdir()
        job = job | {"scratch": str(scratch), "memory": limits.memory, "seconds": int(limits.seconds) + 5}
        with contextlib.suppress(OSError):  # it is gone already: whoever asks it finds out
            send(ours, job)
        return ours, pid

    def _fork(self) -> tuple[socket.socket, int]:
        """A socket to a new process, which waits for its job there. The template itself never sees a job."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [b"fork"], [theirs.fileno()])
            return ours, int(receive(self._control)["pid"])

    def end(self, pipe: socket.socket, pid: int) -> None:
        """Ends a job with everything it has started, and removes what it wrote."""
        pipe.close()
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):  # gone already
                kill(pid, signal.SIGKILL)
        shutil.rmtree(self.scratch / str(self._jobs), ignore_errors=True)


def _written(folder: Path) -> None:
    """What goes over: `far`, and the interpreter's guard under a name of its own, without a way back to the course."""
    renamed = {"kvlab.course.grade.far": "far", "kvlab.course.interpreter": "kernelguard",
               "kvlab.course.shorten": "kernelguard.shorten",
               "from kvlab.course.guard import Stop": "class Stop(BaseException): ..."}
    for name, package in (("far", far), ("kernelguard", interpreter)):
        (folder / name).mkdir(parents=True)
        files = [*Path(str(package.__file__)).parent.glob("*.py")]
        files += [Path(shorten.__file__)] if name == "kernelguard" else []
        for file in files:
            text = file.read_text(encoding="utf-8")
            for before, after in renamed.items():
                text = text.replace(before, after)
            (folder / name / file.name).write_text(text, encoding="utf-8")


def _sources() -> dict[str, str]:
    """What `kvlab` is over there: the exceptions, and the classes whose objects are arguments."""
    memory = ["from __future__ import annotations", "from collections.abc import Iterator, Sequence",
              "from typing import NamedTuple", "from kvlab.errors import InvariantBroken, UsageError",
              inspect.getsource(RadixNode), inspect.getsource(CachedBlock)]
    return {"kvlab.errors": inspect.getsource(errors), "kvlab.memory": "\n\n".join(memory)}
