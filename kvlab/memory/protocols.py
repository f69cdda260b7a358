"""What a part must offer to stand in for a finished one; a learner's class need not derive from these."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


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
