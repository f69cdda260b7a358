"""The disk as a tier: one file for each block, which is whole and right or is never loaded.

A file (`kvlab.memory.block_file`) is written under another name, brought to the disk, and renamed when it is complete.
Its head says what engine it is for and which block it is; a checksum over head and bytes is compared at each load. So
a process that is killed, a disk that fills up, a flipped bit or a file of another model costs a block that must be
computed, never a wrong one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, SupportsIndex

import numpy as np

from kvlab.errors import UsageError

from .block_file import KEY_BYTES, key_of, layout_digest, may_hold, pack_block, unpack_block
from .protocols import BlockLayout
from .tier_policy import Eviction
from .tiers import TierPlaces


class Found(NamedTuple):
    """A file that may hold the block of `key`: only a load shows whether its bytes are right.

    used: when it was stored or last loaded, in nanoseconds.
    """

    used: int
    key: bytes


class DiskTier(TierPlaces):
    """`num_blocks` blocks as files under `path`, to be found again by the next engine of the same model and layout.

    Each layout has a folder of its own, which is the tier's: what lies there and is no whole block is removed. Two
    processes that want the same one at a time: the second is refused with `UsageError`, as is a path that cannot be
    used. durable: each file is brought to the disk before it counts (fsync); without that a power cut costs what was
    written last, and the checksums see to it that it costs no more.
    """

    name = "disk"

    def __init__(
        self,
        path: str | os.PathLike[str],
        num_blocks: SupportsIndex,
        policy: str | Callable[[], Eviction] = "lru",
        *,
        durable: bool = True,
        at_least: int = 1,
    ) -> None:
        super().__init__(num_blocks, policy, at_least=at_least)
        self.path, self.durable = Path(path), durable
        self.folder: Path | None = None
        """Where the blocks of the layout that was opened lie."""
        self._digest, self._block_bytes = b"", 0
        self._lock: IO[bytes] | None = None

    def open(self, layout: BlockLayout) -> None:
        """Find the blocks that earlier engines of the same layout left, the most recently used if there is no room."""
        if self.folder is not None:
            raise UsageError("this disk tier serves another engine already")
        self._digest, self._block_bytes = layout_digest(layout), layout.block_bytes
        folder = self.path / self._digest.hex()[:32]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _only_one(folder)
            self.folder = folder
            found = sorted(self._scan(folder))
            for _, key in found[: max(0, len(found) - self.num_blocks)]:
                self.erase(key, 0)
        except OSError as error:
            self.close()
            raise UsageError(f"a disk tier cannot use {self.path}: {error}") from None
        for _, key in found[-self.num_blocks :]:
            self.store_begin(key)
            self.store_done(key)

    def store_begin(self, key: Hashable) -> int | None:
        """As `TierPlaces.store_begin`, for keys of 32 bytes such as `chain_sha256` gives; others: `UsageError`."""
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise UsageError(f"blocks on disk have keys of {KEY_BYTES} bytes, not {key!r:.60}")
        return super().store_begin(key)

    def write(self, key: Hashable, place: int, data: np.ndarray) -> None:
        """Write a block's file. If that fails, `OSError` says why and no trace of it is left."""
        file = self._file(key)
        unfinished = file.with_suffix(".tmp")
        if data.nbytes != self._block_bytes:
            raise UsageError(f"a block has {self._block_bytes} bytes, not {data.nbytes}")
        try:
            with unfinished.open("wb") as out:
                for part in pack_block(self._digest, key, data):  # type: ignore[arg-type]  # store_begin saw to it
                    out.write(part)
                out.flush()
                if self.durable:
                    os.fsync(out.fileno())
            unfinished.replace(file)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise

    def read(self, key: Hashable, place: int) -> np.ndarray:
        """A block's bytes. A file that is gone or cannot be read: `OSError`; one that is not right: `BadBlock`."""
        file = self._file(key)
        data = unpack_block(self._digest, key, file.read_bytes(), self._block_bytes)  # type: ignore[arg-type]
        with suppress(OSError):
            os.utime(file)  # the next engine is to know that it was used
        return data

    def erase(self, key: Hashable, place: int) -> None:
        """Remove a block's file, if it is there."""
        self._file(key).unlink(missing_ok=True)

    def close(self) -> None:
        """Leave the files to the next engine, and the folder to other processes."""
        self.forget_all()
        self.folder = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _scan(self, folder: Path) -> Iterator[Found]:
        """What may be blocks of this layout; whatever else bears the name of a block is removed."""
        with os.scandir(folder) as entries:
            for entry in entries:
                name, _, kind = entry.name.partition(".")
                if kind not in ("kv", "tmp"):
                    continue
                key = key_of(name)
                if kind == "kv" and key is not None and may_hold(entry.path, self._digest, key, self._block_bytes):
                    yield Found(entry.stat().st_mtime_ns, key)
                else:
                    with suppress(OSError):
                        os.unlink(entry.path)

    def _file(self, key: Hashable) -> Path:
        if self.folder is None:
            raise UsageError("this tier has no folder yet: an engine opens it, or open(layout)")
        return self.folder / f"{key.hex()}.kv"  # type: ignore[attr-defined]  # store_begin lets only bytes in


def _only_one(folder: Path) -> IO[bytes]:
    """A lock on `folder` that lasts as long as the file is open and the process lives. `UsageError` if others have it.

    Where the system has no such locks (Windows) there is none, and it is for the caller to keep processes apart.
    """
    lock: Any = (folder / "lock").open("ab")
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except BlockingIOError:
        lock.close()
        raise UsageError(f"another engine uses the disk tier {folder}") from None
    return lock
