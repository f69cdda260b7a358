"""The life of a block pool, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

from kvlab.errors import UsageError
from kvlab.memory import BlockPool, Request, blocks_needed, lesson_trace
from kvlab.view import pool_explorer
from kvlab.view.poolreplay import NOBODY, record
from kvlab.view.pools import STORY

SHORT = [Request(30, 10), Request(5, 40), Request(60, 3), Request(17, 17), Request(1, 1), Request(16, 16)]


@pytest.fixture(params=[(SHORT, 6, 16), (STORY, 32, 16), (SHORT, 80, 1), (list(lesson_trace())[:40], 400, 16)])
def run(request):
    requests, num_blocks, block_size = request.param
    return requests, block_size, record(requests, num_blocks, block_size, BlockPool)


def test_at_every_event_each_block_has_one_owner_and_each_table_its_length(run):
    _, block_size, replay = run
    for number, event in enumerate(replay.events):
        assert replay.go(number) is event
        assert sorted(sum(replay.tables.values(), [])) == np.flatnonzero(replay.owner != NOBODY).tolist()
        for request, table in replay.tables.items():
            assert (replay.owner[table] == request).all()
        if event.request in replay.tables:
            assert len(replay.tables[event.request]) == blocks_needed(event.tokens, block_size)
        assert len(replay.tables) == event.running


def test_going_back_shows_what_was_seen_on_the_way_there(run):
    *_, replay = run
    seen = []
    for number in range(len(replay.events)):
        replay.go(number)
        seen.append((replay.owner.copy(), {request: list(table) for request, table in replay.tables.items()}))
    for number in reversed(range(len(replay.events))):
        replay.go(number)
        assert (replay.owner == seen[number][0]).all() and replay.tables == seen[number][1]


def test_every_request_that_can_fit_finishes_with_all_its_tokens(run):
    requests, block_size, replay = run
    finished = {event.request: event.tokens for event in replay.events if event.kind == "finish"}
    never = {event.request for event in replay.events if event.kind == "never"}
    totals = {number: request.prompt + request.answer for number, request in enumerate(requests)}
    fits = {number for number, total in totals.items() if blocks_needed(total, block_size) <= len(replay.owner)}
    assert finished == {number: totals[number] for number in fits} and never == set(totals) - fits
    assert replay.go(10**9) is replay.events[-1] and (replay.owner == NOBODY).all()


def test_a_refusal_moves_no_block_and_says_what_was_needed_and_what_was_free():
    replay = record(STORY, 32, 16, BlockPool)
    refusal = next(event for event in replay.events if event.kind == "wait")
    assert not refusal.moved
    assert refusal.words == "waits to be admitted: its 130 tokens need 9 blocks, 7 are free"


def test_the_built_in_story_has_every_kind_of_event():
    kinds = {event.kind for event in record(STORY, 32, 16, BlockPool).events}
    assert kinds == {"admit", "append", "finish", "wait", "put back"}


def test_when_all_wait_the_newest_goes_back_and_everybody_finishes():
    replay = record([Request(16, 17), Request(16, 17)], 3, 16, BlockPool)
    assert [(event.kind, event.request) for event in replay.events if event.kind in ("put back", "finish")] == [
        ("put back", 1),
        ("finish", 0),
        ("finish", 1),
    ]


def test_a_learners_own_pool_is_the_one_that_is_watched():
    class FromTheEnd:
        def __init__(self, num_blocks):
            self.pool, self.last = BlockPool(num_blocks), num_blocks - 1

        def take(self, count):
            return [self.last - block for block in self.pool.take(count)]

        def release(self, blocks):
            self.pool.release([self.last - block for block in blocks])

    assert pool_explorer(pool=FromTheEnd).at(event=0).values["table"] == [31, 30, 29, 28, 27, 26]


def test_the_event_is_told_in_words_with_the_block_table():
    picture = pool_explorer().at(event=17)
    assert picture.text.splitlines()[0] == (
        "Event 17 of 40, step 20: request 4 writes token 81: its last block was full, it takes block 17."
    )
    assert "[21, 22, 23, 24, 25, 17] for 81 tokens; 1 of 16 slots filled in the last" in picture.text


def test_a_long_block_table_is_shown_by_its_ends():
    text = pool_explorer([Request(1000, 1)], 64).at(event=0).text
    assert "[0, 1, 2, 3, 4, 5, 6, 7, 8, ..., 59, 60, 61, 62]" in text


def test_an_empty_trace_is_refused():
    with pytest.raises(UsageError, match="0 requests"):
        pool_explorer([])
