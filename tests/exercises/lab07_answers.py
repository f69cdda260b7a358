"""Answers to the exercises of lab 07 as learners give them; the wrong ones with what the verdict must say."""

from tests.exercises.lab01_answers import given, wrong
from tests.exercises.lab07_trees import INSERT_RIGHT, INSERT_WRONG, MATCH_RIGHT, MATCH_WRONG

_HASH = "block_hashes(tokens, block_size, tag=())"
_HIT = "longest_hit(hashes, block_of, num_tokens, block_size)"
_EVICT = "evict(cached, count)"
_PICK = "pick_next(found, overtaken, patience)"

_SHA = "from hashlib import sha256\ndef h(x):\n    return sha256(repr(x).encode()).hexdigest()\n"
_LOOP = "keys, before = [], {start}\nfor i in range(len(tokens) // block_size):\n"
_LOOP += "    block = tokens[i * block_size : (i + 1) * block_size]\n"


def _chain(new: str, start: str = "tag", before: str = "before") -> str:
    """The usual loop with another way to make a key."""
    return _SHA + _LOOP.format(start=start) + f"    {before} = {new}\n    keys.append({before})\nreturn keys"


_FEW = "hashes[: (num_tokens - 1) // block_size]"
_WALK = "out = []\nfor k in hashes:\n    if k not in block_of:\n        break\n    out.append(block_of[k])\n"
_LEFT = "left, gone = list(cached), []\nwhile len(gone) < count:\n"
_ONE = "    if not ends:\n        break\n    one = min(ends, key=lambda e: e.last_used)\n"
_TAKE = "    left.remove(one)\n    gone.append(one.block)\nreturn gone"
_ENDS = "    parents = {e.parent for e in left}\n"
_ENDS += "    ends = [e for e in left if e.owners == 0 and e.block not in parents]\n"

RIGHT = {
    "block_hashes": given(
        _HASH,
        _chain("h((before, block))"),
        _chain("(before, tuple(block))"),
        "full = len(tokens) // block_size\n"
        "return [(tag, tuple(tokens[: (i + 1) * block_size])) for i in range(full)]",
        "import hashlib\nm, keys = hashlib.sha256(repr(tag).encode()), []\n"
        "for end in range(block_size, len(tokens) + 1, block_size):\n"
        "    m.update(repr(tokens[end - block_size : end]).encode())\n    keys.append(m.digest())\nreturn keys",
        "keys, before = [], hash(tag)\nfor end in range(block_size, len(tokens) + 1, block_size):\n"
        "    before = hash((before, *tokens[end - block_size : end]))\n    keys.append(before)\nreturn keys",
        "from kvlab.memory import chain_sha256, token_bytes\nkeys, key = [], repr(tag).encode()\n"
        "while (len(keys) + 1) * block_size <= len(tokens):\n"
        "    key = chain_sha256(key, token_bytes(tokens[len(keys) * block_size :][:block_size]))\n"
        "    keys.append(key)\nreturn keys",
    ),
    "longest_hit": given(
        _HIT,
        "blocks = []\nfor i, key in enumerate(hashes):\n"
        "    if key not in block_of or (i + 1) * block_size >= num_tokens:\n        break\n"
        "    blocks.append(block_of[key])\nreturn blocks",
        "from itertools import takewhile\n"
        "found = [block_of[k] for k in takewhile(lambda k: k in block_of, hashes)]\n"
        "if len(found) * block_size == num_tokens:\n    found.pop()\nreturn found",
        "out = []\nfor key in hashes:\n    block = block_of.get(key)\n    if block is None:\n        break\n"
        "    out.append(block)\nwhile len(out) * block_size >= num_tokens:\n    out.pop()\nreturn out",
    ),
    "evict": given(
        _EVICT,
        _LEFT + _ENDS + _ONE + _TAKE,
        "gone = []\nfor _ in range(count):\n    ends = [e for e in cached if e.owners == 0\n"
        "            and e.block not in gone\n"
        "            and not any(o.parent == e.block for o in cached if o.block not in gone)]\n    if ends:\n"
        "        ends.sort(key=lambda e: (e.last_used, e.block))\n        gone.append(ends[0].block)\nreturn gone",
        "import heapq\nby = {e.block: e for e in cached}\nkids = {}\nfor e in cached:\n"
        "    kids[e.parent] = kids.get(e.parent, 0) + 1\n"
        "heap = [(e.last_used, e.block) for e in cached if not e.owners and not kids.get(e.block)]\n"
        "heapq.heapify(heap)\ngone = []\nwhile heap and len(gone) < count:\n    _, b = heapq.heappop(heap)\n"
        "    gone.append(b)\n    p = by.get(by[b].parent)\n    if p:\n        kids[p.block] -= 1\n"
        "        if not kids[p.block] and not p.owners:\n            heapq.heappush(heap, (p.last_used, p.block))\n"
        "return gone",
    ),
    "radix_match": MATCH_RIGHT,
    "radix_insert": INSERT_RIGHT,
    "pick_next": given(
        _PICK,
        "late = [i for i, n in enumerate(overtaken) if n >= patience]\nend = late[0] + 1 if late else len(found)\n"
        "return found.index(max(found[:end]))",
        "import numpy as np\nlate = np.array(overtaken) >= patience\n"
        "end = int(late.argmax()) + 1 if late.any() else len(found)\nreturn int(np.argmax(found[:end]))",
        "best = None\nfor i in range(len(found)):\n    if best is None or found[i] > found[best]:\n        best = i\n"
        "    if overtaken[i] >= patience:\n        return best\nreturn best",
    ),
}

WRONG = {
    "block_hashes": wrong(
        _HASH,
        (_chain("h((block, tag))", "None", "key"), "Each block is hashed by itself"),
        ("return [hash(tuple(tokens[i : i + block_size])) for i in range(0, len(tokens) - block_size + 1, block_size)]",
         "Each block is hashed by itself. Its keys and values depend on the tag"),
        (_chain("h((i, block, tag))", "None", "key"), "Uses the block's number for its past"),
        (_SHA + "keys, before = [], tag\nfor i in range(0, len(tokens), block_size):\n"
         "    before = h((before, tokens[i : i + block_size]))\n    keys.append(before)\nreturn keys",
         "Hashes the block that is not full yet"),
        (_chain("h((before, block))", "None"), "The tag is not used"),
        (_chain("h((before, block))", "''.join(map(str, tag))"), "Glues the parts of the tag together"),
        (_chain("h((before, sum(block)))"), "Looks like a sum"),
        (_chain("h((before, sorted(block)))"), "Loses the order of the tokens"),
        (_chain("h((before, set(block)))"), "although the blocks hold different tokens"),
        (_chain("h(str(before) + ''.join(map(str, block)))"), "Glues the digits of the tokens together"),
        (_chain("h((before, block))") + "[-1]", "expected a list with one key for each full block"),
        (_chain("h((before, block))").replace("return keys", "return before"), "Next: return a list of keys"),
        (_chain("[before, block]"), "what a dictionary takes as a key"),
        (_chain("h((before, block))").replace("return keys", "print(keys)"), "is a `return` missing?"),
        (_chain("h((before, block, id(block)))"), "called twice, returned other keys"),
        (_SHA + "full = len(tokens) // block_size\nreturn [h((tokens, i, tag)) for i in range(full)]",
         "Each key knows the whole text"),
        (_chain("h((before, tokens))"), "Each key knows the whole text"),
        (_chain("h((before, block))").replace("range(len(tokens)", "range(1, len(tokens)"), "begin at block 0"),
        (_chain("before ^ hash(tuple(block))", "hash(tag)"), "expected different keys"),
        ("import hashlib\nreturn [hashlib.sha256(tokens[i : i + block_size]).hexdigest()"
         " for i in range(0, len(tokens), block_size)]", "TypeError"),

        ("import hashlib\nh, keys = hashlib.sha256(repr(tag).encode()), []\n"
         "for end in range(block_size, len(tokens) + 1, block_size):\n"
         "    h.update(repr(tokens[end - block_size : end]).encode())\n    keys.append(h)\nreturn keys",
         "returned a hash object as key 0"),
        (_chain("h((before, block[-1]))"), "although the blocks hold different tokens"),
    ),
    "longest_hit": wrong(
        _HIT,
        ("return [block_of[k] for k in hashes if k in block_of]", "Goes on after a miss, and leaves no token"),
        ("return [block_of[k] for k in " + _FEW + " if k in block_of]",
         "Goes on after a miss. The table would have a gap"),
        (_WALK + "return out",
         "leaves no token to compute"),
        ("out = []\nfor k in hashes:\n    if k not in block_of:\n        return out\n    out.append(block_of[k])",
         "returned nothing (None)"),
        ("out = []\nfor k in hashes[:-1]:\n    if k not in block_of:\n        break\n    out.append(block_of[k])\n"
         "return out", "Never looks at the last full block"),
        (_WALK + "return out[:-1]", "Always gives up the last block"),
        ("out = []\nfor k in " + _FEW + ":\n    if not block_of.get(k):\n        break\n"
         "    out.append(block_of[k])\nreturn out", "Takes block 0 for a miss"),
        ("n = 0\nfor k in " + _FEW + ":\n    if k not in block_of:\n        break\n    n += 1\n"
         "return n", "Gives how many"),
        ("n = 0\nfor k in " + _FEW + ":\n    if k not in block_of:\n        break\n    n += 1\n"
         "return hashes[:n]", "Gives hashes"),
        ("return [block_of[k] for k in hashes[: (num_tokens - 1) // block_size]]", "KeyError"),
        (_WALK + "if len(out) == len(hashes):\n    out.pop()\nreturn out", "IndexError"),
        (_WALK + "if hashes and len(out) == len(hashes):\n    out.pop()\nreturn out",
         "Never looks at the last full block"),
        (_WALK + "if len(out) * block_size == num_tokens:\n    return []\nreturn out", "Throws a full hit away"),
        ("return [block_of.get(k) for k in hashes[: (num_tokens - 1) // block_size]]", "Puts None"),
    ),
    "evict": wrong(
        _EVICT,
        ("idle = [e for e in cached if e.owners == 0]\nidle.sort(key=lambda e: e.last_used)\n"
         "return [e.block for e in idle[:count]]", "Evicts a head before its tail"),
        ("return [e.block for e in sorted(cached, key=lambda e: e.last_used)][:count]", "Looks at the time alone"),
        (_LEFT + _ENDS + "    if not ends:\n        break\n    one = max(ends, key=lambda e: e.last_used)\n" + _TAKE,
         "Evicts the most recently used"),
        (_LEFT + _ENDS + "    one = min(ends, key=lambda e: e.last_used)\n" + _TAKE,
         "Next: stop when no block may go (`if not ends: break`)"),
        (_LEFT + _ENDS + "    one = sorted(ends, key=lambda e: e.last_used)[0]\n" + _TAKE,
         "Next: stop when no block may go (`if not ends: break`)"),
        (_LEFT + _ENDS.replace("for e in left}", "for e in left if e.parent}") + _ONE + _TAKE,
         "Takes parent 0 for none: 0 is false in Python"),
        (_LEFT.replace("list(cached)", "cached") + _ENDS + _ONE + _TAKE,
         "changes `cached`, which is the caller's list"),
        ("cached.sort(key=lambda e: e.last_used)\n" + _LEFT + _ENDS + _ONE + _TAKE, "Next: work on a copy"),
        (_LEFT + _ENDS.replace("e.owners == 0 and ", "") + "    if not ends:\n        break\n"
         "    one = min(ends, key=lambda e: e.last_used)\n" + _TAKE, "Evicts a block that somebody owns"),
        ("parents = {e.parent for e in cached}\n"
         "ends = [e for e in cached if not e.owners and e.block not in parents]\n"
         "ends.sort(key=lambda e: e.last_used)\nreturn [e.block for e in ends][:count]", "Looks once which blocks"),
        (_LEFT + _ENDS + _ONE + _TAKE.replace("one.block", "one"), "Gives whole entries"),
        (_LEFT + _ENDS + _ONE.replace("break", "return []") + _TAKE,
         "Gives nothing if there are fewer than count"),
        (_LEFT.replace("< count", "<= count") + _ENDS
         + _ONE + _TAKE, "one too many"),
        ("idle = [e for e in cached if e.owners == 0]\nidle.sort(key=lambda e: e.last_used)\n"
         "return [e.block for e in idle[::-1]][:count]", "Evicts the most recently used"),
        ("idle = sorted((e for e in cached if not e.owners), key=lambda e: (e.last_used, -cached.index(e)))\n"
         "return [e.block for e in idle[:count]]", "while block"),
        ("return None", "is a `return` missing?"),
        ("return cached[:count]", "entries were in it"),
        ("return [e for e in cached if e.last_used < 3]", "Next: return entry.block of each"),
    ),
    "radix_match": MATCH_WRONG,
    "radix_insert": INSERT_WRONG,
    "pick_next": wrong(
        _PICK,
        ("found.index(max(found))", "Nobody's patience ends"),
        ("0", "Takes the oldest always"),
        ("max(found)", "Gives how much is found"),
        ("overtaken.index(max(overtaken))", "overtaken most"),
        ("for i, n in enumerate(overtaken):\n    if n >= patience:\n        return i\nreturn found.index(max(found))",
         "Takes whoever's patience is over at once"),
        ("best = 0\nfor i, n in enumerate(found):\n    if overtaken[i] > patience:\n        break\n"
         "    if n > found[best]:\n        best = i\nreturn best", "`patience` times is already enough"),
        ("best = 0\nfor i, n in enumerate(found):\n    if n > found[best]:\n        best = i\n"
         "    if overtaken[i] > patience:\n        break\nreturn best", "Next: use >=."),
        ("for i, o in enumerate(overtaken):\n    if o > patience:\n        return i\nreturn found.index(max(found))",
         "`patience` times is already enough"),
        ("if overtaken[0] > patience:\n    return 0\nreturn found.index(max(found))",
         "`patience` times is already enough"),
        ("if max(overtaken) >= patience:\n    return 0\nreturn found.index(max(found))",
         "Takes the oldest, not the best of those up to the first whose patience is over"),
        ("best = 0\nfor i, n in enumerate(found):\n    if overtaken[i] >= patience:\n        break\n"
         "    if n > found[best]:\n        best = i\nreturn best", "Stops before the one whose patience is over"),
        ("best = 0\nfor i, n in enumerate(found):\n    if n >= found[best]:\n        best = i\n"
         "    if overtaken[i] >= patience:\n        break\nreturn best", "takes the younger"),
        ("if overtaken[0] >= patience:\n    return 0\nreturn found.index(max(found))", "Asks only the oldest"),
    ),
}
