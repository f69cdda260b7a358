"""More pools that go wrong, with the advice that must follow: slips of the language, and halves of a pool."""

from tests.exercises.lab03_pools import DICTIONARY, but, until

POOL_SLIPS = [
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
