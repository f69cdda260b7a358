"""A block as a file: its name, its head, and how one that is torn, damaged or another's is told from a right one.

Its name is the key in hex, with the ending ".kv", or ".tmp" until all of it is written. A head of 104 bytes comes
first: magic, digest of the layout, key, and a checksum (BLAKE2b) over these and the block's bytes, which follow.
"""

from __future__ import annotations

import os
from hashlib import blake2b, sha256

import numpy as np

from kvlab.errors import KVLabError

from .protocols import BlockLayout

MAGIC = b"kvlab\0\0\1"
"""The first bytes of each file: what it is, and the version of its format."""
DIGEST_BYTES = KEY_BYTES = CHECK_BYTES = 32
HEAD_BYTES = len(MAGIC) + DIGEST_BYTES + KEY_BYTES + CHECK_BYTES


class BadBlock(KVLabError, OSError):
    """A file does not hold the block that it should: it is of another engine, torn or damaged. Nothing was loaded."""


def layout_digest(layout: BlockLayout) -> bytes:
    """32 bytes that differ as soon as anything of two layouts does."""
    return sha256(repr(tuple(layout)).encode()).digest()


def key_of(stem: str) -> bytes | None:
    """The key of the block whose file is called `stem`, without its ending; None if that is no block's name."""
    try:
        key = bytes.fromhex(stem)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES and key.hex() == stem else None


def pack_block(digest: bytes, key: bytes, data: np.ndarray) -> tuple[bytes, memoryview]:
    """Head and body of a block's file, in this order."""
    label, body = _label(digest, key), np.ascontiguousarray(data).data.cast("B")
    return label + _checksum(label, body), body


def unpack_block(digest: bytes, key: bytes, content: bytes, block_bytes: int) -> np.ndarray:
    """The bytes of a block `[block_bytes]` uint8 out of its file's. `BadBlock` says what is wrong with it."""
    label = _label(digest, key)
    if len(content) != HEAD_BYTES + block_bytes:
        raise BadBlock(f"the file has {len(content)} bytes, a block's {HEAD_BYTES + block_bytes}")
    if content[: len(label)] != label:
        raise BadBlock("the file is of another model, type, block size, shape or block")
    body = memoryview(content)[HEAD_BYTES:]
    if content[len(label) : HEAD_BYTES] != _checksum(label, body):
        raise BadBlock("the file's checksum is not that of its bytes")
    return np.frombuffer(body, dtype=np.uint8)


def may_hold(path: str, digest: bytes, key: bytes, block_bytes: int) -> bool:
    """Whether size and head of a file are those of this block; its bytes are not looked at. Unreadable: False."""
    label = _label(digest, key)
    try:
        with open(path, "rb") as file:
            return os.fstat(file.fileno()).st_size == HEAD_BYTES + block_bytes and file.read(len(label)) == label
    except OSError:
        return False


def _label(digest: bytes, key: bytes) -> bytes:
    """The head without its checksum."""
    return MAGIC + digest + key


def _checksum(label: bytes, body: memoryview) -> bytes:
    check = blake2b(label, digest_size=CHECK_BYTES)
    check.update(body)
    return check.digest()
