"""A warm process that is killed again and again while it writes a disk tier: it reports what any block was wrong.

Run as a script: `disk_writer.py FOLDER KILLS SEED` prints how many blocks were loaded and compared, and how many files
were caught unfinished; it ends with 1 as soon as a block is loaded that is not what was stored. No torch is needed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from hashlib import sha256, shake_128
from pathlib import Path

import numpy as np

from kvlab.memory import BlockLayout, DiskTier, TierStack

BYTES = 48 * 1024
LAYOUT = BlockLayout("killed", "uint8", 16, ((BYTES,),), BYTES)
ROOM, KEYS = 12, 30


def key_of(number: int) -> bytes:
    """The key of block `number`."""
    return sha256(b"block %d" % number).digest()


def bytes_of(key: bytes) -> np.ndarray:
    """What must lie under `key`."""
    return np.frombuffer(shake_128(key).digest(BYTES), dtype=np.uint8)


def write_for_ever(folder: Path, seed: int) -> None:
    """Store blocks in a random order, until killed."""
    drawn = random.Random(seed)
    data = {key: bytes_of(key) for key in map(key_of, range(KEYS))}
    stack = TierStack([DiskTier(folder, ROOM, durable=seed % 2 == 0)], LAYOUT)
    while True:
        key = key_of(drawn.randrange(KEYS))
        if stack.wants(key):
            stack.store(key, data[key])
        stack.poll()


def loaded_right(folder: Path) -> int:
    """Load all there is and compare; returns how many blocks."""
    tier = DiskTier(folder, ROOM)
    tier.open(LAYOUT)
    tier.check()
    keys = tier.stored()
    for key in keys:
        assert isinstance(key, bytes)
        if not np.array_equal(tier.read(key, tier.pin(key)), bytes_of(key)):
            sys.exit(f"a wrong block was loaded: {key.hex()}")
        tier.unpin(key)
    tier.close()
    return len(keys)


def main() -> None:
    """Fork, wait a random while, kill, load everything; as often as was asked."""
    folder, kills, drawn = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    compared = unfinished = 0
    for number in range(kills):
        child = os.fork()
        if not child:
            write_for_ever(folder, number)
        time.sleep(0.003 + drawn.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        unfinished += len(list(folder.rglob("*.tmp")))
        compared += loaded_right(folder)
    print(compared, unfinished)


if __name__ == "__main__":
    main()
