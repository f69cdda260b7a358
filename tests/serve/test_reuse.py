"""The engine with prefix sharing: the same tokens as without (I12), computed once, from pools that forget."""

from __future__ import annotations

import functools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import INDEXES, BlockManager, BlockPool, HitRate, Match, PrefixCache, RadixCache
from kvlab.models import load_courier
from kvlab.serve.engine import Engine
from kvlab.serve.ordering import LongestPrefixFirst
from kvlab.serve.sampling import Sampling
from tests.serve.models import greedy, prompt, tiny

B = 4
STEM = prompt(13)
PROMPTS = [
    STEM[:8],
    STEM[:9],
    STEM,
    STEM[:11] + prompt(3, 1),
    STEM[:6] + prompt(5, 2),
    prompt(7, 3),
    [*STEM, *prompt(4, 4)],
]
NEW = 6


@functools.cache
def expected(name: str = "llama") -> list[list[int]]:
    return [greedy(tiny(name), ids, NEW) for ids in PROMPTS]


def engine(prefix, num_blocks: int = 40, name: str = "llama", **options) -> Engine:
    return Engine(tiny(name), num_blocks, B, checked=True, fill=math.nan, prefix=prefix, **options)


def idle(engine: Engine) -> bool:
    return not engine.has_work and engine.manager.pool.num_free == engine.num_blocks and len(engine.manager) == 0


@pytest.fixture(params=INDEXES)
def kind(request) -> str:
    return request.param


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss", "deepseek_v3", "opt"])
@pytest.mark.parametrize("together", [True, False])
def test_tokens_are_those_of_generate_whether_prompts_are_found_or_computed_at_the_same_time(kind, name, together):
    serving = engine(kind, name=name, token_budget=9 if together else 512)
    for _ in range(2):
        asked = []
        for ids in PROMPTS:
            asked.append(serving.submit(ids, NEW))
            if not together:
                serving.run()
        serving.run()
        assert [generation.tokens for generation in asked] == expected(name)
    assert idle(serving) and serving.hits.found > 0


@given(
    st.lists(st.tuples(st.integers(0, len(PROMPTS) - 1), st.integers(0, 4), st.booleans()), min_size=1, max_size=14),
    st.integers(1, 20),
    st.integers(1, 6),
    st.sampled_from(["hash", "radix"]),
    st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_any_order_of_arrival_and_abort_gives_the_same_tokens_from_a_pool_that_forgets(
    arrivals, budget, most, index, ordered
):
    serving = forgetful(index, ordered)
    serving.token_budget, serving.max_running = budget, most
    asked = []
    for number, gap, aborted in arrivals:
        asked.append((serving.submit(PROMPTS[number], NEW), number))
        for _ in range(gap):
            serving.step()
        if aborted:
            serving.abort(asked[-1][0])
            serving.check()
    serving.run()
    for generation, number in asked:
        want = expected()[number]
        assert generation.tokens == (want if generation.reason == "length" else want[: len(generation.tokens)])
    assert idle(serving)


@functools.cache
def forgetful(index: str, ordered: bool) -> Engine:
    """A pool of 8 blocks that lives through all examples: a request needs up to 6."""
    return engine(index, 8, order=LongestPrefixFirst(2) if ordered else None)


def test_only_what_is_not_found_is_computed(kind):
    serving = engine(kind)
    for ids in (STEM, STEM, [*STEM, 5, 6]):
        before = serving.projected_tokens
        serving.submit(ids, 1)
        serving.run()
        found = 0 if not before else len(STEM) // B * B
        assert serving.projected_tokens - before == len(ids) - found
    assert serving.hits == HitRate(3 * len(STEM) + 2, 2 * (len(STEM) // B * B))


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


def test_what_is_shared_is_taken_once_so_more_requests_run_at_once(kind):
    prompts = [[*STEM[:12], token] for token in range(10, 16)]
    running = []
    for prefix in (None, kind):
        serving = engine(prefix, 9, watermark=0)  # each needs 4 blocks, of which 3 are the same
        first = serving.submit(prompts[0], 3)
        serving.step()
        asked = [first, *(serving.submit(ids, 3) for ids in prompts[1:])]
        serving.step()
        running.append(len(serving.running))
        serving.run()
        assert [g.tokens for g in asked] == [greedy(tiny("llama"), ids, 3) for ids in prompts] and idle(serving)
    assert running == [2, 6]


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


def test_requests_with_another_tag_share_nothing(kind):
    serving = engine(kind)
    for tag in ((), ("X", None), (None, "X"), ("X", None)):
        generation = serving.submit(STEM, NEW, tag=tag)
        serving.run()
        assert generation.tokens == expected()[2]
    assert serving.hits.found == 12
    with pytest.raises(UsageError, match="a tag is a tuple"):
        serving.submit(STEM, NEW, tag="X")


@pytest.mark.parametrize("num_blocks, one_by_one", [(14, False), (60, False), (20, True)])
def test_samples_and_beams_are_the_same_with_and_without(kind, num_blocks, one_by_one):
    setting, results = Sampling(temperature=1.2, seed=5), []
    for prefix in (None, kind):
        serving = engine(prefix, num_blocks)
        asked = []
        for ids in (STEM[:9], STEM, STEM[:8], STEM):
            asked.append((serving.sample(ids, 3, NEW, setting), serving.beam(ids, 2, NEW)))
            if one_by_one:
                serving.run()
        serving.run()
        results.append([([s.tokens for s in samples.best], beam.hypotheses[0].tokens) for samples, beam in asked])
        assert idle(serving)
    assert results[0] == results[1] and serving.hits.found >= 8 * one_by_one


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
    interrupted = 0
    while serving.has_work:
        try:
            serving.step()
        except KeyboardInterrupt:
            interrupted += 1
            serving.check()
    assert interrupted and [g.tokens for g in asked] == expected() * 2 and idle(serving)


def test_the_longest_prefix_goes_first_where_that_is_asked_for(kind):
    serving = engine(kind, order=LongestPrefixFirst(), max_running=1)
    serving.submit(STEM, 1)
    serving.run()
    short, stranger, long = (serving.submit(ids, 2) for ids in (STEM[:5], prompt(9, 9), STEM))
    admitted = []
    while serving.has_work:
        serving.step()
        admitted += [g for g in (short, stranger, long) if g.tokens and g not in admitted]
    assert admitted == [long, short, stranger] and idle(serving)


class Mine:
    """An index of a learner's: all that was ever published, in a list. `fault` spoils it."""

    def __init__(self, pool: BlockPool, block_size: int, fault: str = "") -> None:
        self.pool, self.size, self.fault, self.known = pool, block_size, fault, []

    def match(self, tokens, tag=()):
        tokens = list(tokens)
        whole = (len(tokens) - (self.fault != "greedy")) // self.size
        best: list[int] = []
        for text, blocks in self.known:
            count = 0
            while count < min(whole, len(blocks)) and (
                text[count * self.size : (count + 1) * self.size] == tokens[count * self.size : (count + 1) * self.size]
            ):
                count += 1
            best = max(best, blocks[:count], key=len)
        return Match(best, len(best) * self.size)

    def publish(self, tokens, blocks, tag=()):
        if self.fault == "early":  # all tokens of the prompt, though some are not written
            blocks = [*blocks, *range(len(blocks), len(tokens) // self.size)]
        self.known.append((list(tokens), list(blocks)))
        return {}

    def evict(self, count):
        return 0

    def check(self):
        """Nothing to walk."""


def test_a_learners_index_can_stand_in_whether_it_comes_as_an_object_or_as_what_makes_one():
    manager = BlockManager(60, B)
    for serving in (
        engine(PrefixCache, 60),
        engine(RadixCache, 60),
        engine(PrefixCache(manager.pool, B), 60, manager=manager),
    ):
        asked = [serving.submit(ids, NEW) for ids in PROMPTS]
        serving.run()
        serving.submit(STEM, NEW)
        serving.run()
        assert [g.tokens for g in asked] == expected() and serving.hits.found


@pytest.mark.parametrize(
    "fault, invariant, before, between",
    [
        ("greedy", "I7", STEM[: 2 * B], None),  # finds the whole prompt, so that nothing is left to compute
        ("stale", "I9", STEM[:9], prompt(20, 8)),  # finds blocks that another has taken since
        ("early", "I9", STEM, None),  # finds what is still to be written
    ],
)
def test_with_checks_on_an_index_that_finds_too_much_is_caught(fault, invariant, before, between):
    serving = engine(lambda pool, size: Mine(pool, size, fault), 9, token_budget=8)
    serving.submit(before, 6 if between is None else 1)
    while between is not None and serving.has_work or serving.steps < 1:
        serving.step()
    if between is not None:
        serving.submit(between, 6)
        for _ in range(4):
            serving.step()
    serving.submit(before, 2)
    with pytest.raises(InvariantBroken, match=invariant):
        serving.run()


def test_an_index_over_another_pool_or_none_that_could_be_one_is_refused():
    for wrong, says in (
        (PrefixCache(BlockPool(40), B), "another pool"),
        ("tree", "no prefix index 'tree'"),
        (5, "match, publish, evict and check"),
    ):
        with pytest.raises(UsageError, match=says):
            engine(wrong)
    manager = BlockManager(40, B)
    with pytest.raises(UsageError, match="another block_size"):
        engine(PrefixCache(manager.pool, 2), manager=manager)


def test_courier_says_the_same_in_chats_with_sharing_on_or_off_from_a_small_pool():
    model, tokenizer = load_courier()
    chats = ["Where is my order?", "Who brings it?", "What did I order?"]
    system = tokenizer("You are Courier, the support assistant of a food delivery app.")["input_ids"]
    answers = []
    for prefix in (None, *INDEXES):
        serving = Engine(model, 24, 8, prefix=prefix, checked=True, fill=math.nan, token_budget=24)
        said = [[*system, *tokenizer(chat)["input_ids"]] for chat in chats]
        for _ in range(3):
            asked = [serving.submit(ids, 8, eos=()) for ids in said]
            serving.run()
            said = [[*ids, *g.tokens, *tokenizer("Thanks.")["input_ids"]] for ids, g in zip(said, asked, strict=True)]
        answers.append(said)
        assert idle(serving) and (serving.hits.found > 0) == (prefix is not None)
    assert answers[0] == answers[1] == answers[2]
