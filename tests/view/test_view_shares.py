"""Sequences that share blocks, event by event."""

from __future__ import annotations

from collections import Counter

import ipywidgets
import pytest

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed, fork, saved_blocks
from kvlab.view import share_explorer
from kvlab.view.ownermap import owner_map
from kvlab.view.sharestory import STORIES, Recorder


def play(name, append=None):
    from kvlab.memory import append_with_cow, beam_step

    recorder = Recorder(STORIES[name], fork, append or append_with_cow, beam_step)
    return recorder, STORIES[name].play(recorder)


@pytest.mark.parametrize("name", STORIES)
def test_after_every_event_each_sequence_has_its_blocks_and_the_pool_agrees_at_the_end(name):
    recorder, moments = play(name)
    for moment in moments:
        assert moment.tables.keys() == moment.tokens.keys()
        for number, table in moment.tables.items():
            assert len(table) == blocks_needed(moment.tokens[number], STORIES[name].block_size)
    named = Counter(block for table in moments[-1].tables.values() for block in table)
    assert [recorder.pool.ref_count(block) for block in range(10)] == [named[block] for block in range(10)]
    recorder.pool.check()


@pytest.mark.parametrize("name", STORIES)
def test_a_story_has_copies_and_a_block_never_has_two_owners_that_both_wrote_it(name):
    _, moments = play(name)
    assert sum(len(moment.copies) for moment in moments) >= 2
    for before, after in zip(moments, moments[1:], strict=False):
        if "writes" in after.words:
            written = [table[-1] for number, table in after.tables.items()
                       if after.tokens[number] > before.tokens[number]]  # fmt: skip
            named = Counter(block for table in after.tables.values() for block in table)
            assert all(named[block] == 1 for block in written)


def test_samples_tell_of_fork_copy_in_place_full_block_and_end():
    _, moments = play("samples")
    told = "\n".join(moment.words for moment in moments)
    for words in ("the same blocks, and no copy", "block 2 has 3 owners, so it is copied to block 3",
                  "into block 2, which it alone owns", "its last block was full, it takes block 5 and copies nothing",
                  "sample 1 ends; 1 block had no other owner and is free"):  # fmt: skip
        assert words in told
    assert moments[-1].tables == {}


def test_a_beam_without_a_child_lets_go_of_its_own_block():
    picture = share_explorer("beams").at(event=3)
    assert picture.text.startswith(
        "Event 3 of 12: the next beams continue [0, 0, 2]; beam 1 has no child: 1 block is free"
    )


def test_the_share_that_is_shown_is_the_papers():
    picture = share_explorer().at(event=4)
    tables = picture.values["moment"].tables.values()
    assert picture.values["saved"] == saved_blocks(tables) == pytest.approx(4 / 9)
    assert "5 blocks in use, 9 without sharing: 44.4 % saved" in picture.text


def test_a_learners_own_functions_are_the_ones_that_are_watched():
    def copies_the_table(table, pool):
        return pool.take(len(table))

    text = share_explorer(fork=copies_the_table).at(event=1).text
    assert "9 blocks in use, 9 without sharing: 0.0 % saved" in text


def test_the_jump_leads_from_copy_to_copy_and_an_event_beyond_the_end_shows_the_end():
    explorer = share_explorer()
    widget = explorer.widget()
    jump = widget.children[0].children[-1]
    assert isinstance(jump, ipywidgets.Button) and jump.description == "next copy"
    jump.click()
    assert explorer.settings["event"] == 2
    jump.click(), jump.click()
    assert explorer.settings["event"] == 3
    assert explorer.at(event=99).text.startswith("Event 14 of 14")


def test_the_picture_keeps_its_size_from_event_to_event():
    explorer = share_explorer()
    assert len({explorer.at(event=event).size for event in range(15)}) == 1


def test_another_story_or_a_row_of_another_length_is_refused():
    with pytest.raises(UsageError, match="there is no story 'trees'; there are samples, beams"):
        share_explorer("trees")
    with pytest.raises(UsageError, match="sequence 4 needs 3 squares"):
        owner_map([0, 1, 2], {4: ([0, 1], {})})
