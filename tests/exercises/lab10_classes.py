"""Answers to `HostTier` and `VirtualCache` of lab 10: right forms, and wrong ones with what must be said."""

_HOST = """
class HostTier:
    def __init__(self, num_blocks):
        self.n, self.places, self.done, self.order, self.pins = num_blocks, {}, set(), [], {}

    def __contains__(self, key):
        return key in self.done

    def store_begin(self, key):
        if key in self.places:
            return None
        if len(self.places) == self.n:
            for other in self.order:
                if self.pins.get(other, 0) == 0:
                    self.order.remove(other)
                    self.done.discard(other)
                    self.places.pop(other)
                    break
            else:
                return None
        self.places[key] = min(set(range(self.n)) - set(self.places.values()))
        return self.places[key]

    def store_done(self, key):
        self.done.add(key)
        self.order.append(key)

    def touch(self, key):
        self.order.remove(key)
        self.order.append(key)

    def pin(self, key):
        if key not in self.done:
            raise UsageError("not there")
        self.pins[key] = self.pins.get(key, 0) + 1
        return self.places[key]

    def unpin(self, key):
        self.pins[key] -= 1
"""

_ROWS = """
class HostTier:
    def __init__(self, num_blocks):
        self.rows = [None] * num_blocks  # [key, done, pins, used]
        self.clock = 0

    def row(self, key):
        for row in self.rows:
            if row is not None and row[0] == key:
                return row

    def __contains__(self, key):
        row = self.row(key)
        return row is not None and row[1]

    def store_begin(self, key):
        if self.row(key):
            return None
        if None in self.rows:
            place = self.rows.index(None)
        else:
            idle = [i for i, row in enumerate(self.rows) if row[1] and not row[2]]
            if not idle:
                return None
            place = min(idle, key=lambda i: self.rows[i][3])
        self.rows[place] = [key, False, 0, 0]
        return place

    def store_done(self, key):
        self.row(key)[1] = True
        self.touch(key)

    def touch(self, key):
        self.clock += 1
        self.row(key)[3] = self.clock

    def pin(self, key):
        if key not in self:
            raise UsageError(key)
        self.row(key)[2] += 1
        return self.rows.index(self.row(key))

    def unpin(self, key):
        self.row(key)[2] -= 1
"""

_VIRTUAL = """
class VirtualCache:
    def __init__(self, num_pages, page_bytes, token_bytes):
        self.num_pages, self.page_bytes, self.token_bytes = num_pages, page_bytes, token_bytes
        self.most, self.tokens = {}, {}

    def pages(self, tokens):
        return sum((tokens * width + self.page_bytes - 1) // self.page_bytes for width in self.token_bytes)

    @property
    def num_free(self):
        return self.num_pages - sum(self.pages(tokens) for tokens in self.tokens.values())

    def reserve(self, request, max_tokens):
        if request in self.most:
            raise UsageError("twice")
        self.most[request] = max_tokens
        self.tokens[request] = 0

    def grow(self, request, num_tokens):
        if num_tokens > self.most[request]:
            raise UsageError("too long")
        more = self.pages(num_tokens) - self.pages(self.tokens[request])
        if more > self.num_free:
            raise OutOfPages(more, self.num_free)
        self.tokens[request] = num_tokens
        return more

    def free(self, request):
        self.most.pop(request)
        return self.pages(self.tokens.pop(request))
"""

_LISTS = """
import math
class VirtualCache:
    def __init__(self, num_pages, page_bytes, token_bytes):
        self.num_free = num_pages
        self.page_bytes = page_bytes
        self.token_bytes = token_bytes
        self.requests = {}

    def reserve(self, request, max_tokens):
        if request in self.requests:
            raise UsageError("twice")
        self.requests[request] = {"max": max_tokens, "pages": [0 for _ in self.token_bytes]}

    def grow(self, request, num_tokens):
        one = self.requests[request]
        if num_tokens > one["max"]:
            raise UsageError("too long")
        need = [math.ceil(num_tokens * width / self.page_bytes) for width in self.token_bytes]
        new = sum(n - p for n, p in zip(need, one["pages"]))
        if new > self.num_free:
            raise OutOfPages(needed=new, free=self.num_free)
        one["pages"] = need
        self.num_free -= new
        return new

    def free(self, request):
        pages = sum(self.requests.pop(request)["pages"])
        self.num_free += pages
        return pages
"""


def _but(source: str, *changes: str) -> str:
    """`source` with pieces of it changed: old, new, old, new."""
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert source.count(old), old
        source = source.replace(old, new)
    return source


RIGHT_CLASSES = {"HostTier": [_HOST, _ROWS], "VirtualCache": [_VIRTUAL, _LISTS]}

WRONG_CLASSES = {
    "HostTier": [
        (_but(_HOST, "return key in self.done", "return key in self.places"), "store has only begun"),
        (_but(_HOST, "if self.pins.get(other, 0) == 0:", "if True:"), "Lets a pinned block leave"),
        (_but(_HOST, "self.pins[key] -= 1", "del self.pins[key]"), "Forgets all pins at the first unpin"),
        (_but(_HOST, "            else:\n                return None\n", "            else:\n"
              "                raise UsageError('full')\n"), "Raises when nobody may leave"),
        (_but(_HOST, "        self.order.remove(key)\n        self.order.append(key)\n", "        self.order[0]\n"),
         "first in, first out"),
        (_but(_HOST, "        if key not in self.done:\n            raise UsageError(\"not there\")\n", ""),
         "pin"),
        (_but(_ROWS, "if row[1] and not row[2]]", "if not row[2]]"), "store_begin"),
        (_but(_ROWS, "        if self.row(key):\n            return None\n", ""), "expected None"),
        (_but(_HOST, "def __contains__(self, key):", "def contains(self, key):"), "key in tier"),
        (_but(_HOST, "self.order.append(key)\n\n    def touch", "self.order.insert(0, key)\n\n    def touch"),
         "store_begin"),
        (_but(_HOST, "        if key in self.places:\n            return None\n", "        if key in self.places:\n"
              "            if key in self.done:\n                self.touch(key)\n            return None\n"),
         "store_begin of a stored block as a use"),
        (_but(_HOST, "        self.order.remove(key)\n        self.order.append(key)\n",
              "        if key in self.order:\n            self.order.remove(key)\n"
              "        self.done.add(key)\n        self.order.append(key)\n"),
         "which was never stored"),
        (_but(_HOST, "        return key in self.done\n", "        if key in self.order:\n            self.touch(key)\n"
              "        return key in self.done\n"), "is there is no use"),
        (_but(_HOST, "self.order, self.pins = num_blocks, {}, set(), [], {}",
              "self.order = num_blocks, {}, set(), []\n    pins = {}"), "pinned in one tier"),
        (_but(_HOST, "self.pins = num_blocks, {}, set(), [], {}", "self.pins = num_blocks, {}, set(), [], set()",
              "self.pins.get(other, 0) == 0", "other not in self.pins",
              "self.pins[key] = self.pins.get(key, 0) + 1", "self.pins.add(key)",
              "self.pins[key] -= 1", "self.pins.remove(key)"), "count the pins of each block"),
        (_but(_HOST, "            else:\n                return None\n", "            else:\n"
              "                raise OutOfPages(1, 0)\n"), "Raises when nobody may leave"),
    ],
    "VirtualCache": [
        (_but(_VIRTUAL, "sum((tokens * width + self.page_bytes - 1) // self.page_bytes for width in self.token_bytes)",
              "-(-tokens * sum(self.token_bytes) // self.page_bytes)"), "rounds once"),
        (_but(_VIRTUAL, "sum((tokens * width + self.page_bytes - 1) // self.page_bytes",
              "sum(tokens * width // self.page_bytes + 1"), "without tokens"),
        (_but(_LISTS, "math.ceil(num_tokens * width / self.page_bytes)", "num_tokens * width // self.page_bytes + 1"),
         "even when the last is just full"),
        (_but(_LISTS, "        self.num_free += pages\n", ""), "a leak"),
        (_but(_LISTS, "        if num_tokens > one[\"max\"]:\n            raise UsageError(\"too long\")\n", ""),
         "beyond the addresses"),
        (_but(_LISTS, "        return new\n", "        return sum(need)\n"), "Returns all its pages"),
        (_but(_LISTS, "OutOfPages(needed=new, free=self.num_free)", "OutOfPages(self.num_free, new)"),
         "changed places"),
        (_but(_LISTS, "raise OutOfPages(needed=new, free=self.num_free)", "return None"), "expected OutOfPages"),
        (_but(_LISTS, "zip(need, one[\"pages\"]))", "zip(need, [0] * 9))"), "Maps all its pages anew"),
        (_but(_LISTS, "self.num_free = num_pages", "self.free_pages = num_pages", "self.num_free", "self.free_pages"),
         "num_free"),
        (_but(_LISTS, "math.ceil(num_tokens * width / self.page_bytes)",
              "max(1, math.ceil(num_tokens * width / self.page_bytes))"), "no bytes need no page"),
        (_but(_LISTS, "            raise UsageError(\"too long\")\n", "            one[\"max\"] = num_tokens\n"
              "            raise UsageError(\"too long\")\n"), "refused call has changed"),
        (_but(_LISTS, "        self.requests = {}\n", "", "class VirtualCache:\n",
              "class VirtualCache:\n    requests = {}\n"), "a second, new cache refuses"),
    ],
}
