"""Arenas as learners write them. The wrong ones are a right one with one place changed."""

_LIST = '''
class FirstFitArena:
    def __init__(self, capacity):
        self.capacity = capacity
        self.holes = [(0, capacity)]
        self.sizes = {}

    def allocate(self, size):
        for i, (start, length) in enumerate(self.holes):
            if length >= size:
                if length == size:
                    del self.holes[i]
                else:
                    self.holes[i] = (start + size, length - size)
                self.sizes[start] = size
                return start
        free = sum(length for _, length in self.holes)
        raise OutOfMemory(size, free, max((length for _, length in self.holes), default=0))

    def free(self, start):
        if start not in self.sizes:
            raise UsageError(f"no piece starts at {start}")
        size = self.sizes.pop(start)
        self.holes.append((start, size))
        self.holes.sort()
        joined = [self.holes[0]]
        for start, size in self.holes[1:]:
            last_start, last_size = joined[-1]
            if last_start + last_size == start:
                joined[-1] = (last_start, last_size + size)
            else:
                joined.append((start, size))
        self.holes = joined
'''

_SLOTS = '''
class FirstFitArena:
    def __init__(self, capacity):
        self.slots = [None] * capacity

    @property
    def holes(self):
        found, start = [], None
        for i, owner in enumerate(self.slots + ["end"]):
            if owner is None and start is None:
                start = i
            if owner is not None and start is not None:
                found.append((start, i - start))
                start = None
        return found

    def allocate(self, size):
        for start, length in self.holes:
            if length >= size:
                for i in range(start, start + size):
                    self.slots[i] = start
                return start
        sizes = [length for _, length in self.holes]
        raise OutOfMemory(size, sum(sizes), max(sizes, default=0))

    def free(self, start):
        if start not in self.slots:
            raise UsageError("nothing there")
        self.slots = [None if owner == start else owner for owner in self.slots]
'''

_PIECES = '''
class FirstFitArena:
    """Keeps the pieces only; holes are what lies between them."""

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._pieces: dict[int, int] = {}

    @property
    def holes(self):
        result, at = [], 0
        for start in sorted(self._pieces):
            if start > at:
                result.append([at, start - at])
            at = start + self._pieces[start]
        if at < self._capacity:
            result.append([at, self._capacity - at])
        return tuple(result)

    def allocate(self, size: int) -> int:
        fitting = [hole[0] for hole in self.holes if hole[1] >= size]
        if not fitting:
            sizes = [hole[1] for hole in self.holes] or [0]
            raise OutOfMemory(needed=size, free=sum(sizes), largest=max(sizes))
        self._pieces[fitting[0]] = size
        return fitting[0]

    def free(self, start: int) -> None:
        try:
            del self._pieces[start]
        except KeyError:
            raise UsageError(f"{start}") from None
'''

_NUMPY = '''
import numpy as np
class FirstFitArena:
    def __init__(self, capacity):
        self.used = np.zeros(capacity, dtype=bool)
        self.pieces = {}

    @property
    def holes(self):
        edges = np.flatnonzero(np.diff(np.concatenate(([1], self.used.astype(int), [1]))))
        return [(a, b - a) for a, b in zip(edges[::2], edges[1::2])]

    def allocate(self, size):
        for start, length in self.holes:
            if length >= size:
                self.used[start:start + size] = True
                self.pieces[int(start)] = size
                return start
        raise OutOfMemory(size, int((~self.used).sum()), max([n for _, n in self.holes], default=0))

    def free(self, start):
        if start not in self.pieces:
            raise UsageError("unknown")
        self.used[start:start + self.pieces.pop(start)] = False
'''

RIGHT_ARENAS = [_LIST, _SLOTS, _PIECES, _NUMPY]


def _but(*changes: tuple[str, str]) -> str:
    source = _LIST
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


_JOIN = _LIST[_LIST.index("        joined = "):]
_RAISE = _LIST[_LIST.index("        free = sum"):_LIST.index("    def free")]

WRONG_ARENAS = [
    (_but((_JOIN, "")), "Nothing is coalesced"),
    (_but((_JOIN, '''        i = self.holes.index((start, size))
        if i + 1 < len(self.holes) and self.holes[i + 1][0] == start + size:
            self.holes[i:i + 2] = [(start, size + self.holes[i + 1][1])]
''')), "but not the one on its left"),
    (_but((_JOIN, '''        i = self.holes.index((start, size))
        if i > 0 and sum(self.holes[i - 1]) == start:
            self.holes[i - 1:i + 1] = [(self.holes[i - 1][0], self.holes[i - 1][1] + size)]
''')), "but not the one on its right"),
    (_but((_JOIN, '''        i = self.holes.index((start, size))
        if i > 0 and sum(self.holes[i - 1]) == start:
            self.holes[i - 1:i + 1] = [(self.holes[i - 1][0], self.holes[i - 1][1] + size)]
        elif i + 1 < len(self.holes) and self.holes[i + 1][0] == start + size:
            self.holes[i:i + 2] = [(start, size + self.holes[i + 1][1])]
''')), "Joins one neighbour and stops"),
    (_but(("enumerate(self.holes):", "sorted(enumerate(self.holes), key=lambda h: h[1][1]):")), "best fit"),
    (_but(("enumerate(self.holes):",
     "sorted(enumerate(self.holes), key=lambda h: -h[1][1]):")), "largest hole is taken"),
    (_but(("self.holes[i] = (start + size, length - size)", "self.holes[i] = (start, length - size)"),
          ("                self.sizes[start] = size\n                return start",
           "                self.sizes[start + length - size] = size\n                return start + length - size")),
     "from the end of the hole"),
    (_but(("if length == size:", "if False:")), "a hole of 0 slots"),
    (_but(("if length >= size:", "if length > size:")), "> where >= is meant"),
    (_but(("        self.holes.sort()\n", "")), "holes"),
    (_but((_RAISE, "        return None\n\n")), "answered with None"),
    (_but((_RAISE, "        raise MemoryError('full')\n\n")), "Callers catch OutOfMemory"),
    (_but((_RAISE, "        raise OutOfMemory('full')\n\n")),
     "made OutOfMemory without its numbers (needed, free, largest)"),
    (_but((_RAISE, "        print('out of memory')\n\n")), "answered with None"),
    (_but(("        raise OutOfMemory(size, free,",
     "        raise OutOfMemory(free, size,")), "expected needed=9, free=8, largest=8"),
    (_but(("max((length for _, length in self.holes), default=0)", "free")), "largest="),
    (_but(("            raise UsageError(f\"no piece starts at {start}\")",
     "            return")), "hides a bug of the caller"),
    (_but(("        if start not in self.sizes:\n            raise UsageError(f\"no piece starts at {start}\")\n", "")),
     "but with KeyError"),
    (_but(("self.sizes.pop(start)", "self.sizes[start]")), "freed again"),
    (_but(("        self.holes = [(0, capacity)]\n        self.sizes = {}",
     "        if not self.holes:\n            self.holes.append((0, capacity))"),
          ("    def __init__", "    holes, sizes = [], {}\n\n    def __init__")), "second, new arena is not empty"),
    (_but(("self.holes = [(0, capacity)]", "self.holes = []")), "a new arena has holes []"),
    (_but(("self.holes = [(0, capacity)]", "self.holes = [(0, capacity - 1)]")), "expected [(0, 10)]"),
    (_but(("                return start\n", "")), "allocate(4) was refused, but the hole at 0 has 10 slots"),
    (_LIST[:_LIST.index("    def free")], "free() is not written yet"),
    (_LIST[:_LIST.index("    def free")] + "    def free(self, start):\n        ...\n", "free() is not written yet"),
    (_LIST[:_LIST.index("    def allocate")] + "    def allocate(self, size):\n        pass\n",
     "allocate() is not written yet"),
    (_LIST.replace("self.holes", "self.gaps"), "has no `holes`"),
    (_SLOTS.replace("    @property\n", ""), "`holes` is a method"),
    (_SLOTS.replace("found.append((start, i - start))", "found.append((start, i))"), "expected [(4, 6)]"),
    (_SLOTS.replace("return found", "return dict(found)"), "`holes` is"),
    (_but(("self.holes[i] = (start + size, length - size)",
           "self.holes = [*self.holes[:i], *self.holes[i + 1:], (start + size, length - size)]")),
     "keep the holes sorted after allocate too"),
    (_but(("        raise OutOfMemory(size, free, max((length for _, length in self.holes), default=0))",
           "        raise OutOfMemory(size, max((length for _, length in self.holes), default=0), free)")),
     "free and largest have changed places"),
    (_but(("max((length for _, length in self.holes), default=0)", "max([length for _, length in self.holes])")),
     "default=0"),
    (_but(("max((length for _, length in self.holes), default=0)", "max(self.holes)[1] if self.holes else 0")),
     "compares starts first"),
    (_but((_JOIN, '''        for i in range(len(self.holes) - 1):
            if sum(self.holes[i]) == self.holes[i + 1][0]:
                self.holes[i] = (self.holes[i][0], self.holes[i][1] + self.holes[i + 1][1])
                del self.holes[i + 1]
''')), "The list gets shorter while the loop counts to its old length"),
    (_but(("                self.sizes[start] = size\n", "")), "free(0) was refused, but a piece begins there"),
    (_LIST[:_LIST.index("    def free")].replace("if length >= size:", "if length > size:")
     + "    def free(self, start):\n        ...\n", "> where >= is meant"),
]
