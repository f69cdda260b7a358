"""A block manager with two sequences, and the least that may stand in for its pool."""

from __future__ import annotations

from kvlab.errors import OutOfBlocks
from kvlab.memory import BlockManager


def mixed() -> BlockManager:
    """Two sequences whose blocks alternate: "a" has 6 tokens in blocks 0 and 2, "b" has 5 in blocks 1 and 3."""
    manager = BlockManager(8, 4)
    manager.admit("a", 4)
    manager.admit("b", 4)
    for _ in range(2):
        manager.append("a")
    manager.append("b")
    manager.check()
    return manager


class PlainPool:
    """The least that may stand in for a pool, as a learner would write it."""

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.holders = dict.fromkeys(range(num_blocks), 0)

    @property
    def num_free(self) -> int:
        return sum(not count for count in self.holders.values())

    def take(self, count: int) -> list[int]:
        free = [block for block, holders in self.holders.items() if not holders][::-1]
        if count > len(free):
            raise OutOfBlocks(count, len(free))
        self.share(free[:count])
        return free[:count]

    def share(self, blocks: list[int]) -> None:
        for block in blocks:
            self.holders[block] += 1

    def release(self, blocks: list[int]) -> None:
        for block in blocks:
            self.holders[block] -= 1

    def ref_count(self, block: int) -> int:
        return self.holders[block]
