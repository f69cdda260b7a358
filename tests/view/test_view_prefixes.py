"""Strangers whose prompts begin alike, event by event."""

from __future__ import annotations

import ipywidgets
import pytest

from kvlab.errors import UsageError
from kvlab.memory import block_hashes, blocks_needed, evict, longest_hit
from kvlab.view import prefix_explorer
from kvlab.view.prefixes import ALONE, BLANK, COMPUTED, IDLE, SHARED, states
from kvlab.view.prefixstory import BLOCK_SIZE, NUM_BLOCKS, Books, play


def story():
    return play(block_hashes, longest_hit, evict)


def test_in_every_event_what_is_found_had_the_same_text_before_and_nobody_loses_a_block():
    for before, after in zip(story(), story()[1:], strict=False):
        assert all(before.known[block] == after.known[block] for block in after.hit)
        assert not set(after.hit) & set(after.computed)
        assert all(after.tables[name] == table for name, table in before.tables.items() if name in after.tables)
        owned = {block for table in before.tables.values() for block in table}
        assert not owned & set(after.gone) and set(after.gone) <= set(before.known)


def test_what_is_evicted_is_free_and_the_tail_goes_first():
    moments = story()
    erik = next(moment for moment in moments if moment.gone)
    assert erik.words == (
        "Erik arrives with 30 tokens: 0 are found, 30 are computed; blocks 3, 7, 6 are evicted for them"
    )
    assert moments[5].known[7] == moments[5].known[6] == "sushi menu"  # the end of the menu before its beginning
    assert {block for block, text in moments[-1].known.items() if text == "greeting"} == {0, 1}  # asked for most


def test_a_full_hit_leaves_a_block_to_compute():
    dora = story()[6]
    assert dora.words == ("Dora arrives with 16 tokens: 12 are found, 4 are computed; block 9 gets no hash, as its own "
                          "leads to block 3 already")
    assert len(dora.hit) + len(dora.computed) == blocks_needed(16, BLOCK_SIZE)


def test_who_ends_is_not_said_to_give_back_no_block():
    words = [moment.words for moment in story()]
    assert "Fay ends: 4 blocks without an owner can still be found" in words
    assert not any(": 0 blocks" in line for line in words)
    books = Books(block_hashes, longest_hit, evict)
    for name in ("Ana", "Ben"):
        books.arrive(name, [("greeting", 8)])
    books.tables["Ben"] = list(books.tables["Ana"])
    books.leave("Ben")
    assert books.moments[-1].words == "Ben ends: others own all of its blocks"


def test_states_tell_owners_idle_blocks_and_what_is_new():
    moments = story()
    assert states(moments[1])[:6] == [SHARED, SHARED, SHARED, SHARED, ALONE, COMPUTED]
    assert states(moments[5])[:5] == [IDLE] * 4 + [BLANK]


def test_the_explorer_shows_the_end_beyond_the_end_and_steps_to_evictions():
    explorer = prefix_explorer()
    assert explorer.at(event=99).text.startswith("Event 12 of 12: Gus arrives")
    assert len(explorer.at(event=0).values["states"]) == NUM_BLOCKS
    buttons = {b.description: b for b in explorer.widget().children[0].children if isinstance(b, ipywidgets.Button)}
    buttons["next eviction"].click()
    assert explorer.settings["event"] == 7


def test_functions_of_the_learners_move_the_story():
    asked: list[int] = []

    def mine(cached, count):
        asked.append(count)
        return evict(cached, count)

    assert play(block_hashes, longest_hit, mine) == story()
    assert asked == [len(moment.gone) for moment in story() if moment.gone]


def test_a_pool_in_which_nothing_may_go_says_what_is_missing():
    books = Books(block_hashes, longest_hit, lambda cached, count: [])
    books.arrive("Ana", [("letter", 40)])
    with pytest.raises(UsageError, match="5 blocks are needed, and 2 can be had"):
        books.arrive("Ben", [("letter", 20)])
