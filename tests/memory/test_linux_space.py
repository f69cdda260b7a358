"""Real addresses on Linux: memory that comes with a touch and goes when it is given back, as the system counts it."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest

from kvlab.errors import UsageError
from kvlab.memory import VirtualCache
from kvlab.memory import linux_space as module
from kvlab.memory.linux_space import LinuxSpace, linux_addresses
from kvlab.memory.spaces import own_spaces

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this is the memory of Linux")
PAGE = mmap.PAGESIZE


def smaps_resident(space: LinuxSpace) -> int:
    """Bytes that the system itself reports for the addresses of `space`: another way to the same number."""
    start = np.frombuffer(space.buffer(), np.uint8).ctypes.data
    stop, found, inside = start + len(space.buffer()), 0, False
    with open("/proc/self/smaps", encoding="ascii") as lines:
        for line in lines:
            first = line.split(maxsplit=1)[0]
            if "-" in first and not first.endswith(":"):
                low, high = (int(end, 16) for end in first.split("-"))
                inside = start <= low and high <= stop
            elif inside and line.startswith("Rss:"):
                found += 1024 * int(line.split()[1])
    return found


def test_a_gigabyte_of_addresses_has_no_memory_until_it_is_touched_and_none_after_it_is_given_back():
    space = LinuxSpace(1 << 30, 4 * PAGE)
    assert sum(space.resident(0, (1 << 30) // (4 * PAGE))) == 0
    space.map(3, 5)
    np.frombuffer(space.buffer(), np.uint8)[3 * 4 * PAGE] = 7
    assert space.resident(2, 6) == [0, 4 * PAGE, 4 * PAGE, 0]
    space.unmap(3, 4)
    assert space.resident(2, 6) == [0, 0, 4 * PAGE, 0]
    assert np.frombuffer(space.buffer(), np.uint8)[3 * 4 * PAGE] == 0  # what lay there is gone
    space.close()


def test_what_is_measured_is_what_the_system_reports():
    space = LinuxSpace(64 * PAGE, PAGE)
    space.buffer().madvise(mmap.MADV_DONTDUMP)  # neighbours with other flags are not merged into one entry of smaps
    for first, stop in ((0, 3), (10, 11), (60, 64)):
        space.map(first, stop)
        assert sum(space.resident(0, 64)) == smaps_resident(space) > 0
    space.unmap(0, 64)
    assert sum(space.resident(0, 64)) == smaps_resident(space) == 0


@pytest.mark.parametrize(
    ("size", "page", "sentence"),
    [
        (8 * PAGE, PAGE + 1, f"a multiple of the system's {PAGE} bytes, not {PAGE + 1}"),
        (3 * PAGE, 2 * PAGE, f"whole pages of {2 * PAGE} bytes, at least 1, not {3 * PAGE}"),
        (0, PAGE, "at least 1, not 0"),
        (1 << 60, PAGE, f"no {1 << 60} bytes of addresses"),
        (1 << 70, PAGE, f"no {1 << 70} bytes of addresses"),
    ],
)
def test_a_space_that_cannot_be_is_refused_in_a_sentence(size, page, sentence):
    with pytest.raises(UsageError, match=sentence):
        LinuxSpace(size, page)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_real_memory_is_refused_in_a_sentence_and_the_accounts_work(monkeypatch, platform):
    monkeypatch.setattr(module.sys, "platform", platform)
    with pytest.raises(UsageError, match="needs Linux .* keeps the same accounts"):
        VirtualCache(4, PAGE, [64], backing=linux_addresses).reserve("a", 10)
    cache = VirtualCache(4, PAGE, [64])
    cache.reserve("a", 10)
    assert cache.grow("a", 10) == 1


def test_addresses_of_which_one_range_is_refused_are_given_up_again():
    made, closed = [], []

    class Watched(LinuxSpace):
        def __init__(self, size: int, page_bytes: int) -> None:
            super().__init__(size, page_bytes)
            made.append(self)

        def close(self) -> None:
            super().close()
            closed.append(self)

    cache = VirtualCache(9, PAGE, [PAGE, 1 << 50], backing=own_spaces(Watched))
    with pytest.raises(UsageError, match="bytes of addresses"):
        cache.reserve("a", 1 << 10)
    assert len(made) == 1 and made == closed and len(cache) == 0
