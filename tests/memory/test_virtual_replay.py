"""Traces on virtual memory: the price of a page, beside blocks, in the same memory."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import (
    LLAMA_3_8B,
    PAGES,
    PRESETS,
    KVShape,
    Pages,
    VirtualCache,
    address_ranges,
    lesson_trace,
    make_trace,
    published_table,
    replay,
    replay_virtual,
    sharegpt_like,
    virtual_table,
    virtual_waste,
    watch,
)

KIB, MIB = 1 << 10, 1 << 20
OPT = PRESETS["OPT-13B"]
SMALL = KVShape("small", 4, 2, 16)


def opt_cache(pages: Pages, keep: bool = False) -> VirtualCache:
    """The memory of the paper's experiment, 15,700 tokens of OPT-13B, in pages."""
    num_pages = 15_700 * OPT.bytes_per_token // pages.page_bytes
    return VirtualCache(num_pages, pages.page_bytes, address_ranges(OPT, pages.sliced), keep=keep)


def test_pages_have_the_names_of_a_table_s_rows():
    names = [pages.name for pages in PAGES]
    assert names == ["2 MiB pages", "256 KiB pages", "128 KiB pages", "64 KiB pages", "2 MiB pages, sliced"]


def test_the_lesson_s_trace_on_pages_beside_blocks():
    rows = {row.policy: row for row in virtual_table(lesson_trace())}
    blocks = {row.policy: row for row in published_table(lesson_trace())}
    big, small, sliced = (rows[name] for name in ("2 MiB pages", "64 KiB pages", "2 MiB pages, sliced"))
    assert (round(big.share_held, 3), big.fit) == (0.709, 293)
    assert (round(small.share_held, 3), small.fit) == (0.987, 408) == (round(sliced.share_held, 3), sliced.fit)
    assert (
        blocks["prompt+max"].fit < big.fit < blocks["256-token blocks"].fit < small.fit < blocks["16-token blocks"].fit
    )


@pytest.mark.parametrize("pages", [Pages(64 * KIB), Pages(2 * MIB, sliced=True)], ids=lambda pages: pages.name)
def test_a_page_of_32_tokens_holds_what_a_block_of_32_tokens_does(pages):
    (row,), (block,) = (
        virtual_table(lesson_trace(), [pages]),
        published_table(lesson_trace(), policies=["32-token blocks"]),
    )
    assert (row.share_held, row.fit) == (pytest.approx(block.share_held), block.fit)


def test_what_a_trace_wastes_is_what_the_closed_form_expects():
    trace = sharegpt_like(2000, 5)
    held = sum(request.total for request in trace) * LLAMA_3_8B.bytes_per_token
    for pages in PAGES[1:]:  # most of these requests are shorter than the 1,024 tokens of a page of 2 MiB
        (row,) = virtual_table(trace, [pages])
        wasted = held / row.share_held - held
        expected = virtual_waste(address_ranges(LLAMA_3_8B, pages.sliced), pages.page_bytes, len(trace))
        assert wasted == pytest.approx(expected, rel=0.05), pages.name


def test_in_the_paper_s_experiment_small_pages_run_as_many_as_blocks_and_large_ones_fewer():
    trace = sharegpt_like(250, 1)
    blocks = replay(trace, "16-token blocks")
    big, sliced = (replay_virtual(trace, opt_cache(pages), 2048) for pages in (PAGES[0], PAGES[-1]))
    assert blocks.waste.held == pytest.approx(0.97, abs=0.02) and sliced.running == pytest.approx(
        blocks.running, rel=0.05
    )
    assert big.waste.held < blocks.waste.held - 0.1 and big.running < 0.9 * blocks.running
    for found in (big, sliced):
        assert found.waste.capacity == pytest.approx(1) and found.waste.external == 0


def test_kept_pages_change_nothing_of_what_fits():
    trace = sharegpt_like(60, 2)
    plain, keeping = (replay_virtual(trace, opt_cache(PAGES[0], keep), 2048) for keep in (False, True))
    assert plain == keeping and plain.preemptions > 0


def test_a_watch_sees_everything_to_the_last_token():
    trace = make_trace("three", [5, 9, 2], [4, 12, 1])
    cache = VirtualCache(100, 256, address_ranges(SMALL))
    moments = watch(trace, cache)
    assert len(moments) == 12 and len(cache) == 0 and [moment.running for moment in moments[:5]] == [3, 2, 2, 2, 1]
    assert [moment.held for moment in moments[:2]] == [16 * 256 * 2, (6 + 10) * 256 * 2]
    assert all(moment.held <= moment.used == moment.mapped and moment.resident is None for moment in moments)
    assert len(watch(trace, cache, every=5)) == 3


def test_requests_that_can_never_fit_and_memory_in_use_are_refused():
    ranges = address_ranges(SMALL)
    with pytest.raises(UsageError, match="a request of 104 pages never fits in 50"):
        replay_virtual(make_trace("long", [50], [1]), VirtualCache(50, 256, ranges))
    with pytest.raises(UsageError, match="outgrew all 50 pages"):
        replay_virtual(make_trace("grows", [20, 30], [90, 1]), VirtualCache(50, 256, ranges))
    cache = VirtualCache(50, 256, ranges)
    cache.reserve("a", 4)
    with pytest.raises(UsageError, match="has 1 requests already"):
        replay_virtual(make_trace("any", [1], [1]), cache)
    with pytest.raises(UsageError, match="at least one request"):
        virtual_table(make_trace("none", [], []))
