"""Both prefix indexes in any order of calls, beside a model that compares whole texts (I7, I8, I9, I13)."""

from __future__ import annotations

from hypothesis import settings

from tests.memory.prefix_machine import (
    HashMachine,
    HeedlessHashMachine,
    HeedlessRadixMachine,
    RadixMachine,
    WeakMachine,
)

for machine in (HashMachine, RadixMachine, WeakMachine, HeedlessHashMachine, HeedlessRadixMachine):
    machine.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)

TestHashChainInAnyOrder = HashMachine.TestCase
TestRadixTreeInAnyOrder = RadixMachine.TestCase
TestWeakHashInAnyOrder = WeakMachine.TestCase
TestHashChainWithTablesThatStayInAnyOrder = HeedlessHashMachine.TestCase
TestRadixTreeWithTablesThatStayInAnyOrder = HeedlessRadixMachine.TestCase
