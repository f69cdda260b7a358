"""Tiers one behind the other, and the threads that move their bytes."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import BlockLayout, DiskTier, HostTier, TierStack

LAYOUT = BlockLayout("model", "uint8", 4, ((64,),), 64)
KEYS = [sha256(bytes([number])).digest() for number in range(12)]


def body(key: bytes) -> np.ndarray:
    return np.random.default_rng([*key]).integers(0, 256, LAYOUT.block_bytes, dtype=np.uint8)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a tier's thread waits for: it is set in the end, whatever fails, since the thread is waited for at exit."""
    made = threading.Event()
    yield made
    made.set()


def stack(*tiers, **options) -> TierStack:
    return TierStack(tiers, LAYOUT, **options)


def put(stack: TierStack, *keys: bytes) -> None:
    for key in keys:
        assert stack.wants(key) and stack.store(key, body(key))
        stack.drain()
        stack.check()


def got(stack: TierStack, *keys: bytes) -> list[bool]:
    """Whether each came back, and every byte of it."""
    loads = stack.load(keys)
    stack.check()
    stack.wait(loads)
    assert all(load.done and (load.data is None or (load.data == body(load.key)).all()) for load in loads)  # type: ignore[arg-type]
    stack.drain()
    stack.check()
    return [load.data is not None for load in loads]


def test_a_block_is_found_only_after_poll_has_seen_its_store_done(gate) -> None:
    tiers = stack(HostTier(4))
    tiers.store(KEYS[0], body(KEYS[0]), ready=gate.wait)
    tiers.poll()
    assert tiers.where(KEYS[0]) is None and not tiers.wants(KEYS[0]) and not tiers.run(KEYS)
    tiers.check()
    gate.set()
    tiers.drain()
    assert tiers.where(KEYS[0]) == 0 and tiers.run(KEYS) == KEYS[:1] and got(tiers, KEYS[0]) == [True]


def test_who_leaves_the_host_goes_to_the_disk_and_comes_back(tmp_path) -> None:
    tiers = stack(HostTier(2), DiskTier(tmp_path, 8))
    put(tiers, *KEYS[:4])
    assert [tiers.where(key) for key in KEYS[:4]] == [1, 1, 0, 0]
    for key in KEYS[:2]:
        assert got(tiers, key) == [True] and tiers.where(key) == 0
    assert tiers.counts[1].loaded == 2 and tiers.counts[1].stored == 4  # those who made room went there too
    assert got(tiers, *KEYS[:4]) == [True] * 4


def test_closing_takes_to_the_disk_what_only_the_host_has(tmp_path) -> None:
    tiers = stack(HostTier(8), DiskTier(tmp_path, 8), most_pending=2)
    for key in KEYS[:5]:
        put(tiers, key)
    tiers.close()
    tiers.close()
    assert tiers.where(KEYS[0]) is None and not tiers.wants(KEYS[9]) and not tiers.store(KEYS[9], body(KEYS[9]))
    again = stack(HostTier(8), DiskTier(tmp_path, 8))
    assert [again.where(key) for key in KEYS[:6]] == [1] * 5 + [None]
    assert got(again, *KEYS[:5]) == [True] * 5
    assert [again.where(key) for key in KEYS[:5]] == [0] * 5


def test_an_evicted_block_is_read_before_its_place_is_written_again(tmp_path, gate) -> None:
    tiers = stack(HostTier(1), DiskTier(tmp_path, 8))
    put(tiers, KEYS[0])
    tiers._levels[0].worker.submit(gate.wait)  # the host's thread is busy while all of this is asked of it
    tiers.store(KEYS[1], body(KEYS[1]))
    tiers.check()
    gate.set()
    tiers.drain()
    assert got(tiers, KEYS[0], KEYS[1]) == [True, True]


def test_a_block_that_is_being_loaded_does_not_leave(gate) -> None:
    tiers = stack(HostTier(1))
    put(tiers, KEYS[0])
    tiers._levels[0].worker.submit(gate.wait)
    loads = tiers.load(KEYS[:1])
    assert not tiers.store(KEYS[1], body(KEYS[1])) and tiers.counts[0].dropped == 1
    gate.set()
    tiers.wait(loads)
    assert loads[0].data is not None and (loads[0].data == body(KEYS[0])).all()
    put(tiers, KEYS[1])


def test_a_failed_store_or_load_costs_the_block_and_nothing_else(tmp_path) -> None:
    tiers = stack(DiskTier(tmp_path, 8))
    put(tiers, *KEYS[:3])
    folder = tiers.tiers[0].folder  # type: ignore[attr-defined]
    (folder / f"{KEYS[0].hex()}.kv").unlink()
    (folder / f"{KEYS[1].hex()}.kv").write_bytes(b"torn")
    assert got(tiers, KEYS[0], KEYS[1], KEYS[1], KEYS[2]) == [False, False, False, True]
    assert tiers.run(KEYS) == [] and tiers.where(KEYS[2]) == 0 and tiers.counts[0].failed == 3
    (folder / f"{KEYS[0].hex()}.tmp").mkdir()  # nothing can be written under that name
    tiers.store(KEYS[0], body(KEYS[0]))
    tiers.drain()
    tiers.check()
    assert tiers.where(KEYS[0]) is None and "IsADirectoryError" in tiers.counts[0].error
    put(tiers, KEYS[1])
    assert got(tiers, KEYS[1]) == [True]


def test_a_slow_tier_is_not_sent_more_than_may_be_pending(tmp_path, gate) -> None:
    tiers = stack(HostTier(8), most_pending=3)
    tiers._levels[0].worker.submit(gate.wait)
    assert [tiers.store(key, body(key)) for key in KEYS[:5]] == [True] * 3 + [False] * 2
    gate.set()
    tiers.drain()
    assert tiers.counts[0].dropped == 2 and tiers.counts[0].stored == 3
    tiers.check()


def test_a_block_that_the_nearest_tier_cannot_take_goes_to_the_next(tmp_path, gate) -> None:
    tiers = stack(HostTier(1), DiskTier(tmp_path, 4))
    tiers.store(KEYS[0], body(KEYS[0]), ready=gate.wait)
    assert tiers.store(KEYS[1], body(KEYS[1]))
    gate.set()
    tiers.drain()
    assert [tiers.where(key) for key in KEYS[:2]] == [0, 1] and got(tiers, *KEYS[:2]) == [True, True]


def test_a_run_too_short_for_its_tier_is_computed_instead(tmp_path) -> None:
    tiers = stack(HostTier(4), DiskTier(tmp_path, 8, at_least=3))
    put(tiers, KEYS[4], KEYS[2], KEYS[1], KEYS[0], *KEYS[5:9])  # on disk: 4, 2, 1, 0
    assert tiers.run(KEYS[:3]) == KEYS[:3] and tiers.run(KEYS[:2]) == []
    assert tiers.run([KEYS[5], KEYS[0], KEYS[1]]) == [KEYS[5]]
    assert tiers.run([KEYS[0], KEYS[1], KEYS[5], KEYS[2]]) == [KEYS[0], KEYS[1], KEYS[5], KEYS[2]]


def test_stacks_that_cannot_be_are_refused_and_leave_nothing_open(tmp_path) -> None:
    host, disk = HostTier(2), DiskTier(tmp_path / "nobody", 2)
    (tmp_path / "nobody").write_text("")
    for wrong in ((), (host, host), (host, disk)):
        with pytest.raises(UsageError):
            stack(*wrong)
    put(stack(host), KEYS[0])
    with pytest.raises(UsageError, match="another engine"):
        stack(host)
    with pytest.raises(UsageError, match="none of the tiers"):
        stack(HostTier(2)).load([KEYS[0]])


@pytest.mark.parametrize(
    "damage",
    [lambda tiers: tiers.tiers[0].store_begin(KEYS[5]), lambda tiers: tiers.tiers[0].pin(KEYS[0])],
)
def test_check_sees_what_is_not_under_way(damage) -> None:
    tiers = stack(HostTier(4))
    put(tiers, KEYS[0])
    damage(tiers)
    with pytest.raises(InvariantBroken):
        tiers.check()


class StackMachine(RuleBasedStateMachine):
    """Calls in any order while the workers run at their own pace: what comes back is what was stored, or nothing."""

    keys = st.sampled_from(KEYS)

    @initialize(room=st.tuples(st.integers(1, 4), st.integers(1, 6)))
    def begin(self, room: tuple[int, int]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.room, self.known = room, set[bytes]()
        self.open()

    def open(self) -> None:
        disk = DiskTier(Path(self.folder.name), self.room[1], durable=False)
        self.stack = stack(HostTier(self.room[0], "lfu"), disk, most_pending=3)

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()
            self.folder.cleanup()

    @rule(key=keys)
    def store(self, key: bytes) -> None:
        if self.stack.wants(key):
            self.stack.store(key, body(key))
            self.known.add(key)

    @rule(some=st.lists(keys, max_size=4))
    def load(self, some: list[bytes]) -> None:
        found = self.stack.run(some)
        assert set(found) <= self.known
        loads = self.stack.load(found)
        self.stack.check()
        self.stack.wait(loads)
        assert all(load.data is not None and (load.data == body(load.key)).all() for load in loads)  # type: ignore[arg-type]

    @rule()
    def poll(self) -> None:
        self.stack.poll()

    @rule()
    def restart(self) -> None:
        self.stack.close()
        self.open()
        assert len(self.stack.tiers[1]) == min(len(self.known), self.room[1]) or len(self.known) > self.room[0]

    @invariant()
    def holds(self) -> None:
        self.stack.check()


StackMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestTierStack = StackMachine.TestCase
