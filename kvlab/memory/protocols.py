"""What a part must offer to stand in for a finished one; a learner's class need not derive from these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np


class Takes(Protocol):
    """Anything that blocks can be taken from, all or nothing."""

    def take(self, count: int) -> list[int]: ...


@runtime_checkable
class Pool(Takes, Protocol):
    """A block pool, such as `kvlab.memory.BlockPool` or a learner's own."""

    num_blocks: int

    @property
    def num_free(self) -> int: ...

    def share(self, blocks: Iterable[int]) -> None: ...

    def release(self, blocks: Iterable[int]) -> None: ...

    def ref_count(self, block: int) -> int: ...


@runtime_checkable
class Allocator(Protocol):
    """A contiguous allocator, such as `Arena`, `BuddyArena`, or a learner's own."""

    capacity: int

    @property
    def holes(self) -> list[tuple[int, int]]: ...

    def allocate(self, size: int) -> int: ...

    def free(self, start: int) -> None: ...


class Match(NamedTuple):
    """What a prefix index found: the first blocks of a table to be, and how many tokens they hold."""

    blocks: list[int]
    num_tokens: int


@runtime_checkable
class PrefixIndex(Protocol):
    """What finds blocks by the tokens in them, such as `PrefixCache`, `RadixCache`, or a learner's own.

    `match` leaves at least one token over (I7) and takes no hold; `publish` is told of the blocks of a table only when
    their tokens are all written (I8), and says which of them another block replaces; `evict` forgets the least
    recently used blocks that nobody holds; `check` walks everything.
    """

    def match(self, tokens: Sequence[int], tag: tuple[Hashable, ...] = ()) -> Match: ...

    def publish(
        self, tokens: Sequence[int], blocks: Sequence[int], tag: tuple[Hashable, ...] = ()
    ) -> dict[int, int]: ...

    def evict(self, count: int) -> int: ...

    def check(self) -> None: ...


class BlockLayout(NamedTuple):
    """What the bytes of a block mean: two engines may read each other's blocks only if all of this is equal.

    model: a fingerprint of weights and configuration. dtype: of keys and values, with their scales if they have any.
    block_size: slots. shapes: of each pool of a block, in the order of its bytes. block_bytes: of a block in all.
    """

    model: str
    dtype: str
    block_size: int
    shapes: tuple[tuple[int, ...], ...]
    block_bytes: int


@runtime_checkable
class Tier(Protocol):
    """A home for blocks: `HostTier`, `DiskTier`, or a learner's own beneath the same bytes.

    Places (`store_begin` to `check`) are handed out by one thread. Bytes (`write`, `read`, `erase`) are moved by one
    other, in the order in which it was asked; each of them may fail with `OSError`, and then the block is not there.
    """

    name: str
    num_blocks: int
    at_least: int
    on_evict: Callable[[Hashable, int], None] | None

    def __len__(self) -> int: ...

    def __contains__(self, key: Hashable) -> bool: ...

    def store_begin(self, key: Hashable) -> int | None: ...

    def store_done(self, key: Hashable) -> None: ...

    def store_failed(self, key: Hashable) -> None: ...

    def touch(self, key: Hashable) -> None: ...

    def pin(self, key: Hashable) -> int: ...

    def unpin(self, key: Hashable) -> None: ...

    def drop(self, key: Hashable) -> int: ...

    def stored(self) -> list[Hashable]: ...

    def storing(self) -> Collection[Hashable]: ...

    def pins(self) -> Mapping[Hashable, int]: ...

    def check(self) -> None: ...

    def open(self, layout: BlockLayout) -> None: ...

    def write(self, key: Hashable, place: int, data: np.ndarray) -> None: ...

    def read(self, key: Hashable, place: int) -> np.ndarray: ...

    def erase(self, key: Hashable, place: int) -> None: ...

    def close(self) -> None: ...
