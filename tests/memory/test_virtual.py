"""Contiguous addresses with pages on demand: the accounts, before there is any memory behind them."""

from __future__ import annotations

import pickle
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kvlab.errors import InvariantBroken, OutOfPages, UsageError
from kvlab.memory import LLAMA_3_8B, PRESETS, KVShape, VirtualCache, address_ranges, pages_needed, virtual_waste
from tests.memory.snapshots import refused

KiB, MiB = 1 << 10, 1 << 20


def state(cache: VirtualCache) -> tuple:
    """All that can be seen of a cache."""
    requests = [(request, cache.num_tokens(request), cache.pages(request)) for request in cache]
    return requests, cache.num_used, cache.num_free, cache.mapped_bytes, cache.reserved_bytes, cache.waste()


def test_addresses_cost_nothing_and_pages_come_with_the_tokens():
    cache = VirtualCache(num_pages=10, page_bytes=64, token_bytes=[16, 16])
    cache.reserve("a", 1000)
    assert (cache.reserved_bytes, cache.mapped_bytes) == (2 * 250 * 64, 0)
    assert [cache.grow("a", n) for n in (0, 1, 4, 5, 8, 9)] == [0, 2, 0, 2, 0, 2]
    assert cache.pages("a") == [3, 3] and cache.num_tokens("a") == 9 and cache.mapped_bytes == 6 * 64
    assert cache.waste().held == 9 * 32 and cache.waste().internal == 6 * 64 - 9 * 32 and cache.waste().capacity == 640
    assert cache.free("a") == 6 and cache.mapped_bytes == 0 and "a" not in cache
    cache.check()


def test_growth_beyond_the_budget_is_refused_with_both_numbers_and_changes_nothing():
    cache = VirtualCache(5, 64, [16, 16])
    cache.reserve("a", 100)
    cache.reserve("b", 100)
    cache.grow("a", 8)
    before = state(cache)
    with pytest.raises(OutOfPages, match="needed 2 free pages, there was 1") as error:
        cache.grow("b", 1)
    assert (error.value.needed, error.value.free) == (2, 1) and state(cache) == before
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.needed, again.free, str(again)) == (2, 1, str(error.value))
    cache.free("a")
    assert cache.grow("b", 1) == 2
    cache.check()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda cache: cache.reserve("a", 5), "'a' has addresses already"),
        (lambda cache: cache.reserve("b", 0), "at least 1 token, not 0"),
        (lambda cache: cache.grow("a", 11), "from 3 to 10 tokens, not to 11"),
        (lambda cache: cache.grow("a", 2), "from 3 to 10 tokens, not to 2"),
        (lambda cache: cache.grow("b", 1), "'b' has no addresses"),
        (lambda cache: cache.free("b"), "'b' has no addresses"),
        (lambda cache: cache.addresses("a"), "made without a backing"),
    ],
)
def test_a_call_that_cannot_be_right_says_why_and_changes_nothing(call, sentence):
    cache = VirtualCache(5, 64, [16, 16])
    cache.reserve("a", 10)
    cache.grow("a", 3)
    before = state(cache)
    with pytest.raises(UsageError, match=sentence):
        call(cache)
    assert state(cache) == before


@pytest.mark.parametrize("sizes", [(0, 64, [16]), (4, 0, [16]), (4, 64, []), (4, 64, [16, 0])])
def test_a_cache_of_nothing_is_refused(sizes):
    with pytest.raises(UsageError, match="at least 1"):
        VirtualCache(*sizes)


def test_kept_pages_serve_the_next_request_and_are_taken_when_another_needs_them():
    cache = VirtualCache(6, 64, [16, 16], keep=True)
    cache.reserve("a", 100)
    cache.grow("a", 8)
    assert cache.free("a") == 4 and cache.mapped_bytes == 4 * 64 and cache.num_free == 6
    cache.reserve("b", 50)
    assert cache.grow("b", 4) == 0 and cache.pages("b") == [2, 2] and cache.num_used == 2  # found there
    cache.reserve("c", 50)
    assert cache.grow("c", 8) == 4 and cache.pages("b") == [1, 1]  # two that were never mapped, two spares of b
    cache.check()
    with pytest.raises(OutOfPages, match="needed 2 free pages, there were 0"):
        cache.grow("b", 5)
    cache.free("c")
    assert cache.reclaim() == 4 and cache.mapped_bytes == 2 * 64
    assert cache.reserved_bytes == 2 * 25 * 64  # c's are given up; b still has those that were a's
    cache.check()


def test_a_request_that_grows_keeps_the_spares_it_is_about_to_need():
    cache = VirtualCache(6, 64, [16, 16], keep=True)
    cache.reserve("a", 12)
    cache.grow("a", 12)
    cache.free("a")
    cache.reserve("b", 100)
    assert cache.grow("b", 4) == 2  # both from the first range that was a's
    cache.reserve("c", 12)
    assert cache.pages("c") == [1, 3] and cache.grow("c", 8) == 1 and cache.pages("c") == [2, 2]
    cache.check()


def test_a_check_notices_counts_and_pages_that_are_wrong():
    cache = VirtualCache(6, 64, [16, 16])
    cache.reserve("a", 100)
    cache.grow("a", 8)
    cache._mapped += 1
    with pytest.raises(InvariantBroken, match="I1: 4 pages are mapped"):
        cache.check()
    cache._mapped -= 1
    cache._requests["a"].pages = [3, 1]
    with pytest.raises(InvariantBroken, match="I3: 8 tokens need"):
        cache.check()


class Cache(RuleBasedStateMachine):
    """Random calls on two caches, one of which keeps pages, beside a model that only counts tokens."""

    WIDTHS = (16, 16, 24)

    def __init__(self) -> None:
        super().__init__()
        self.plain, self.keeping = (VirtualCache(12, 64, self.WIDTHS, keep=keep) for keep in (False, True))
        self.tokens: dict[int, tuple[int, int]] = {}

    def pages(self, num_tokens: int) -> int:
        return sum((num_tokens * width + 63) // 64 for width in self.WIDTHS)

    @rule(request=st.integers(0, 3), most=st.integers(1, 30))
    def reserve(self, request: int, most: int) -> None:
        if request not in self.tokens:
            for cache in (self.plain, self.keeping):
                cache.reserve(request, most)
            self.tokens[request] = 0, most

    @rule(request=st.integers(0, 3), more=st.integers(0, 12))
    def grow(self, request: int, more: int) -> None:
        if request not in self.tokens:
            return
        have, most = self.tokens[request]
        want = have + more
        if want > most:
            for cache in (self.plain, self.keeping):  # which may have longer addresses, that were another's
                refused(UsageError, cache, call=partial(cache.grow, request, want), match=f"to {most} tokens")
            return
        used = sum(self.pages(tokens) for tokens, _ in self.tokens.values())
        needed, before = self.pages(want) - self.pages(have), state(self.keeping)
        if used + needed > 12:
            for cache in (self.plain, self.keeping):
                with pytest.raises(OutOfPages) as error:
                    cache.grow(request, want)
                assert (error.value.needed, error.value.free) == (needed, 12 - used)
            assert state(self.keeping) == before
            return
        assert self.plain.grow(request, want) == needed
        assert self.keeping.grow(request, want) <= self.pages(want)
        self.tokens[request] = want, most

    @rule(request=st.integers(0, 3))
    def free(self, request: int) -> None:
        if request in self.tokens:
            tokens, _ = self.tokens.pop(request)
            assert self.plain.free(request) == self.keeping.free(request) == self.pages(tokens)

    @rule()
    def reclaim(self) -> None:
        self.keeping.reclaim()
        assert self.keeping.mapped_bytes == self.plain.mapped_bytes

    @invariant()
    def holds(self) -> None:
        used = sum(self.pages(tokens) for tokens, _ in self.tokens.values())
        for cache in (self.plain, self.keeping):
            cache.check()
            assert cache.num_used == used and {r: cache.num_tokens(r) for r in cache} == {
                request: tokens for request, (tokens, _) in self.tokens.items()
            }
        assert self.plain.mapped_bytes == used * 64 <= self.keeping.mapped_bytes
        assert self.plain.waste() == self.keeping.waste()


TestVirtualCacheMachine = Cache.TestCase


def test_the_paper_s_shapes_give_the_paper_s_pages():
    ranges = address_ranges(LLAMA_3_8B)
    assert ranges == [2 * KiB] * 64 and sum(ranges) == LLAMA_3_8B.bytes_per_token
    assert 2 * MiB // ranges[0] == 1024 and 64 * KiB // ranges[0] == 32
    assert address_ranges(LLAMA_3_8B, sliced=True) == [64 * KiB] * 2


@pytest.mark.parametrize("sliced", [False, True])
def test_every_byte_of_a_token_lies_in_one_range(sliced):
    mixed = KVShape("mixed", 2, 4, 8, others=(KVShape("other", 3, 1, 16, value_dim=8),))
    for shape in (*PRESETS.values(), mixed):
        assert sum(address_ranges(shape, sliced)) == shape.bytes_per_token, shape.name


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 96))
def test_the_closed_form_of_the_waste_is_the_average_over_all_lengths(widths, page):
    cycle = page  # the ends of a range repeat after at most so many tokens
    lost = [
        pages * page - n * width
        for n in range(1, cycle + 1)
        for pages, width in zip(pages_needed(n, widths, page), widths, strict=True)
    ]
    assert virtual_waste(widths, page) == pytest.approx(sum(lost) / cycle)
    assert virtual_waste(widths, page, 7) == pytest.approx(7 * virtual_waste(widths, page))


def test_small_pages_or_slices_waste_what_blocks_do_and_large_pages_of_one_layer_half_a_thousand_tokens():
    token = LLAMA_3_8B.bytes_per_token
    by_layer, sliced = address_ranges(LLAMA_3_8B), address_ranges(LLAMA_3_8B, sliced=True)
    assert virtual_waste(by_layer, 2 * MiB) / token == 511.5
    assert virtual_waste(by_layer, 64 * KiB) / token == virtual_waste(sliced, 2 * MiB) / token == 15.5
    with pytest.raises(UsageError, match="no waste"):
        virtual_waste([], 64)
