"""Both prefix indexes in any order of calls, beside a model that compares whole texts (I7, I8, I9, I13)."""

from __future__ import annotations

from hypothesis import settings

from kvlab.memory import BlockPool, PrefixCache, RadixCache
from tests.memory.prefix_machine import PrefixMachine


class HashMachine(PrefixMachine):
    def make(self, pool: BlockPool, block_size: int) -> PrefixCache:
        return PrefixCache(pool, block_size)


class RadixMachine(PrefixMachine):
    def make(self, pool: BlockPool, block_size: int) -> RadixCache:
        return RadixCache(pool, block_size)


class WeakMachine(PrefixMachine):
    """Five keys for all texts: blocks go unfound, but none is found in another's place."""

    exact = False

    def make(self, pool: BlockPool, block_size: int) -> PrefixCache:
        return PrefixCache(pool, block_size, lambda before, block: sum(block) % 5 + 1, verify=True)


class HeedlessHashMachine(HashMachine):
    """Tables stay as they are, as in an engine whose tables cannot change: a tail may then outlive its head."""

    remaps = exact = False


class HeedlessRadixMachine(RadixMachine):
    """The same with a tree: what can no longer be reached must leave it."""

    remaps = exact = False


for machine in (HashMachine, RadixMachine, WeakMachine, HeedlessHashMachine, HeedlessRadixMachine):
    machine.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)

TestHashChainInAnyOrder = HashMachine.TestCase
TestRadixTreeInAnyOrder = RadixMachine.TestCase
TestWeakHashInAnyOrder = WeakMachine.TestCase
TestHashChainWithTablesThatStayInAnyOrder = HeedlessHashMachine.TestCase
TestRadixTreeWithTablesThatStayInAnyOrder = HeedlessRadixMachine.TestCase
