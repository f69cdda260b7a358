"""Blocks on disk: found again after a restart or a kill, in a folder that serves one engine at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pytest

from kvlab.errors import UsageError
from kvlab.memory import DiskTier
from tests.memory.disk_tiers import KEYS, LAYOUT, body, files, opened, put, restarted


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
