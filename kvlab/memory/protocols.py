"""What a part must offer to stand in for a finished one; a learner's class need not derive from these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


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
