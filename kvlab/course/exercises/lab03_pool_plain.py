"""The block pool that the known mistakes start from."""

from __future__ import annotations

from kvlab.errors import OutOfBlocks, UsageError


class Plain:
    """A right one, in small steps, each of which a mistake may replace."""

    def __init__(self, num_blocks):
        self.free = list(range(num_blocks))
        self.counts = [0] * num_blocks

    @property
    def num_free(self):
        return len(self.free)

    def ref_count(self, block):
        return self.counts[block]

    def refuse(self, count):
        raise OutOfBlocks(count, len(self.free))

    def take(self, count):
        if count > len(self.free):
            return self.refuse(count)
        taken = [self.free.pop() for _ in range(count)]
        for block in taken:
            self.counts[block] = 1
        return taken

    def share(self, blocks):
        if any(self.counts[block] == 0 for block in blocks):
            raise UsageError("a free block has no owner")
        for block in blocks:
            self.counts[block] += 1

    def release(self, blocks):
        if any(blocks.count(block) > self.counts[block] for block in blocks):
            raise UsageError("more releases than owners")
        self.give_back(blocks)

    def give_back(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free.append(block)
