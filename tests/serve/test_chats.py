"""Chats on courier whose blocks are evicted between turns: what is computed, by counts."""

from __future__ import annotations

import functools

import pytest

from kvlab.errors import UsageError
from kvlab.memory import DiskTier, HostTier
from kvlab.models import load_courier
from kvlab.serve.breakeven import Reload, measure_reload, measured_break_even
from kvlab.serve.chats import compare_chats, courier_chats

load = functools.cache(load_courier)


def test_with_tiers_a_turn_computes_its_question_and_without_the_whole_chat(tmp_path) -> None:
    tiers = lambda: [HostTier(8), DiskTier(tmp_path, 500)]  # noqa: E731
    found = compare_chats(*load(), courier_chats(4, 3), 20, tiers, checked=True)
    assert found.same_answers and len(found.tiered) == 4 * 3
    system = min(turn.prompt for turn in found.without) // 16 * 16  # what may be shared while it is in the pool
    for turn, before in zip(found.later(found.tiered), found.tiered, strict=False):
        # all that the turn before has run, in whole blocks: its last token never was
        there = (before.prompt + len(before.tokens) - 1) // 16 * 16
        assert (turn.user, turn.number) == (before.user, before.number + 1)
        assert turn.computed == turn.prompt - there
    for turn in found.later(found.without):
        assert turn.computed >= turn.prompt - system
    without, tiered = found.computed
    print(f"prompt tokens computed for later turns: {without} without tiers, {tiered} with")
    assert without > 5 * tiered


def test_what_is_measured_at_each_length_was_loaded_on_one_side_and_computed_on_the_other() -> None:
    measured = measure_reload(load()[0], lambda: [HostTier(100)], (16, 48), rounds=1)
    assert [(one.tokens, one.loaded) for one in measured] == [(16, 16), (48, 48)]
    assert all(one.computing > 0 and one.loading > 0 for one in measured)


def test_the_break_even_is_the_length_from_which_loading_was_never_slower() -> None:
    def at(tokens: int, ratio: float) -> Reload:
        return Reload(tokens, ratio, 1.0, tokens)

    assert measured_break_even([at(16, 0.5), at(32, 1.5), at(64, 0.9), at(128, 1.1), at(256, 3)]) == 128
    assert measured_break_even([at(16, 2), at(32, 3)]) == 16
    assert measured_break_even([at(16, 2), at(32, 0.3)]) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: courier_chats(0),
        lambda: courier_chats(2, 9),
        lambda: measure_reload(load()[0], lambda: [], (8,)),
        lambda: measure_reload(load()[0], lambda: [], (16,), rounds=0),
    ],
)
def test_sizes_that_make_no_sense_are_refused(wrong) -> None:
    with pytest.raises(UsageError):
        wrong()
