"""What a part must offer to stand in for a finished one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


class Takes(Protocol):
    """Anything that blocks can be taken from."""

    def take(self, count: int) -> list[int]: ...


@runtime_checkable
class Pool(Takes, Protocol):
    """A block pool: `kvlab.memory.BlockPool`, or a learner's own."""

    @property
    def num_free(self) -> int: ...

    def share(self, blocks: Iterable[int]) -> None: ...

    def release(self, blocks: Iterable[int]) -> None: ...
