"""Real addresses on Linux: memory comes with the tokens, goes when it is given back, and is what the accounts say."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kvlab.errors import InvariantBroken, OutOfPages, UsageError
from kvlab.memory import VirtualCache, sharegpt_like, virtual_waste, watch
from kvlab.memory import linux_space as module
from kvlab.memory.linux_space import LinuxSpace, linux_addresses
from kvlab.memory.spaces import RowSpaces, own_spaces

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


def test_a_cache_s_memory_rises_with_its_tokens_and_falls_when_they_are_freed():
    cache = VirtualCache(100, 2 * PAGE, [PAGE // 2, PAGE // 4], backing=linux_addresses)
    cache.reserve("a", 10_000)
    cache.reserve("b", 10_000)
    assert cache.resident_bytes() == 0 and cache.reserved_bytes == 2 * 10_000 * 3 * PAGE // 4
    seen = []
    for tokens in (1, 4, 5, 8, 9, 40):
        cache.grow("a", tokens)
        cache.check()
        seen.append(cache.resident_bytes())
    assert seen == [4 * PAGE, 4 * PAGE, 6 * PAGE, 6 * PAGE, 10 * PAGE, 30 * PAGE]
    cache.grow("b", 4)
    before = cache.resident_bytes()
    assert cache.free("a") * 2 * PAGE == 30 * PAGE == before - cache.resident_bytes()
    cache.check()


def test_a_refused_growth_changes_no_byte_of_memory():
    cache = VirtualCache(3, PAGE, [PAGE], backing=linux_addresses)
    cache.reserve("a", 10)
    cache.grow("a", 2)
    with pytest.raises(OutOfPages, match="needed 2 free pages, there was 1"):
        cache.grow("a", 4)
    assert cache.resident_bytes() == 2 * PAGE and cache.num_tokens("a") == 2
    cache.check()


def test_memory_that_fails_halfway_is_given_back_and_the_accounts_stay(monkeypatch):
    cache = VirtualCache(10, PAGE, [PAGE, PAGE], backing=linux_addresses)
    cache.reserve("a", 10)
    cache.grow("a", 1)
    second = cache.addresses("a").spaces[1]

    def fails(first: int, stop: int) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(second, "map", fails)
    with pytest.raises(MemoryError):
        cache.grow("a", 4)
    assert cache.pages("a") == [1, 1] and cache.num_used == 2
    cache.check()


def test_a_check_finds_pages_that_nobody_counted_and_pages_that_are_gone():
    cache = VirtualCache(10, PAGE, [PAGE], backing=linux_addresses)
    cache.reserve("a", 10)
    cache.grow("a", 3)
    space = cache.addresses("a").spaces[0]
    space.map(7, 8)
    with pytest.raises(InvariantBroken, match=f"I1: page 7 of range 0 has {PAGE} bytes of memory, not 0"):
        cache.check()
    space.unmap(7, 8)
    space.unmap(1, 2)
    with pytest.raises(InvariantBroken, match=f"I1: page 1 of range 0 has 0 bytes of memory, not {PAGE}"):
        cache.check()


def test_kept_pages_are_still_there_for_the_next_request_with_what_lay_in_them():
    cache = VirtualCache(10, PAGE, [PAGE], keep=True, backing=linux_addresses)
    cache.reserve("a", 10)
    cache.grow("a", 3)
    cache.addresses("a").spaces[0].buffer()[0] = 7
    cache.free("a")
    assert cache.resident_bytes() == 3 * PAGE
    cache.reserve("b", 8)
    assert cache.grow("b", 3) == 0 and cache.addresses("b").spaces[0].buffer()[0] == 7
    cache.free("b")
    cache.reclaim()
    assert cache.resident_bytes() == 0


def test_places_in_common_spaces_are_handed_out_from_the_lowest_on_and_come_back():
    rows = RowSpaces(LinuxSpace, 3, [4 * PAGE, 2 * PAGE], PAGE)
    cache = VirtualCache(20, PAGE, [PAGE, PAGE // 2], backing=rows)
    for request in "abc":
        cache.reserve(request, 4)
        cache.grow(request, 4)
    assert [rows.place(cache.addresses(request)) for request in "abc"] == [0, 1, 2]
    with pytest.raises(UsageError, match="needed a place for 1 request more, all 3 are taken"):
        cache.reserve("d", 4)
    cache.check()
    cache.free("b")
    with pytest.raises(UsageError, match="a place has"):
        cache.reserve("d", 5)
    cache.reserve("d", 2)
    assert rows.place(cache.addresses("d")) == 1 and cache.grow("d", 2) == 3
    cache.check()
    for request in "ca":
        cache.free(request)
    cache.reserve("e", 4)
    assert rows.place(cache.addresses("e")) == 0
    with pytest.raises(UsageError, match="at least 1 request, of whole pages"):
        RowSpaces(LinuxSpace, 2, [PAGE + 1], PAGE)


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


def test_kept_places_that_are_too_short_make_way():
    rows = RowSpaces(LinuxSpace, 1, [4 * PAGE], PAGE)
    cache = VirtualCache(20, PAGE, [PAGE], keep=True, backing=rows)
    cache.reserve("a", 2)
    cache.grow("a", 2)
    cache.free("a")
    cache.reserve("b", 4)
    assert cache.grow("b", 4) == 4
    cache.check()
    with pytest.raises(UsageError, match="all 1 are taken"):
        cache.reserve("c", 1)


def test_short_and_long_requests_come_and_go_and_memory_is_what_was_counted_all_along():
    trace = sharegpt_like(36, 3)
    cache = VirtualCache(3000, PAGE, [256] * 8, backing=linux_addresses)
    moments = watch(trace, cache, 2048, every=16)
    assert [moment.resident for moment in moments] == [moment.mapped for moment in moments]
    assert max(moment.running for moment in moments) > 20 and len(moments) > 30
    assert all(0 <= moment.used - moment.held < moment.running * 8 * PAGE for moment in moments)
    wasted = sum(moment.resident - moment.held for moment in moments) / sum(moment.running for moment in moments)
    assert wasted == pytest.approx(virtual_waste([256] * 8, PAGE), rel=0.15)  # half a page for each range of a request
    most = max(moment.resident for moment in moments)
    assert moments[-1].resident < most / 4 and cache.resident_bytes() == 0  # it really fell


class Memory(RuleBasedStateMachine):
    """Random requests on real memory, whose tokens are written and read back; every step is measured."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = VirtualCache(9, PAGE, [PAGE // 2, PAGE // 3], keep=True, backing=linux_addresses)
        self.tokens: dict[int, int] = {}

    @rule(request=st.integers(0, 2))
    def reserve(self, request: int) -> None:
        if request not in self.tokens:
            self.cache.reserve(request, 12)
            self.tokens[request] = 0

    @rule(request=st.integers(0, 2), more=st.integers(1, 8))
    def grow(self, request: int, more: int) -> None:
        have = self.tokens.get(request, 99)
        if have + more > 12:
            return
        before = self.cache.resident_bytes()
        try:
            self.cache.grow(request, have + more)
        except OutOfPages as refused:
            assert self.cache.resident_bytes() == before and refused.needed > refused.free
            return
        for token in range(have, have + more):
            for i, width in enumerate(self.cache.token_bytes):
                self.row(request, i, width)[token] = 16 * request + token + 1
        self.tokens[request] = have + more

    @rule(request=st.integers(0, 2))
    def free(self, request: int) -> None:
        if request in self.tokens:
            del self.tokens[request]
            self.cache.free(request)

    @rule()
    def reclaim(self) -> None:
        self.cache.reclaim()
        assert self.cache.resident_bytes() == self.cache.num_used * PAGE

    def row(self, request: int, i: int, width: int) -> np.ndarray:
        flat = np.frombuffer(self.cache.addresses(request).spaces[i].buffer(), np.uint8)
        return flat[: 12 * width].reshape(12, width)

    @invariant()
    def holds(self) -> None:
        self.cache.check()
        assert self.cache.resident_bytes() == self.cache.mapped_bytes
        for request, tokens in self.tokens.items():
            for i, width in enumerate(self.cache.token_bytes):
                expected = np.arange(tokens, dtype=np.uint8)[:, None] + 16 * request + 1
                assert (self.row(request, i, width)[:tokens] == expected).all()


TestMemoryMachine = Memory.TestCase
TestMemoryMachine.settings = settings(max_examples=40, stateful_step_count=20)
