"""The lesson's published table from the lesson's trace, digit by digit, and what other seeds of its model give."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import (
    KV_TOKENS,
    SETTINGS,
    Request,
    Trace,
    allocated_slots,
    lesson_trace,
    published_bands,
    published_table,
)

PUBLISHED = [
    ("full", "15.5", 64),
    ("prompt+max", "42.8", 177),  # "2.3x fewer than 411" is all that was published of the fit
    ("16-token blocks", "99.4", 411),
    ("256-token blocks", "91.0", 376),
]


def test_the_lessons_trace_gives_every_printed_digit_of_the_published_table() -> None:
    rows = published_table(lesson_trace(), KV_TOKENS)
    assert [(row.policy, f"{100 * row.share_held:.1f}", row.fit) for row in rows] == PUBLISHED
    assert f"{rows[2].fit / rows[1].fit:.1f}" == "2.3"
    assert f"{100 * (1 - rows[0].share_held):.1f}" == "84.5"  # "84.5 % empty"


def test_the_lessons_trace_gives_the_second_decimals_that_our_page_states() -> None:
    shares = [round(100 * row.share_held, 2) for row in published_table(lesson_trace())]
    assert shares == [15.47, 42.79, 99.39, 91.01]


def test_other_seeds_give_the_band_that_our_page_states() -> None:
    full, most, small, large = published_bands(range(300))
    assert [band.policy for band in (full, most, small, large)] == list(SETTINGS)
    assert [100 * share for share in full.share_held] == pytest.approx((13.8, 13.0, 14.6), abs=0.2)
    assert [100 * share for share in most.share_held] == pytest.approx((39.0, 37.3, 40.8), abs=0.6)
    assert [100 * share for share in small.share_held] == pytest.approx((99.3, 99.3, 99.4), abs=0.1)
    assert [100 * share for share in large.share_held] == pytest.approx((89.9, 89.0, 90.6), abs=0.3)
    assert full.fit == (64, 64, 64)
    assert most.fit == pytest.approx((180.5, 178, 183), abs=1)
    assert small.fit == pytest.approx((461, 436, 487), abs=6)
    assert large.fit == pytest.approx((417, 396, 439), abs=6)


def test_order_and_ratio_hold_for_every_seed() -> None:
    for seed in range(100):
        full, most, small, large = (row.fit for row in published_table(lesson_trace(seed)))
        assert full < most < large < small
        assert 2.2 < small / most < 2.8


def test_any_policies_can_be_compared_at_any_size() -> None:
    rows = published_table(lesson_trace(), 100_000, ("oracle", "power of two", "1-token blocks"))
    assert [row.policy for row in rows] == ["oracle", "power of two", "1-token blocks"]
    assert rows[0].share_held == rows[2].share_held == 1.0
    assert rows[0].fit == 100_000 * 200 // sum(request.total for request in lesson_trace())


def test_an_answer_beyond_the_context_is_reserved_no_further() -> None:
    assert allocated_slots("prompt+max", Request(7000, 10)) == 8192
    assert allocated_slots("32-token blocks", Request(30, 10)) == 64


@pytest.mark.parametrize(
    "policy", ["0-token blocks", "-4-token blocks", "x-token blocks", "16 token blocks", "16-token blocksx"]
)
def test_a_policy_that_does_not_exist_is_refused(policy: str) -> None:
    with pytest.raises(UsageError):
        published_table(lesson_trace(), policies=[policy])


def test_no_requests_and_no_seeds_are_refused() -> None:
    with pytest.raises(UsageError):
        published_table(Trace("empty", ()))
    with pytest.raises(UsageError):
        published_bands([])
