"""Another manager or another attention in the place of the engine's own, and what is said of one that cannot be."""

from __future__ import annotations

import pytest
import torch

from kvlab.compute import paged_attention
from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import BlockManager, BlockPool
from kvlab.serve.admission import NeverFits
from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny
from tests.serve.tiny_engine import PROMPTS, B, engine, expected


def test_a_manager_of_other_blocks_than_the_pools_is_refused_with_both_sizes():
    for manager in (BlockManager(40, 8), BlockManager(41, B)):
        with pytest.raises(UsageError, match=r"the manager has 4[01] blocks of [84] slots, the engine 40 of 4"):
            engine(manager=manager)


def test_blocks_that_a_manager_cannot_give_are_not_counted_on():
    serving = engine(4, manager=BlockManager(BlockPool(4, null_block=True), B))
    with pytest.raises(NeverFits, match="may need 4 blocks .* there are 3"):
        serving.submit(prompt(9), 5)
    generation = serving.submit(prompt(9), 4)
    serving.run()
    assert generation.tokens == greedy(tiny("llama"), prompt(9), 4)


def test_learners_attention_and_manager_can_stand_in():
    calls = []

    def mine(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale, window, softcap, sinks):
        calls.append(len(query))
        return paged_attention(query, key_pool, value_pool, block_tables, query_start, context_lengths, scale=scale)

    class Mine(BlockManager):
        pass

    serving = Engine(tiny("llama"), 20, B, attention=mine, manager=Mine(20, B), checked=True)
    generation = serving.submit(PROMPTS[3], 5)
    serving.run()
    assert generation.tokens == expected()[3][:5] and calls[2:] == [5, 5, 1, 1, 1, 1, 1, 1, 1, 1]


class Forgetful(BlockManager):
    """Gives the slot after the last one, whatever the table says."""

    def slots(self, seq_id, start=0, stop=None):
        found = super().slots(seq_id, start, stop)
        return found[0] + torch.arange(len(found)).numpy() if len(found) else found


def test_with_checks_on_a_manager_that_gives_wrong_slots_is_caught():
    manager = Forgetful(20, B)
    for name in "abc":
        manager.admit(name, B)
    manager.free("a")
    manager.free("c")
    serving = Engine(tiny("llama"), 20, B, manager=manager, checked=True)
    serving.submit(PROMPTS[4], 2)
    with pytest.raises(InvariantBroken, match="I4"):
        serving.run()
