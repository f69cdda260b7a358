"""What a learner's process may not do: limits of the system, files it may not open, processes it may not start.

This file is loaded by that process before the learner's code, and imports nothing of the course. Four layers, from the
surest down; where a system lacks one, the others hold:
- Landlock (Linux 5.13 and later): the kernel itself refuses every file outside Python's own folders and a scratch one.
- seccomp (on x86-64 and ARM64): the kernel refuses new processes, signals to others, sockets, and looking into others.
- rlimits: memory, processor time, file size, open files, processes.
- an audit hook: refuses files, processes and sockets from within Python. Code that goes around Python goes around it.
None of this stops hostile code that knows how to break out of a process: that belongs in a container, or in a machine
of its own.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Landlock (linux/landlock.h): what a rule may allow, and the calls, which have the same numbers on every architecture.
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_EVERYTHING = (1 << 13) - 1
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES = 38
# Numbers of calls by machine (linux/unistd.h), and what the architecture is called there (linux/audit.h).
_MACHINES: dict[str, tuple[int, int, tuple[int, ...]]] = {  # architecture, clone, what is refused
    "x86_64": (0xC000003E, 56, (41, 57, 58, 59, 62, 101, 112, 129, 200, 234, 297, 310, 311, 322, 424, 425)),
    "aarch64": (0xC00000B7, 220, (117, 129, 130, 131, 138, 157, 198, 221, 240, 270, 271, 281, 424, 425)),
}
_CLONE3, _THREAD, _X32 = 435, 0x10000, 0x40000000
_ALLOWED, _REFUSED, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # let through; EPERM; ENOSYS: use the old call
_LOAD, _EQUAL, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF
_PROCESSES = ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen",
              "pty.spawn", "os.startfile", "os.kill", "os.killpg", "signal.pthread_kill")
_FILES = ("open", "os.listdir", "os.scandir", "os.chdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.chmod",
          "os.truncate", "os.mkdir", "os.rmdir", "shutil.copyfile", "os.fwalk", "os.walk", "glob.glob")


def die_with(parent: int) -> None:
    """The system kills this process when `parent`, which forked it, ends, whatever it does meanwhile (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended before that was asked for
        os._exit(0)


def limit(memory: int, seconds: int, processes: int = 64, file_bytes: int = 1 << 20) -> None:
    """Lowers this process's limits for good. memory: bytes on top of what is mapped now; seconds: of processor time;
    processes: of this user (the superuser is not bound by that one); file_bytes: of any file it writes."""
    wanted = {resource.RLIMIT_CPU: seconds, resource.RLIMIT_FSIZE: file_bytes, resource.RLIMIT_CORE: 0,
              resource.RLIMIT_NOFILE: 64, resource.RLIMIT_NPROC: processes}
    if os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm") as sizes:
            wanted[resource.RLIMIT_AS] = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + memory
    for name, most in wanted.items():
        hard = resource.getrlimit(name)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (most, most))


def readable(roots: Iterable[str], hidden: Iterable[str]) -> Iterator[str]:
    """Folders and files under `roots` in which nothing of `hidden` lies; what lies beside a hidden one comes singly."""
    away = [os.path.realpath(path) for path in hidden]
    waiting = [os.path.realpath(path) for path in roots]
    while waiting:
        path = waiting.pop()
        if any(path == one or path.startswith(one + os.sep) for one in away):
            continue
        if any(one.startswith(path + os.sep) for one in away) and os.path.isdir(path):
            waiting += [os.path.join(path, name) for name in os.listdir(path)]
        elif os.path.exists(path):
            yield path


def landlock(readables: Iterable[str], scratch: str) -> bool:
    """Lets this process read `readables` and write in `scratch`, and open no other file, for good. Whether it worked.

    Call it before there are threads."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "syscall", None)
    if sys.platform != "linux" or call is None or call(_CREATE, None, 0, 1) < 1:
        return False
    handled = struct.pack("<Q", _EVERYTHING)
    rules = call(_CREATE, handled, len(handled), 0)
    if rules < 0:
        return False
    try:
        for path in [*readables, scratch]:
            _allow(call, rules, path, _EVERYTHING & ~_EXECUTE if path == scratch else _READ | _LIST)
        if ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
            return False
        return call(_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def lacking() -> list[str]:
    """Which of the kernel's locks there are none of on this machine, in words."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "syscall", None)
    files = sys.platform == "linux" and call is not None and call(_CREATE, None, 0, 1) >= 1
    calls = sys.platform == "linux" and os.uname().machine in _MACHINES
    return [said for there, said in ((files, "Landlock (files)"), (calls, "seccomp (processes, signals)")) if not there]


def _allow(call: Any, rules: int, path: str, what: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        what = what if os.path.isdir(path) else what & (_WRITE | _READ)
        rule = struct.pack("<Qi", what, place)
        call(_ADD, rules, 1, rule, 0)
    finally:
        os.close(place)


def seccomp() -> bool:
    """Refuses new processes (threads are none), signals, sockets and tracing, for good. Whether it worked."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return False
    architecture, clone, refused = _MACHINES[os.uname().machine]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSED), (_LOAD, 0, 0, 0),
             (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _REFUSED), (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _UNKNOWN)]
    for number in refused:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSED)]
    steps += [(_EQUAL, 0, 3, clone), (_LOAD, 0, 0, 16), (_HAS, 1, 0, _THREAD), (_RETURN, 0, 0, _REFUSED),
              (_RETURN, 0, 0, _ALLOWED)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("<H6xQ", len(steps), ctypes.addressof(code)))
    control = ctypes.CDLL(None).prctl
    return bool(control(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and control(22, 2, program, 0, 0) == 0)


def watch(readables: Iterable[str], scratch: str, ended: Callable[[str], None]) -> None:
    """From here on Python itself refuses files elsewhere and sockets, and a new process is the end: `ended(why)`."""
    allowed = tuple([*readables, os.path.realpath(scratch), "/dev/null", "/dev/urandom", "/proc/self"])
    real, inside, text = os.path.realpath, os.sep, os.fsdecode

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PROCESSES:
            ended("started another process, or signalled one, which is not allowed")
        if event.startswith("socket.") and event not in ("socket.gethostname",):
            raise PermissionError("no network while a part is graded")
        if event in _FILES and arguments and isinstance(arguments[0], (str, bytes, os.PathLike)):
            path = real(text(arguments[0]))
            if not any(path == one or path.startswith(one + inside) for one in allowed):
                raise PermissionError(f"{path} is out of reach while a part is graded")

    sys.addaudithook(hook)
