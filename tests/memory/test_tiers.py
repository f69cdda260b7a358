"""The host tier's places: what is found, what is pinned, and who leaves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import EVICTIONS, BlockLayout, HostTier, Tier
from tests.memory.snapshots import snapshot

keys = st.sampled_from("ABCDEFG")
LAYOUT = BlockLayout("model", "uint8", 4, ((4,),), 4)


def filled(num_blocks: int, names: str, policy: str = "lru") -> HostTier:
    tier = HostTier(num_blocks, policy)
    for name in names:
        tier.store_begin(name)
        tier.store_done(name)
    return tier


def test_a_block_is_found_only_when_its_store_is_done() -> None:
    tier = HostTier(2)
    assert tier.store_begin("A") == 0 and "A" not in tier and tier.match("A") == 0
    tier.store_done("A")
    assert "A" in tier and tier.match("AB") == 1 and isinstance(tier, Tier)


def test_a_store_that_failed_is_never_found_and_its_place_is_free_again() -> None:
    tier = HostTier(1)
    tier.store_begin("A")
    assert tier.store_begin("B") is None  # nobody may leave
    tier.store_failed("A")
    assert "A" not in tier and tier.store_begin("B") == 0


def test_a_pinned_block_never_leaves_and_an_unpinned_one_does() -> None:
    tier = filled(2, "AB")
    place = tier.pin("A")
    assert tier.store_begin("C") is not None and "A" in tier and "B" not in tier
    assert tier.store_begin("D") is None  # A is pinned, C being stored
    tier.unpin("A")
    assert tier.store_begin("D") == place


@pytest.mark.parametrize("policy", EVICTIONS)
def test_whoever_leaves_is_named_with_its_place(policy) -> None:
    tier, gone = filled(2, "AB", policy), []
    tier.on_evict = lambda key, place: gone.append((key, place))
    tier.touch("A")
    assert tier.store_begin("C") == 1 and gone == [("B", 1)]


def test_lfu_keeps_what_many_ask_for_and_forgets_it_when_nobody_does() -> None:
    tier = filled(3, "A", "lfu")
    for _ in range(4):
        tier.touch("A")

    def read_once(number: int) -> None:
        tier.store_begin(number)
        tier.store_done(number)

    for number in range(3):
        read_once(number)
    assert "A" in tier  # an LRU order has lost it by now
    for number in range(3, 20):
        read_once(number)
    assert "A" not in tier
    tier.check()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda tier: tier.store_done("A"),
        lambda tier: tier.store_failed("Z"),
        lambda tier: tier.pin("S"),
        lambda tier: tier.touch("Z"),
        lambda tier: tier.unpin("B"),
        lambda tier: tier.drop("A"),
        lambda tier: tier.open(LAYOUT),
        lambda tier: tier.write("A", 0, np.zeros(4, np.uint8)),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_and_changes_nothing(wrong) -> None:
    tier = filled(3, "AB")
    tier.pin("A")
    tier.store_begin("S")
    before = snapshot(tier)
    with pytest.raises(UsageError):
        wrong(tier)
    assert snapshot(tier) == before


def test_a_tier_is_one_engines_from_open_to_close_also_while_it_is_empty() -> None:
    tier = HostTier(2)
    tier.open(LAYOUT)
    before = snapshot(tier)
    for layout in (LAYOUT, LAYOUT._replace(model="other"), LAYOUT._replace(block_bytes=8)):
        with pytest.raises(UsageError, match="another engine"):
            tier.open(layout)
        assert snapshot(tier) == before
    tier.close()
    tier.open(LAYOUT)


@pytest.mark.parametrize("wrong", [lambda: HostTier(0), lambda: HostTier(2, "best")])
def test_a_tier_that_cannot_be_is_refused(wrong) -> None:
    with pytest.raises(UsageError):
        wrong()


@pytest.mark.parametrize(
    "damage",
    [
        lambda tier: tier._free.append(0),
        lambda tier: tier._storing.update(A=tier._free.pop()),
        lambda tier: tier._pins.update("Z"),
        lambda tier: tier.policy.remove("A"),
    ],
)
@pytest.mark.parametrize("policy", EVICTIONS)
def test_check_sees_damage(damage, policy) -> None:
    tier = filled(3, "AB", policy)
    damage(tier)
    with pytest.raises(InvariantBroken):
        tier.check()


class HostTierMachine(RuleBasedStateMachine):
    """Beside a model that knows each block's state and bytes, and who may not leave."""

    @initialize(num_blocks=st.integers(1, 5), policy=st.sampled_from(sorted(EVICTIONS)))
    def begin(self, num_blocks: int, policy: str) -> None:
        self.tier = HostTier(num_blocks, policy)
        self.tier.open(LAYOUT)
        self.tier.on_evict = self.left
        self.storing, self.stored, self.pins, self.number = {}, {}, Counter(), 0

    def left(self, key: str, place: int) -> None:
        assert not self.pins[key] and (self.tier.read(key, place) == self.stored.pop(key)).all()

    @rule(key=keys)
    def store_begin(self, key: str) -> None:
        full = len(self.storing) + len(self.stored) == self.tier.num_blocks
        pinned = len(+self.pins)
        place = self.tier.store_begin(key)
        known = key in self.storing or key in self.stored
        assert (place is None) == (known or full and pinned + len(self.storing) == self.tier.num_blocks)
        if place is not None:
            self.number += 1
            self.storing[key] = np.full(4, self.number % 256, np.uint8)
            self.tier.write(key, place, self.storing[key])

    @rule(key=keys, well=st.booleans())
    def store_ends(self, key: str, well: bool) -> None:
        if key not in self.storing:
            with pytest.raises(UsageError):
                self.tier.store_done(key)
            return
        data = self.storing.pop(key)
        if well:
            self.stored[key] = data
            self.tier.store_done(key)
        else:
            self.tier.store_failed(key)

    @rule(key=keys)
    def pin(self, key: str) -> None:
        if key not in self.stored:
            with pytest.raises(UsageError):
                self.tier.pin(key)
            return
        assert (self.tier.read(key, self.tier.pin(key)) == self.stored[key]).all()
        self.tier.touch(key)
        self.pins[key] += 1

    @rule(key=keys)
    def unpin(self, key: str) -> None:
        if not self.pins[key]:
            with pytest.raises(UsageError):
                self.tier.unpin(key)
            return
        self.tier.unpin(key)
        self.pins[key] -= 1

    @rule(key=keys)
    def drop(self, key: str) -> None:
        if key not in self.stored or self.pins[key]:
            with pytest.raises(UsageError):
                self.tier.drop(key)
            return
        self.tier.drop(key)
        del self.stored[key]

    @invariant()
    def agrees(self) -> None:
        self.tier.check()
        assert set(self.tier) == set(self.stored) and sorted(self.tier.storing()) == sorted(self.storing)
        assert sorted(self.tier.stored()) == sorted(self.stored)


HostTierMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestHostTier = HostTierMachine.TestCase
