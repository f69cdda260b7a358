"""How much memory this process uses, and a limit on what it may take on top of that."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def used() -> int:
    """Bytes of memory that this process occupies now (where that cannot be had: its peak; on Windows 0)."""
    try:
        return _pages(1)
    except (OSError, ValueError):
        if resource is None:
            return 0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _pages(field: int) -> int:
    """A size of this process on Linux, in bytes: field 0 is what is mapped, 1 what is in memory."""
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def limited(extra: int) -> Iterator[None]:
    """While it lasts, this process may map `extra` bytes more than it has; beyond that Python raises MemoryError.

    Does nothing where the system knows no such limit, or has a lower one.
    """
    if resource is None or sys.platform != "linux":
        yield
        return
    before = soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _pages(0) + extra
    if any(known != resource.RLIM_INFINITY and known < limit for known in (soft, hard)):
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
