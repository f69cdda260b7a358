"""Blocks on disk: found again after a restart, and never loaded when they are not what was stored."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kvlab.errors import UsageError
from kvlab.memory import BlockLayout, DiskTier
from kvlab.memory.block_file import HEAD_BYTES, BadBlock

LAYOUT = BlockLayout("model", "float32", 16, ((16, 2, 8), (16, 2, 8)), 2048)
KEYS = [sha256(bytes([number])).digest() for number in range(8)]
names = st.sampled_from(KEYS)


def body(key: bytes, number: int = 0) -> np.ndarray:
    return np.random.default_rng([*key, number]).integers(0, 256, LAYOUT.block_bytes, dtype=np.uint8)


def opened(path: Path, num_blocks: int = 8, layout: BlockLayout = LAYOUT) -> DiskTier:
    tier = DiskTier(path, num_blocks, durable=False)
    tier.open(layout)
    return tier


def put(tier: DiskTier, *keys: bytes) -> None:
    for key in keys:
        place = tier.store_begin(key)
        assert place is not None
        tier.write(key, place, body(key))
        tier.store_done(key)


def restarted(tier: DiskTier, **options) -> DiskTier:
    tier.close()
    return opened(tier.path, **options)


def files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.kv"))


def test_the_next_engine_finds_what_was_stored_byte_for_byte(tmp_path) -> None:
    tier = opened(tmp_path)
    put(tier, *KEYS[:4])
    tier = restarted(tier)
    assert set(tier) == set(KEYS[:4])
    assert all((tier.read(key, 0) == body(key)).all() for key in tier)


def test_what_was_used_last_stays_when_the_next_engine_has_less_room(tmp_path) -> None:
    tier = opened(tmp_path)
    put(tier, *KEYS[:4])
    for second, file in enumerate([tier._file(key) for key in KEYS[:4]]):
        os.utime(file, (second, second))
    tier.read(KEYS[0], 0)
    tier = restarted(tier, num_blocks=2)
    assert set(tier) == {KEYS[0], KEYS[3]} and len(files(tmp_path)) == 2


@pytest.mark.parametrize(
    "change",
    [{"model": "other"}, {"dtype": "float8"}, {"block_size": 32}, {"shapes": ((16, 4, 4), (16, 2, 8))}],
)
def test_blocks_of_another_engine_are_not_found_and_not_loaded_even_under_the_right_name(tmp_path, change) -> None:
    other = LAYOUT._replace(**change)
    tier = opened(tmp_path, layout=other)
    put(tier, *KEYS[:2])
    theirs = tier._file(KEYS[0])
    tier.close()
    mine = opened(tmp_path)
    assert not len(mine)
    put(mine, KEYS[0])
    shutil.copy(theirs, mine._file(KEYS[0]))  # same size, same key
    with pytest.raises(BadBlock, match="another model"):
        mine.read(KEYS[0], 0)
    assert not len(restarted(mine))
    assert set(opened(tmp_path, layout=other)) == set(KEYS[:2])  # and they are as they were


def test_no_flipped_bit_and_no_cut_is_ever_loaded(tmp_path) -> None:
    tier, drawn = opened(tmp_path), random.Random(3)
    put(tier, KEYS[0])
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    assert len(whole) == HEAD_BYTES + LAYOUT.block_bytes
    bits = {*range(HEAD_BYTES), *drawn.sample(range(len(whole)), 200)}
    for place in bits:
        torn = bytearray(whole)
        torn[place] ^= 1 << drawn.randrange(8)
        file.write_bytes(torn)
        with pytest.raises(BadBlock):
            tier.read(KEYS[0], 0)
    for length in [0, 1, HEAD_BYTES - 1, HEAD_BYTES, len(whole) - 1, *drawn.sample(range(len(whole)), 20)]:
        file.write_bytes(whole[:length])
        with pytest.raises(BadBlock, match="bytes"):
            tier.read(KEYS[0], 0)
        file.write_bytes(whole[:length] + bytes(len(whole) - length))  # what a power cut leaves of a renamed file
        with pytest.raises(BadBlock):
            tier.read(KEYS[0], 0)
    file.write_bytes(whole)
    assert (tier.read(KEYS[0], 0) == body(KEYS[0])).all()


def test_a_file_under_the_name_of_another_block_is_not_loaded(tmp_path) -> None:
    tier = opened(tmp_path)
    put(tier, *KEYS[:2])
    shutil.copy(tier._file(KEYS[0]), tier._file(KEYS[1]))
    with pytest.raises(BadBlock):
        tier.read(KEYS[1], 0)
    assert set(restarted(tier)) == {KEYS[0]}


def test_what_is_no_block_is_removed_when_the_tier_is_opened_and_other_files_stay(tmp_path) -> None:
    tier = opened(tmp_path)
    put(tier, *KEYS[:2])
    folder = tier.folder
    assert folder is not None
    for name in (f"{KEYS[3].hex()}.tmp", "short.kv", f"{KEYS[4].hex()}.kv", f"{KEYS[5].hex().upper()}.kv"):
        (folder / name).write_bytes(b"torn")
    (folder / "notes.txt").write_text("mine")
    assert set(restarted(tier)) == set(KEYS[:2])
    assert {path.name for path in folder.iterdir()} == {
        "lock", "notes.txt", *(f"{key.hex()}.kv" for key in KEYS[:2])
    }  # fmt: skip


@contextmanager
def files_end_at(num_bytes: int) -> Iterator[None]:
    """No file of this process may become longer, as on a disk that is full: a write ends in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1, HEAD_BYTES, 1000])
def test_a_write_that_finds_the_disk_full_leaves_no_trace(tmp_path, room) -> None:
    tier = opened(tmp_path)
    put(tier, KEYS[0])
    place = tier.store_begin(KEYS[1])
    with files_end_at(room), pytest.raises(OSError):
        tier.write(KEYS[1], place, body(KEYS[1]))
    tier.store_failed(KEYS[1])
    assert len(files(tmp_path)) == 1 and not list(tmp_path.rglob("*.tmp"))
    put(tier, KEYS[1])
    assert set(restarted(tier)) == set(KEYS[:2])


def test_files_that_vanish_are_errors_and_not_blocks(tmp_path) -> None:
    tier = opened(tmp_path)
    put(tier, KEYS[0])
    shutil.rmtree(tmp_path)
    with pytest.raises(FileNotFoundError):
        tier.read(KEYS[0], 0)
    tier.erase(KEYS[0], 0)
    with pytest.raises(FileNotFoundError):
        tier.write(KEYS[1], 1, body(KEYS[1]))


def test_a_folder_serves_one_engine_at_a_time(tmp_path) -> None:
    tier = opened(tmp_path)
    with pytest.raises(UsageError, match="another engine"):
        opened(tmp_path)
    with pytest.raises(UsageError, match="already"):
        tier.open(LAYOUT)
    other = opened(tmp_path, layout=LAYOUT._replace(model="other"))  # beside it, in a folder of its own
    put(other, KEYS[0])
    tier.close()
    assert not len(opened(tmp_path))


def test_a_path_that_cannot_be_a_folder_is_refused_when_the_tier_is_opened(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot use"):
        opened(tmp_path / "file")


class Undeletable(DiskTier):
    """A folder from which nothing can be removed, as when others own it."""

    def erase(self, key: Hashable, place: int) -> None:
        raise PermissionError(13, "Permission denied")


def test_a_folder_from_which_nothing_can_be_removed_is_refused_and_left_to_others(tmp_path) -> None:
    tier = opened(tmp_path)
    put(tier, *KEYS[:3])
    tier.close()
    refused = Undeletable(tmp_path, 2)
    with pytest.raises(UsageError, match="cannot use.*Permission denied"):
        refused.open(LAYOUT)
    assert refused.folder is None and not len(refused)
    assert len(opened(tmp_path)) == 3  # nobody holds the lock


def test_keys_and_bytes_that_do_not_fit_are_refused(tmp_path) -> None:
    tier = opened(tmp_path)
    for key in ("A", b"short", 7):
        with pytest.raises(UsageError, match="32 bytes"):
            tier.store_begin(key)
    with pytest.raises(UsageError, match="2048"):
        tier.write(KEYS[0], 0, np.zeros(3, np.uint8))
    with pytest.raises(UsageError, match="no folder"):
        DiskTier(tmp_path, 2).read(KEYS[0], 0)


def test_a_process_killed_while_it_writes_200_times_leaves_no_wrong_block(tmp_path) -> None:
    script = Path(__file__).with_name("disk_writer.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "200", "11"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    compared, unfinished = map(int, done.stdout.split())
    assert compared > 200 and unfinished > 0  # blocks were loaded, and some kills came in the middle of a write


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
