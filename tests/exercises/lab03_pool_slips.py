"""More pools that go wrong, with the advice that must follow: refusals that come too late, slips of the language, and
halves of a pool."""

from tests.exercises.lab03_pools import DICTIONARY, LISTS, but, until

_RELEASE = LISTS[LISTS.index("    def release"):LISTS.index("    def ref_count")]
_SHARE = LISTS[LISTS.index("    def share"):LISTS.index("    def release")]
_ONE_BY_ONE = """    def release(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free.append(block)
            elif self.counts[block] < 0:
                raise UsageError("nobody owns it")

"""
_LOOKS_IN_THE_LOOP = """    def release(self, blocks):
        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError("nobody owns it")
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free.append(block)

"""
_LOWERS_ALL = """    def release(self, blocks):
        for block in blocks:
            self.counts[block] -= 1
        if min(self.counts) < 0:
            raise UsageError("nobody owns one of them")
        for block in blocks:
            if self.counts[block] == 0:
                self.free.append(block)

"""
_SHARES_IN_THE_LOOP = """    def share(self, blocks):
        for block in blocks:
            if self.counts[block] == 0:
                raise UsageError("nobody owns it")
            self.counts[block] += 1

"""

POOL_SLIPS = [
    (but((_RELEASE, _ONE_BY_ONE)), "Takes one from a count, and then looks"),
    (but((_RELEASE, _ONE_BY_ONE), (_SHARE, _SHARES_IN_THE_LOOP)), "then release; the same in share"),
    (but((_RELEASE, _LOOKS_IN_THE_LOOP), (_SHARE, _SHARES_IN_THE_LOOP)), "Both share and release refuse in the middle"),
    (but((_RELEASE, _LOWERS_ALL.replace("in blocks:\n            if", "in set(blocks):\n            if"))),
     "Lowers all counts, and then looks"),
    (but((_RELEASE, _LOWERS_ALL)), "so freed twice"),
    (but((_RELEASE, _ONE_BY_ONE.replace("-= 1", "= max(self.counts[block] - 1, -1)").replace("< 0", "== -1")
          .replace("raise", "self.counts[block] = -7\n                raise"))),
     "Next: refuse a block that nobody owns, before anything changes"),
    (but(("taken = [self.free.pop() for _ in range(count)]", "taken = self.free[:count]\n        del self.free[0]")),
     "after take(2) num_free is 3, expected 2"),
    (but(("        self.counts = [0] * num_blocks\n",
     "        self.counts = [0] * num_blocks\n        self.out = []\n"),
          ("        return taken\n",
           "        self.out.clear()\n        self.out.extend(taken)\n        return self.out\n")),
     "Returns the same list each time"),
    (but(("            raise OutOfBlocks(count, len(self.free))",
     "            raise RuntimeError('no')")), "OutOfBlocks"),
    (but(("        if count > len(self.free):", "        if count > len(self.free) or not self.free:")),
     "take(0) was refused, expected []: asking for none always works."),
    (but(("OutOfBlocks(count, len(self.free))", "OutOfBlocks(count, count - len(self.free))")),
     "Next: free is what is free at that moment"),
    (but(("OutOfBlocks(count, len(self.free))", "OutOfBlocks(count - len(self.free), len(self.free))")),
     "Says how many are missing"),
    (but(("        return taken\n", "        return tuple(taken)\n")), "Next: return a list."),
    (but(("        return taken\n", "        return taken[0] if count == 1 else taken\n")),
     "Next: return a list, also for one block"),
    (but(("list(range(num_blocks))", "[]")), "Next: make all blocks free in __init__"),
    (but(("        for block in blocks:\n            if blocks.count(block) > self.counts[block]:\n"
           "                raise UsageError(f\"block {block} has too few owners\")\n        for block in blocks:\n"
           "            self.counts[block] -= 1\n            if self.counts[block] == 0:\n"
           "                self.free.append(block)",
           "        self.counts[blocks] -= 1\n        self.free.append(blocks)")),
     "Next: blocks is a list: go through its items"),
    (but(("            self.counts[block] = 1\n", "            counts[block] = 1\n")), "Next: write self.counts"),
    (but(("    def take(self, count)", "    def take(self)"), ("        if count >",
     "        count = 1\n        if count >")),
     "Next: keep the parameters of take() as they were"),
    (DICTIONARY.replace("self.used.get(block, 0)", "self.used[block]"), "Next: let ref_count of a free block be 0"),
    (until("    def share") + "    def share(self, blocks):\n        ...\n\n    def release(self, blocks):\n"
     "        ...\n\n"
     "    def ref_count(self, block):\n        ...\n",
     "release() is not written yet. Right so far: take · each pool its own · take more · too few blocks."),
    (until("    def share").replace("        if count > len(self.free):\n"
     "            raise OutOfBlocks(count, len(self.free))\n", "")
     + "    def share(self, blocks):\n        ...\n\n    def ref_count(self, block):\n        ...\n",
     "Nothing looks whether there are enough blocks"),
]
