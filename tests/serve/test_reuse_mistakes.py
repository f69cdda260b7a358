"""Prefix sharing and the known mistakes with it: each would show in tokens, in counts or in blocks."""

from __future__ import annotations

import random

import pytest

from kvlab.memory import HitRate
from tests.serve import shared_stem
from tests.serve.models import greedy, prompt, tiny
from tests.serve.shared_stem import NEW, PROMPTS, STEM, B, engine, expected
from tests.serve.tiny_engine import idle, interrupts

kind = shared_stem.kind  # the fixture: each index by its name


def test_f1_a_prompt_of_whole_blocks_sent_twice_computes_at_least_a_token_and_says_the_same(kind):
    serving = engine(kind)
    answers = []
    for _ in range(3):
        answers.append(serving.submit(STEM[: 2 * B], NEW))
        serving.run()
    assert [generation.tokens for generation in answers] == [expected()[0]] * 3
    assert serving.hits.found == 2 * B  # one block each time but the first; the other is computed again
    assert serving.manager.pool.num_cached == (2 * B + NEW - 1) // B  # one chain, not three


def test_f3_an_abort_before_the_forward_pass_leaves_nothing_to_hit(kind):
    serving = engine(kind, token_budget=3)
    first = serving.submit(STEM, NEW)
    forward = serving.paged.forward

    def failing(batch):
        raise KeyboardInterrupt

    serving.paged.forward = failing
    with pytest.raises(KeyboardInterrupt):
        serving.step()
    serving.abort(first)
    serving.paged.forward = forward
    assert serving.manager.pool.num_cached == 0
    second = serving.submit(STEM, NEW)
    serving.run()
    assert second.tokens == expected()[2] and serving.hits.found == 0


def test_f7_tokens_that_are_computed_again_are_not_counted_as_found(kind):
    """Until the engine preempts, what an abort and a new request find is sharing; `again` is for the same request."""
    rate = HitRate()
    rate.record(13, 0)
    rate.record(13, 12, again=True)
    assert rate == HitRate(13, 0)
    serving = engine(kind, token_budget=5)  # a prompt in three chunks finds none of its own blocks
    serving.submit(STEM, NEW)
    serving.run()
    assert serving.hits == HitRate(13, 0)


def test_f8_a_chat_finds_its_own_answers_in_the_next_turn(kind):
    serving, said = engine(kind), list(STEM)
    for turn in range(4):
        found = serving.hits.found
        generation = serving.submit(said, NEW)
        serving.run()
        assert generation.tokens == greedy(tiny("llama"), said, NEW)
        kept = len(said) - 3 - 1  # all but the last question and the last token, which was sampled and never run
        assert serving.hits.found - found == (kept // B * B if turn else 0)
        said += [*generation.tokens, *prompt(3, turn)]


def test_f9_of_equal_prompts_in_one_step_one_copy_stays(kind):
    serving = engine(kind)
    asked = [serving.submit(STEM, NEW) for _ in range(4)]
    serving.step()
    tables = [serving.manager.table(generation.id) for generation in asked]
    assert all(table[:3] == tables[0][:3] for table in tables)
    assert len({table[3] for table in tables}) == 4
    serving.run()
    assert all(generation.tokens == expected()[2] for generation in asked) and idle(serving)


def test_f2_hits_that_lie_free_are_not_spared(kind):
    serving = engine(kind, 5, watermark=0)
    serving.submit(STEM[:9], 1)
    serving.run()
    long = serving.submit(prompt(5, 9), 6)  # has 2 of 5 blocks
    serving.step()
    again = serving.submit(STEM, 4)  # needs 4, two of which are found, but nobody holds them
    serving.step()
    assert serving.running == [long] and serving.waiting[0] is again
    serving.run()
    assert again.tokens == expected()[2][:4] and idle(serving)


@pytest.mark.parametrize("where", ["forward", "publish", "remap", "admit"])
def test_a_step_that_is_interrupted_loses_no_token_and_publishes_nothing_unwritten(kind, where):
    serving, draw = engine(kind, 14), random.Random(3)
    owner = {"forward": serving.paged, "publish": serving._reuse.index}.get(where, serving.manager)
    call = getattr(owner, where)

    def unreliable(*arguments):
        late = draw.random() < 0.5
        result = call(*arguments) if late else None
        if draw.random() < 0.3:
            raise KeyboardInterrupt
        return result if late else call(*arguments)

    setattr(owner, where, unreliable)
    asked = [serving.submit(ids, NEW) for ids in PROMPTS * 2]
    interrupted = [serving.check() for _ in interrupts(serving)]
    assert interrupted and [g.tokens for g in asked] == expected() * 2 and idle(serving)
