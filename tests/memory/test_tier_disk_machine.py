"""A tier on disk through random stores, loads, restarts and damage: what is read is right, or an error."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kvlab.memory import DiskTier
from kvlab.memory.block_file import HEAD_BYTES
from tests.memory.disk_tiers import KEYS, LAYOUT, body, files_end_at

names = st.sampled_from(KEYS)


class DiskTierMachine(RuleBasedStateMachine):
    """Restarts and damage at any time, beside a model of what may be found: what is read is right or an `OSError`."""

    @initialize(num_blocks=st.integers(1, 5), policy=st.sampled_from(["lru", "lfu"]))
    def begin(self, num_blocks: int, policy: str) -> None:
        self.path, self.num_blocks, self.policy = Path(tempfile.mkdtemp()), num_blocks, policy
        self.stored: dict[bytes, int] = {}
        self.broken: set[bytes] = set()
        self.number = 0
        self.restart()

    def teardown(self) -> None:
        if hasattr(self, "tier"):
            self.tier.close()
            shutil.rmtree(self.path)

    def left(self, key: bytes, place: int) -> None:
        self.tier.erase(key, place)
        del self.stored[key]
        self.broken.discard(key)

    @rule()
    def restart(self) -> None:
        if hasattr(self, "tier"):
            self.tier.close()
        self.tier = DiskTier(self.path, self.num_blocks, self.policy, durable=False)
        self.tier.open(LAYOUT)
        assert set(self.stored) - self.broken <= set(self.tier) <= set(self.stored)
        self.stored = {key: self.stored[key] for key in self.tier}
        self.broken &= set(self.tier)
        self.tier.on_evict = self.left

    @rule(key=names, well=st.booleans())
    def store(self, key: bytes, well: bool) -> None:
        place = self.tier.store_begin(key)
        assert (place is None) == (key in self.stored)
        if place is None:
            return
        self.number += 1
        if not well:
            with files_end_at(500), pytest.raises(OSError):
                self.tier.write(key, place, body(key, self.number))
            self.tier.store_failed(key)
            return
        self.tier.write(key, place, body(key, self.number))
        self.tier.store_done(key)
        self.stored[key] = self.number

    @rule(key=names, how=st.sampled_from(["flip", "cut", "gone"]), place=st.integers(0, HEAD_BYTES + 2047))
    def damage(self, key: bytes, how: str, place: int) -> None:
        if key not in self.stored or key in self.broken:
            return
        file = self.tier._file(key)
        content = bytearray(file.read_bytes())
        content[place] ^= 4
        if how == "gone":
            file.unlink()
        else:
            file.write_bytes(content if how == "flip" else content[:place])
        self.broken.add(key)

    @rule(key=names)
    def load(self, key: bytes) -> None:
        if key not in self.stored:
            assert key not in self.tier
            return
        place = self.tier.pin(key)
        if key not in self.broken:
            assert (self.tier.read(key, place) == body(key, self.stored[key])).all()
        else:
            with pytest.raises(OSError):
                self.tier.read(key, place)
        self.tier.unpin(key)

    @invariant()
    def holds(self) -> None:
        self.tier.check()
        assert set(self.tier) == set(self.stored)


DiskTierMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestDiskTier = DiskTierMachine.TestCase
