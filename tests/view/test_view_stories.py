"""The numbers that the pictures tell."""

from __future__ import annotations

import pytest
from view_gallery import CHARTS

from kvlab import memory as m
from kvlab.view import (
    answer_histogram,
    arena_history,
    arena_strip,
    batch_throughput,
    block_size_curve,
    gathered_bytes,
    published_bars,
)
from kvlab.view.kinds import FREE, HELD, HOLE, LATER, UNUSED


def test_the_throughput_curve_ends_where_memory_is_full():
    picture = CHARTS["throughput_limits"]()
    assert picture.values["wall"] == int(m.KV_BYTES / (m.LLAMA_3_8B.bytes_per_token * 1267.5)) == 413
    step = m.decode_step_seconds(m.WEIGHT_BYTES, 64 * 1267.5 * m.LLAMA_3_8B.bytes_per_token, m.BANDWIDTH)
    assert picture.values["limits"]["reserve 8k"] == (64, pytest.approx(64 / step))
    assert "413 requests" in picture.text and "- 16-token blocks: 411 requests, 9,746 tokens a second" in picture.text


def test_throughput_can_be_drawn_for_a_memory_that_holds_one_request():
    assert batch_throughput(100, 10, 5000, 1500, 1e6, {"only": 1}).values["wall"] == 1


def test_the_answers_are_told_by_median_mean_and_longest():
    picture = answer_histogram(m.lesson_trace())
    assert (picture.values["median"], picture.values["longest"]) == (168, 2048)
    assert "the mean is 354" in picture.text and "20 use more than half of the 2,048" in picture.text


def test_answers_of_several_traces_are_told_side_by_side():
    picture = CHARTS["answers_of_two"]()
    assert picture.values["simulated"][1:] == (168, 2048)
    assert "- simulated: 200 answers, half of them at most 168 tokens, mean 354, longest 2,048" in picture.text


def test_the_published_bars_print_our_numbers_beside_the_published_ones():
    picture = published_bars(m.published_table(m.lesson_trace()))
    assert picture.text.splitlines() == [
        "- full: 15.5 % holds tokens, 64 requests fit (published: 15.5 %, 64)",
        "- prompt+max: 42.8 % holds tokens, 177 requests fit (published: 42.8 %)",
        "- 16-token blocks: 99.4 % holds tokens, 411 requests fit (published: 99.4 %, 411)",
        "- 256-token blocks: 91.0 % holds tokens, 376 requests fit (published: 91.0 %, 376)",
    ]


def test_a_policy_that_nobody_published_gets_its_bar_without_a_mark():
    assert published_bars([("mine", 0.5, 100)]).text == "- mine: 50.0 % holds tokens, 100 requests fit"


def test_the_waste_bars_tell_each_kind_and_the_papers_share():
    lines = CHARTS["waste"]().text.splitlines()
    assert [line.split("the paper: ")[1][:6] for line in lines] == ["20.4 %", "26.8 %", "38.2 %", "96.3 %"]
    never_used = 3 * ["reserved, never used"] + ["the empty end of the last block"]
    assert all(words in line and "free or in holes" in line for words, line in zip(never_used, lines, strict=True))
    assert "never used" not in lines[-1], "nothing is reserved in blocks"


def test_the_block_size_curve_tells_waste_and_lookups_a_request():
    lengths = [100, 16, 33]
    picture = block_size_curve(m.block_size_sweep(lengths, (1, 16)), 3)
    assert picture.values["1"] == (0.0, pytest.approx(149 / 3))
    assert picture.values["16"] == (pytest.approx(1 - 149 / 176), pytest.approx(11 / 3))


def test_the_gathered_bytes_tell_where_the_cache_outweighs_the_weights():
    picture = gathered_bytes(m.LLAMA_3_8B.bytes_per_token, m.WEIGHT_BYTES, (1, 64))
    assert picture.values["crossings"][64] == m.WEIGHT_BYTES / (64 * m.LLAMA_3_8B.bytes_per_token)
    assert "- 64 together: 64 GiB a step at 8,192 tokens each; as much as the weights from 1,915 tokens" in picture.text


@pytest.mark.parametrize("policy", m.POLICIES)
def test_a_history_of_the_arena_agrees_with_the_replay_of_the_memory_side(policy):
    trace = m.Trace("short", tuple(m.lesson_trace())[:60])
    history = arena_history(trace, policy, 16384, steps=10**6)
    waiting = history._replace(moments=tuple(moment for moment in history.moments if moment.needed))
    replayed, shares = m.replay(trace, policy, 16384, context=8192), waiting.shares()
    assert shares[HELD] == pytest.approx(replayed.waste.held)
    assert shares[LATER] == pytest.approx(replayed.waste.later)
    assert shares[UNUSED] == pytest.approx(replayed.waste.internal)
    assert shares[HOLE] + shares[FREE] == pytest.approx(replayed.waste.external + replayed.waste.free)
    assert waiting.share_fragmented == pytest.approx(replayed.refused_though_free)


def test_chunks_of_a_history_never_overlap_and_a_column_shows_each_slot_as_what_it_is():
    history = arena_history(m.lesson_trace(), "power of two", 4096, steps=120)
    for step, moment in enumerate(history.moments):
        ends = [0, *(chunk.start + chunk.size for chunk in moment.chunks)]
        assert all(chunk.start >= end for chunk, end in zip(moment.chunks, ends, strict=False))
        column = history.column(step, 4096)
        assert (column == HELD).sum() == sum(chunk.held for chunk in moment.chunks)
        assert (column == UNUSED).sum() == sum(chunk.size - chunk.final for chunk in moment.chunks)
        assert (column == (HOLE if moment.fragmented else FREE)).sum() == moment.free


def test_the_strip_can_show_a_learners_own_arena():
    class Mine(m.Arena):
        asked = 0

        def allocate(self, size):
            Mine.asked += 1
            return super().allocate(size)

    picture = arena_strip(m.lesson_trace(), policy="oracle", arena=Mine, capacity=4096, steps=50)
    assert Mine.asked > 1 and "oracle" in picture.title


def test_a_trace_of_which_nothing_fits_is_refused_in_words():
    with pytest.raises(ValueError, match="no request of this trace fits in 512 slots under 'full'"):
        arena_history(m.lesson_trace(), "full", 512)
