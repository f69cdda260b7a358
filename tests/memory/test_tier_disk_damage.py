"""Blocks on disk that are not what was stored, from torn files to full disks: never loaded, and none left behind."""

from __future__ import annotations

import random
import shutil

import pytest

from kvlab.memory.block_file import HEAD_BYTES, BadBlock
from tests.memory.disk_tiers import KEYS, LAYOUT, body, files, files_end_at, opened, put, restarted


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
