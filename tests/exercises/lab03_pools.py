"""Block pools as learners write them. The wrong ones are a right one with one place changed."""

LISTS = '''
class BlockPool:
    def __init__(self, num_blocks):
        self.free = list(range(num_blocks))
        self.counts = [0] * num_blocks

    @property
    def num_free(self):
        return len(self.free)

    def take(self, count):
        if count > len(self.free):
            raise OutOfBlocks(count, len(self.free))
        taken = [self.free.pop() for _ in range(count)]
        for block in taken:
            self.counts[block] = 1
        return taken

    def share(self, blocks):
        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError(f"block {block} is free")
        for block in blocks:
            self.counts[block] += 1

    def release(self, blocks):
        for block in blocks:
            if blocks.count(block) > self.counts[block]:
                raise UsageError(f"block {block} has too few owners")
        for block in blocks:
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free.append(block)

    def ref_count(self, block):
        return self.counts[block]
'''

_FIRST_IN_FIRST_OUT = '''
from collections import Counter, deque
class BlockPool:
    def __init__(self, num_blocks):
        self.queue = deque(range(num_blocks))
        self.owners = Counter()
        self.num_free = num_blocks

    def take(self, count):
        if self.num_free < count:
            raise OutOfBlocks(needed=count, free=self.num_free)
        blocks = [self.queue.popleft() for _ in range(count)]
        self.owners.update(blocks)
        self.num_free -= count
        return blocks

    def share(self, blocks):
        if not all(self.owners[b] for b in blocks):
            raise UsageError("free block")
        self.owners.update(blocks)

    def release(self, blocks):
        wanted = Counter(blocks)
        if any(self.owners[b] < n for b, n in wanted.items()):
            raise UsageError("too few owners")
        self.owners.subtract(wanted)
        freed = [b for b in wanted if self.owners[b] == 0]
        self.queue.extend(freed)
        self.num_free += len(freed)

    def ref_count(self, block):
        return self.owners[block]
'''

_COUNTS_ONLY = '''
import numpy as np
class BlockPool:
    """No free list: a block with count 0 is free."""

    def __init__(self, num_blocks):
        self.refs = np.zeros(num_blocks, dtype=np.int64)

    @property
    def num_free(self):
        return (self.refs == 0).sum()

    def take(self, count):
        free = np.flatnonzero(self.refs == 0)
        if count > len(free):
            raise OutOfBlocks(count, len(free))
        chosen = np.random.default_rng(0).permutation(free)[:count]
        self.refs[chosen] = 1
        return list(chosen)

    def share(self, blocks):
        if any(self.refs[b] == 0 for b in blocks):
            raise UsageError("free")
        for b in blocks:
            self.refs[b] += 1

    def release(self, blocks):
        after = self.refs.copy()
        for b in blocks:
            after[b] -= 1
        if (after < 0).any():
            raise UsageError("too few owners")
        self.refs = after

    def ref_count(self, block):
        return self.refs[block]
'''

DICTIONARY = '''
class NobodyOwnsIt(UsageError):
    pass

class BlockPool:
    def __init__(self, num_blocks: int) -> None:
        self.available = set(range(num_blocks))
        self.used: dict[int, int] = {}

    @property
    def num_free(self) -> int:
        return len(self.available)

    def take(self, count: int) -> list[int]:
        if count > len(self.available):
            raise OutOfBlocks(count, len(self.available))
        result = []
        while len(result) < count:
            block = self.available.pop()
            self.used[block] = 1
            result.append(block)
        return result

    def share(self, blocks: list[int]) -> None:
        missing = [b for b in blocks if b not in self.used]
        if missing:
            raise NobodyOwnsIt(f"{missing}")
        for b in blocks:
            self.used[b] += 1

    def release(self, blocks: list[int]) -> None:
        used = dict(self.used)
        for b in blocks:
            if used.get(b, 0) == 0:
                raise NobodyOwnsIt(f"{b}")
            used[b] -= 1
        self.available |= {b for b, n in used.items() if n == 0}
        self.used = {b: n for b, n in used.items() if n > 0}

    def ref_count(self, block: int) -> int:
        return self.used.get(block, 0)
'''

RIGHT_POOLS = [LISTS, _FIRST_IN_FIRST_OUT, _COUNTS_ONLY, DICTIONARY]


def but(*changes: tuple[str, str]) -> str:
    source = LISTS
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def until(mark: str) -> str:
    return LISTS[: LISTS.index(mark)]


_ENOUGH = '''        if count > len(self.free):
            raise OutOfBlocks(count, len(self.free))
'''
_TAKEN = "        taken = [self.free.pop() for _ in range(count)]\n"
_SHARED = '''        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError(f"block {block} is free")
'''
_OWNED = '''        for block in blocks:
            if blocks.count(block) > self.counts[block]:
                raise UsageError(f"block {block} has too few owners")
'''
_BACK = '''            if self.counts[block] == 0:
                self.free.append(block)
'''

WRONG_POOLS = [
    (but((_ENOUGH, ""), (_TAKEN, '''        taken = []
        for _ in range(count):
            if len(self.free) == 0:
                raise OutOfBlocks(count, 0)
            taken.append(self.free.pop())
''')), "The ones it took are lost to everybody"),
    (but((_ENOUGH, "")), "Python's IndexError comes out halfway"),
    (but((_ENOUGH, ""), (_TAKEN, "        taken = self.free[:count]\n        self.free = self.free[count:]\n")),
     "Gives fewer blocks than asked"),
    (but(("            raise OutOfBlocks(count, len(self.free))", "            return None")), "Refuses with None"),
    (but(("            raise OutOfBlocks(count, len(self.free))",
     "            return []")), "Refuses with an empty list"),
    (but(("            raise OutOfBlocks(count, len(self.free))",
     "            print('out of blocks')\n            return")), "Refuses with None"),
    (but(("raise OutOfBlocks(count, len(self.free))",
     "raise ValueError('not enough')")), "The scheduler of lab 08 catches OutOfBlocks"),
    (but(("raise OutOfBlocks(count, len(self.free))",
     "raise MemoryError")), "raised MemoryError, expected OutOfBlocks"),
    (but(("raise OutOfBlocks(count, len(self.free))",
     "raise OutOfBlocks")), "made OutOfBlocks without its numbers (needed, free)"),
    (but(("raise OutOfBlocks(count, len(self.free))", "raise OutOfBlocks(len(self.free), count)")), "changed places"),
    (but(("raise OutOfBlocks(count, len(self.free))",
     "raise OutOfBlocks(count - len(self.free), len(self.free))")), "needed=1, free=4"),
    (but((_ENOUGH, "        assert count <= len(self.free)\n")), "raised AssertionError, expected OutOfBlocks"),
    (but(("count > len(self.free)", "count >= len(self.free)")), ">= where > is meant"),
    (but(("range(num_blocks)", "range(1, num_blocks + 1)"), ("[0] * num_blocks",
     "[0] * (num_blocks + 1)")), "Numbers the blocks from 1"),
    (but((_TAKEN, "        taken = self.free[:count]\n")), "num_free is 4, expected 3"),
    (but(("            self.counts[block] = 1\n", "            pass\n")), "ref_count of a[0] is 0, expected 1"),
    (but(("            self.counts[block] = 1\n",
     "            self.counts[block] += 2\n")), "ref_count of a[0] is 2, expected 1"),
    (but(("        return taken\n", "")), "returned None, expected a list of 1 block"),
    (but(("        return taken\n", "        return set(taken)\n")), "expected a list of 1 block"),
    (but(("        return taken\n",
     "        return taken[0] if count == 1 else taken\n")), "expected a list of 1 block"),
    (but((_BACK, "            self.free.append(block)\n")), "Frees a block at the first release"),
    (but((_BACK, "")), "never becomes free again"),
    (but(("self.counts[block] -= 1", "self.counts[block] = 0")), "Frees a block at the first release"),
    (but((_OWNED, ""), ("if self.counts[block] == 0:\n                self.free",
     "if self.counts[block] <= 0:\n                self.free")),
     "the double free"),
    (but((_OWNED, "")), "The count goes below 0"),
    (but((_OWNED, '''        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError("already free")
''')), "more often than it has owners"),
    (but((_OWNED, ""), ("            self.counts[block] -= 1", '''            if self.counts[block] == 0:
                raise UsageError("already free")
            self.counts[block] -= 1''')), "Refuses in the middle of the list"),
    (but((_OWNED, ""), ("            self.counts[block] -= 1", '''            if self.counts[block] == 0:
                continue
            self.counts[block] -= 1''')), "Passes over blocks that are free already"),
    (but((_OWNED, "        blocks = set(blocks)\n        if any(self.counts[b] == 0 for b in blocks):\n"
     "            raise UsageError('free')\n")),
     "A block that is named twice loses two owners"),
    (but((_OWNED, _OWNED.replace("UsageError", "ValueError")), (_SHARED, _SHARED.replace("UsageError",
     "ValueError"))), "know UsageError"),
    (but((_OWNED, _OWNED.replace("UsageError", "ValueError"))), "raised ValueError, expected UsageError"),
    (but((_SHARED, "")), "Shares a block that is free"),
    (but((_SHARED + "        for block in blocks:\n"
     "            self.counts[block] += 1", '''        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError("free")
            self.counts[block] += 1''')), "have an owner too many"),
    (but(("            self.counts[block] += 1", "            self.counts[block] = 2")), "A third owner makes it 3"),
    (but(("            self.counts[block] += 1", "            pass")), "ref_count of a[0] is 1, expected 2"),
    (but(("    @property\n", "")), "num_free is a method"),
    (but(("        return len(self.free)", "        len(self.free)")), "num_free is None, expected 4"),
    (but(("        return self.counts[block]",
     "        return self.counts")), "ref_count of a free block is [0, 0, 0, 0], expected 0"),
    (but(("        self.free = list(range(num_blocks))\n        self.counts = [0] * num_blocks",
           "        self.free.extend(range(num_blocks))\n        self.counts.extend([0] * num_blocks)"),
          ("    def __init__", "    free, counts = [], []\n\n    def __init__")),
     "create the lists in __init__"),
    (but(("        for block in blocks:\n            self.counts[block] -= 1\n" + _BACK, '''        while blocks:
            block = blocks.pop()
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free.append(block)
''')), "out of the list it was given"),
    (until("    def share"), "release() is not written yet. Right so far: take · each pool its own · take more"),
    (until("    def take") + "    def take(self, count):\n        ...\n", "take() is not written yet"),
    (until("    def release") + "    def release(self, blocks):\n        pass\n\n    def ref_count(self, block):\n"
     "        return self.counts[block]\n",
     "release() is not written yet"),
    (DICTIONARY.replace("self.used.get(block, 0)",
     "self.used[block]"), "ref_count of a free block raised KeyError, expected 0"),
    (DICTIONARY.replace("    def __init__(self, num_blocks: int) -> None:",
     "    def __init__(self) -> None:\n        num_blocks = 4"),
     "TypeError"),
]
