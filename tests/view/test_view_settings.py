"""The model behind the policy explorer."""

from __future__ import annotations

import numpy as np
import pytest

from kvlab.errors import UsageError
from kvlab.memory import Request, lesson_trace, published_table, reserve
from kvlab.view import policy_explorer
from kvlab.view.kinds import FREE, HELD, LATER, UNUSED
from kvlab.view.settings import CELLS, POLICIES, Knobs, allocated, lengths, memory_map, row

TRACE = list(lesson_trace())


def test_at_the_start_the_four_settings_are_the_published_table():
    ours = [(shown.share_held, shown.fit) for shown in (row(TRACE, policy, Knobs()) for policy in POLICIES)]
    assert ours == [(share, fit) for _, share, fit in published_table(lesson_trace())]


@pytest.mark.parametrize("policy", POLICIES[:2])
def test_reservations_are_those_of_the_memory_side_under_any_limits(policy):
    knobs = Knobs(context=4096, max_answer=512, answers=300)
    prompt, answer, _ = lengths(TRACE, knobs)
    pairs = zip(prompt.tolist(), answer.tolist(), strict=True)
    expected = [reserve(policy, *pair, context=4096, max_answer=512) for pair in pairs]
    assert allocated(policy, prompt, answer, knobs).tolist() == expected


def test_blocks_of_one_token_waste_nothing():
    assert row(TRACE, "own blocks", Knobs(block_size=1)).share_held == 1


def test_no_length_breaks_its_limits_and_answers_cut_short_are_counted():
    requests = [Request(900, 100), Request(900, 300), Request(100, 80)]
    prompt, answer, cut = lengths(requests, Knobs(context=1100, max_answer=90))
    assert (prompt + answer <= 1100).all() and answer.tolist() == [90, 90, 80] and cut == 2


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("knobs", [Knobs(), Knobs(written=50), Knobs(written=0, memory=8), Knobs(2048, answers=400)])
def test_the_map_shows_the_shares_it_names(policy, knobs):
    cells, shares = memory_map(TRACE, policy, knobs)
    assert sum(shares.values()) == pytest.approx(1) and min(shares.values()) >= 0
    assert len(cells) == CELLS and set(np.unique(cells)) <= {FREE, HELD, UNUSED, LATER}
    for kind, share in shares.items():
        assert (cells == kind).mean() == pytest.approx(share, abs=0.08), kind  # the first requests are not the average


def test_tokens_still_to_come_are_reserved_by_reservations_and_not_by_blocks():
    later = {policy: memory_map(TRACE, policy, Knobs(written=0))[1][LATER] for policy in POLICIES}
    assert later["prompt+max"] > 0.1 and later["16-token blocks"] < 0.01


def test_where_nothing_fits_all_memory_is_free():
    cells, shares = memory_map(TRACE, "full", Knobs(context=131072, memory=8))
    assert (cells == FREE).all() and shares[FREE] == 1


@pytest.mark.parametrize(
    "wrong", [{"context": 0}, {"written": 101}, {"written": -1}, {"block_size": 0}, {"policy": "best"}]
)
def test_a_setting_that_cannot_be_drawn_is_refused_and_not_remembered(wrong):
    explorer = policy_explorer()
    before = dict(explorer.settings)
    with pytest.raises(UsageError, match=str(next(iter(wrong.values())))):
        explorer.start(**wrong)
    assert explorer.settings == before
