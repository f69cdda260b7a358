"""Caches on real addresses of Linux: memory comes and goes with the tokens and is what the accounts say."""

from __future__ import annotations

import mmap
import sys

import pytest

from kvlab.errors import InvariantBroken, OutOfPages, UsageError
from kvlab.memory import VirtualCache, sharegpt_like, virtual_waste, watch
from kvlab.memory.linux_space import LinuxSpace, linux_addresses
from kvlab.memory.spaces import RowSpaces

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this is the memory of Linux")
PAGE = mmap.PAGESIZE


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
