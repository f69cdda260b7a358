"""A learner's prefix index in the place of ours, and how one that finds too much is caught or refused."""

from __future__ import annotations

import pytest

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import BlockManager, BlockPool, Match, PrefixCache, RadixCache
from tests.serve.models import prompt
from tests.serve.shared_stem import NEW, PROMPTS, STEM, B, engine, expected


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
