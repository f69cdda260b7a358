"""Answers to the exercises of lab 06 as learners give them; the wrong ones with what the verdict must say."""

from tests.exercises.lab01_answers import given, wrong
from tests.exercises.lab06_beams import BEAM_RIGHT, BEAM_WRONG, SEED_RIGHT, SEED_WRONG

_FORK = "fork(table, pool)"
_APPEND = "append_with_cow(table, num_tokens, pool, block_size)"
_SAVED = "saved_blocks(tables)"

_SLOT = "return table[-1] * block_size + num_tokens % block_size, copy"
_FULL = "copy = None\nif num_tokens % block_size == 0:\n    table += pool.take(1)\n"
_UNSHARED = "unshared = sum(len(t) for t in tables)\nblocks = len({b for t in tables for b in t})\n"


def cow(body: str) -> str:
    """The usual frame, with the lines for a shared last block."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return _FULL + "elif pool.ref_count(table[-1]) > 1:\n" + lines + _SLOT


_USUAL = cow("old, new = table[-1], pool.take(1)[0]\npool.release([old])\ntable[-1] = new\ncopy = old, new")

RIGHT = {
    "fork": given(
        _FORK,
        "pool.share(table)\nreturn list(table)",
        "child = table[:]\npool.share(child)\nreturn child",
        "pool.share(table)\nreturn [block for block in table]",
        "import copy\npool.share(tuple(table))\nreturn copy.copy(table)",
    ),
    "append_with_cow": given(
        _APPEND,
        cow("old = table[-1]\n(table[-1],) = pool.take(1)\npool.release([old])\ncopy = old, table[-1]"),
        cow("fresh = pool.take(1)\npool.release(table[-1:])\ncopy = (table[-1], fresh[0])\ntable[-1:] = fresh"),
        cow("copy = [table[-1], *pool.take(1)]\ntable.pop()\npool.release([copy[0]])\ntable.append(copy[1])"),
        "offset = num_tokens % block_size\ncopy = None\nif offset and pool.ref_count(table[-1]) == 1:\n"
        "    return table[-1] * block_size + offset, None\nnew = pool.take(1)[0]\n"
        "if offset:\n    copy = table[-1], new\n"
        "    pool.release([table.pop()])\ntable.append(new)\nreturn new * block_size + offset, copy",
        "from kvlab.memory import blocks_needed\nif blocks_needed(num_tokens + 1, block_size) > len(table):\n"
        "    table.extend(pool.take(1))\n    return [table[-1] * block_size, None]\n"
        + cow("new = pool.take(1)[0]\ncopy = (table[-1], new)\npool.release([table[-1]])\ntable[-1] = new"),
    ),
    "saved_blocks": given(
        _SAVED,
        _UNSHARED + "return 1 - blocks / unshared if unshared else 0.0",
        "every = [b for t in tables for b in t]\nif not every:\n    return 0\n"
        "return (len(every) - len(set(every))) / len(every)",
        "from collections import Counter\ncounts = Counter(b for t in tables for b in t)\n"
        "return sum(n - 1 for n in counts.values()) / max(1, sum(counts.values()))",
        "import numpy as np\n"
        "every = np.concatenate([np.array(t, dtype=int) for t in tables] or [np.array([], dtype=int)])\n"
        "return 1 - len(np.unique(every)) / len(every) if len(every) else 0.0",
    ),
} | {"beam_step": BEAM_RIGHT, "sample_generators": SEED_RIGHT}

WRONG = {
    "fork": wrong(
        _FORK,
        ("pool.take(len(table))", "That is the copy that sharing is there to avoid"),
        ("list(table)", "the pool does not know"),
        ("table", "There is still one table"),
        ("pool.share(table)\nreturn table", "the parent's own list"),
        ("try:\n    pool.share(table)\nexcept Exception:\n    return []\nreturn list(table)",
         "Next: let the pool's exception pass: no try"),
        ("for block in table:\n    pool.share([block])\nreturn list(table)",
         "pool = BlockPool(2) a = pool.take(2) pool.release(a[1:]) fork(a, pool)"),
        ("pool.share(table[-1:])\nreturn list(table)", "Shares the last block alone"),
        ("pool.share([table[-1]])\nreturn list(table)", "Shares the last block alone"),
        ("pool.share(table[:-1])\nreturn list(table)", "Leaves the last block out"),
        ("pool.share(table[:-1])\nreturn table[:-1] + pool.take(1)", "Copies the last block at once"),
        ("return pool.share(table)", "pool.share itself returns nothing"),
        ("pool.share(table)\nprint(table)", "pool.share itself returns nothing"),
        ("for block in table:\n    pool.share([block])\nreturn list(table)", "Shares block by block"),
        ("for block in table:\n    pool.share(block)\nreturn list(table)", "Next: give pool.share a list of blocks"),
        ("child = []\nfor block in table:\n    child.append(block)\n    pool.ref_count(block) + 1\nreturn child",
         "the pool does not know"),
        ("pool.share(set(table))\nreturn list(set(table))", "expected the parent's blocks"),
        ("pool.share(table)\nreturn tuple(table)", "as a list"),
        ("pool.share(table)\nreturn [table]", "one flat list"),
        ("pool.share(table)\nreturn table.copy", "as a list"),
        ("pool.counts[table[0]] += 1\nreturn list(table)", "reference count 1, expected 2"),
        ("child = list(table)\npool.share(child)\npool.share(table)\nreturn child", "Counts two new owners"),
        ("pool.share(table)\nreturn list(range(len(table)))", "expected the parent's blocks"),
        ("pool.release(table)\nreturn list(table)", "reference count 0, expected 2"),
        ("import copy\nreturn copy.deepcopy(table)", "the pool does not know"),
        ("table.share(pool)\nreturn list(table)", "AttributeError"),
    ),
    "append_with_cow": wrong(
        _APPEND,
        (_FULL + "else:\n    old = table[-1]\n    table[-1] = pool.take(1)[0]\n    pool.release([old])\n"
         "    copy = (old, table[-1])\n" + _SLOT, "The last owner writes in place"),
        (_FULL + _SLOT, "Writes into a block that others own"),
        ("if num_tokens % block_size == 0:\n    table.append(pool.take(1)[0])\n"
         "return table[-1] * block_size + num_tokens % block_size, None", "Writes into a block that others own"),
        (cow("old = table[-1]\ntable[-1] = pool.take(1)[0]\ncopy = (old, table[-1])"), "a leak"),
        (cow("pool.release([table[-1]])\nnew = pool.take(1)[0]\ncopy = (table[-1], new)\ntable[-1] = new"),
         "Lets go of the old block before the pool has given the new one"),
        (cow("old = table.pop()\ntable += pool.take(1)\ncopy = old, table[-1]\npool.release([old])"),
         "before the pool has given the new one"),
        (cow("new = pool.take(1)\ncopy = table[-1], new\npool.release([table[-1]])\ntable[-1] = new"),
         "take(1) gives a list with one block in it"),
        (cow("new = pool.take(1)[0]\ncopy = table[-1], new\ntable.append(new)\npool.release([copy[0]])"),
         "It takes its place"),
        (cow("new = pool.take(1)[0]\ncopy = new, table[-1]\npool.release([table[-1]])\ntable[-1] = new"),
         "The copy goes the wrong way"),
        (cow("new = pool.take(1)[0]\npool.release([table[-1]])\ntable[-1] = new\ncopy = (table[-1], new)"),
         "Next: remember the old block before you replace it"),
        (cow("new = pool.take(1)[0]\npool.release([table[-1]])\ntable[-1] = new\ncopy = new"), "as its copy, expected"),
        (cow("new = pool.take(1)[0]\npool.release([table[-1]])\ntable[-1] = new"), "nobody is told to fill it"),
        (cow("new = pool.take(1)[0]\npool.release([table[-1]])\ncopy = table[-1], new\ntable = table[:-1] + [new]"),
         "Makes a new list where the block is replaced"),
        ("copy = None\nif pool.ref_count(table[-1]) > 1:\n    old, new = table[-1], pool.take(1)[0]\n"
         "    pool.release([old])\n    table[-1] = new\n    copy = old, new\nelif num_tokens % block_size == 0:\n"
         "    table += pool.take(1)\n" + _SLOT, "Asks first whether the last block is shared"),
        ("copy = None\nif pool.ref_count(table[-1]) > 1:\n    old, new = table[-1], pool.take(1)[0]\n"
         "    pool.release([old])\n    table[-1] = new\n    copy = old, new\n" + _SLOT, "Never takes a block"),
        (_USUAL.replace("return table[-1] * block_size + num_tokens % block_size, copy", "return copy"),
         "is a `return` missing?"),
        (_USUAL.replace(", copy", ""), "Returns the slot alone"),
        (_USUAL.replace("return table[-1] * block_size + num_tokens % block_size", "return num_tokens"),
         "the token's position"),
        (_USUAL.replace("num_tokens % block_size, copy", "(num_tokens - 1) % block_size, copy"),
         "Gives the slot of the token before"),
        (_USUAL.replace("num_tokens % block_size, copy", "num_tokens, copy"),
         "Next: block * block_size + num_tokens % block_size"),
        ("copy = None\nif num_tokens % block_size == 0:\n    table.append(pool.take(1))\n" + _SLOT,
         "take(1) gives a list with one block in it"),
        ("copy = None\nif num_tokens == block_size:\n    table += pool.take(1)\n" + _SLOT,
         "left its table with 2 entries, expected 3"),
        ("copy = None\nif pool.num_free == 0:\n    return None\n" + _FULL + _SLOT,
         "Writes into a block that others own"),
        ("try:\n" + "".join(f"    {line}\n" for line in _USUAL.split("\n"))
         + "except OutOfBlocks:\n    return None", "Catches OutOfBlocks and returns None"),
        (_USUAL.replace("block_size", "16"), "Uses BLOCK_SIZE, which is 16"),
        (_USUAL.replace("* block_size + num_tokens % block_size", "* 16 + num_tokens % 16"),
         "Next: use the argument block_size"),
        (_USUAL.replace("num_tokens % block_size == 0", "num_tokens % 16 == 0"), "Next: use the argument block_size"),
        (_USUAL.replace("num_tokens %", "(num_tokens + 1) %"), "Counts from 1. The token after 6 tokens is number 6"),
        (_USUAL.replace("> 1", ">= 1"), "The last owner writes in place"),
        (_USUAL.replace("> 1", "> 2"), "Copies from three owners on"),
        (_USUAL.replace("pool.ref_count(table[-1])", "pool.ref_count(table[0])"), "an earlier block is shared"),
        (cow("old, new = table[-1], pool.take(1)[0]\npool.release(old)\ntable[-1] = new\ncopy = old, new"),
         "Next: give pool.release a list of blocks"),
        (_USUAL.replace("copy = None", "copy = []"), "Next: return None where nothing is copied"),
        ("slots = []\nfor block in table:\n    slots.append(block * block_size)\nreturn slots",
         "Next: return None where nothing is copied"),
        (_USUAL.replace("num_tokens % block_size == 0", "num_tokens % block_size == block_size - 1"),
         "Looks like (num_tokens + 1) % block_size"),
        (_USUAL.replace("pool.ref_count(table[-1])", "pool.ref_count[table[-1]]"), "TypeError"),
        (_USUAL.replace("return table[-1] * block_size + num_tokens % block_size, copy",
                        "return copy, table[-1] * block_size + num_tokens % block_size"), "expected the slot first"),
        (_USUAL.replace("copy = old, new", "copy = f'{old} to {new}'"), "Next: return the pair (old block, new block)"),
        (cow("new = pool.take(len(table))\ncopy = table[-1], new[-1]\npool.release(table)\ntable[:] = new"),
         "Next: replace the last block alone"),
    ),
    "saved_blocks": wrong(
        _SAVED,
        (_UNSHARED + "return (unshared - blocks) / blocks if blocks else 0.0", "Divides by the blocks there are with"),
        (_UNSHARED + "return unshared / blocks if blocks else 0.0", "Looks like a factor"),
        (_UNSHARED + "return blocks / unshared if unshared else 0.0", "the share that is still needed"),
        (_UNSHARED + "return unshared - blocks", "the number of blocks saved"),
        (_UNSHARED + "return 100 * (unshared - blocks) / unshared if unshared else 0", "in per cent"),
        (_UNSHARED + "return (unshared - blocks) / unshared", "Divides by zero"),
        (_UNSHARED + "return round((unshared - blocks) / unshared, 3) if unshared else 0", "The share is rounded"),
        (_UNSHARED + "print((unshared - blocks) / unshared)", "print only shows it"),
        ("(len(tables) - 1) / len(tables)", "Counts tables"),
        ("1 - len(set(map(tuple, tables))) / len(tables)", "Compares whole tables"),
        ("1 - len(set(tables)) / len(tables)", "Next: tables is a list"),
        ("common = set(tables[0])\nfor t in tables:\n    common &= set(t)\n"
         "return len(common) * (len(tables) - 1) / sum(map(len, tables))", "Counts the blocks that all tables share"),
        ("shared = 0\nfor a in tables:\n    for b in tables:\n        if a is not b:\n"
         "            shared += len(set(a) & set(b))\nreturn shared / sum(map(len, tables))",
          "Counts every entry that names a shared block"),
        (_UNSHARED + "return f'{(unshared - blocks) / unshared:.1%}'", "Next: return a float"),
        (_UNSHARED.replace("sum(len(t) for t in tables)", "len(tables) * len(tables[0])")
         + "return (unshared - blocks) / unshared", "as long as the first"),
        ("every = sum(tables, [])\nreturn len(set(every)) / len(every)", "the share that is still needed"),
        ("every = sum(tables)\nreturn 1 - len(set(every)) / len(every)", "Next: tables is a list"),
        ("n = len(tables)\nreturn (n - 1) / n * len(tables[0]) / len(tables[0])", "Counts tables"),
        ("n = sum(map(len, tables))\nreturn (n - len(set(tables[0]))) / n", "the blocks of the first table alone"),
        (_UNSHARED + "return (blocks - unshared) / unshared if unshared else 0.0", "The sign is turned"),
    ),
} | {"beam_step": BEAM_WRONG, "sample_generators": SEED_WRONG}
