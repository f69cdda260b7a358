"""Answers to the exercises of lab 03 as learners give them; the wrong ones with what the verdict must say."""

from tests.exercises.lab01_answers import given, wrong
from tests.exercises.lab03_pool_slips import POOL_SLIPS
from tests.exercises.lab03_pools import RIGHT_POOLS, WRONG_POOLS

_NEEDED = "blocks_needed(num_tokens, block_size)"
_SLOTS = "slot_mapping(table, start, stop, block_size)"
_APPEND = "append_tokens(table, num_tokens, new_tokens, pool, block_size)"
_WASTE = "paged_waste(lengths, block_size)"
_SWEEP = "block_size_sweep(lengths, block_sizes)"

_TAKE = "total = num_tokens + new_tokens\nmissing = -(-total // block_size) - len(table)\n"
_RETURN = "return [table[i // block_size] * block_size + i % block_size for i in range(num_tokens, total)]"
_GROW = _TAKE + "table.extend(pool.take(missing))\n"
_COUNT = "rows = []\nfor size in block_sizes:\n    blocks = sum(-(-n // size) for n in lengths)\n"

RIGHT = {
    "blocks_needed": [
        "import math\ndef blocks_needed(num_tokens, block_size):\n    return math.ceil(num_tokens / block_size)",
        *given(_NEEDED, "(num_tokens + block_size - 1) // block_size", "-(-num_tokens // block_size)",
               "blocks, rest = divmod(num_tokens, block_size)\nreturn blocks + (rest > 0)",
               "if num_tokens == 0:\n    return 0\nreturn (num_tokens - 1) // block_size + 1",
               "import numpy as np\nreturn np.ceil(num_tokens / block_size).astype(int)",
               "len(range(0, num_tokens, block_size))"),
    ],
    "slot_mapping": given(
        _SLOTS,
        "slots = []\nfor i in range(start, stop):\n    block, offset = divmod(i, block_size)\n"
        "    slots.append(table[block] * block_size + offset)\nreturn slots",
        "import numpy as np\ni = np.arange(start, stop)\n"
        "return np.array(table, dtype=int)[i // block_size] * block_size + i % block_size",
        "every = [b * block_size + o for b in table for o in range(block_size)]\nreturn every[start:stop]",
        "return tuple(table[i // block_size] * block_size + i % block_size for i in range(start, stop))",
    ),
    "append_tokens": given(
        _APPEND,
        _GROW + _RETURN,
        _TAKE + "if missing:\n    table += pool.take(missing)\n" + _RETURN,
        "missing = blocks_needed(num_tokens + new_tokens, block_size) - len(table)\nfor block in pool.take(missing):\n"
        "    table.append(block)\nreturn slot_mapping(table, num_tokens, num_tokens + new_tokens, block_size)",
        "taken = []\ntotal = num_tokens + new_tokens\ntry:\n    while (len(table) + len(taken)) * block_size < total:\n"
        "        taken += pool.take(1)\nexcept OutOfBlocks:\n    pool.release(taken)\n    raise\ntable += taken\n"
        "" + _RETURN,
        _TAKE + "if missing > pool.num_free:\n    raise OutOfBlocks(missing, pool.num_free)\n"
        "table.extend(pool.take(missing))\n" + _RETURN,
    ),
    "paged_waste": given(
        _WASTE,
        "sum(-n % block_size for n in lengths)",
        "empty = 0\nfor n in lengths:\n    if n % block_size:\n        empty += block_size - n % block_size\n"
        "return empty",
        "import math\nreturn sum(math.ceil(n / block_size) * block_size - n for n in lengths)",
        "import numpy as np\nreturn np.sum(-np.array(lengths, dtype=int) % block_size)",
    ),
    "block_size_sweep": given(
        _SWEEP,
        "def blocks(b):\n    return sum(-(-n // b) for n in lengths)\n"
        "return [(b, sum(lengths) / (b * blocks(b)), blocks(b)) for b in block_sizes]",
        _COUNT + "    slots = blocks * size\n    rows.append([size, 1 - (slots - sum(lengths)) / slots, blocks])\n"
        "return rows",
        "import numpy as np\nrows = []\nfor size in block_sizes:\n"
        "    blocks = np.ceil(np.array(lengths) / size).astype(int).sum()\n"
        "    rows.append((size, np.sum(lengths) / (blocks * size), blocks))\nreturn rows",
    ),
    "BlockPool": RIGHT_POOLS,
}

WRONG = {
    "blocks_needed": wrong(
        _NEEDED,
        ("num_tokens // block_size + 1", "Looks like num_tokens // block_size + 1"),
        ("(num_tokens + block_size) // block_size", "Looks like num_tokens // block_size + 1"),
        ("num_tokens // block_size", "rounds down"),
        ("int(num_tokens / block_size)", "rounds down"),
        ("round(num_tokens / block_size)", "Looks like round()"),
        ("num_tokens / block_size", "Looks like /"),
        ("import numpy as np\nreturn np.ceil(num_tokens / block_size)", "it is a float"),
        ("max(1, (num_tokens + block_size - 1) // block_size)", "Takes one block for zero tokens"),
        ("(num_tokens - 1) // block_size + 1 if num_tokens else 1", "Takes one block for zero tokens"),
        ("(num_tokens + 15) // 16", "Works for blocks of 16 only"),
        ("num_tokens + block_size - 1 // block_size", "Python divides before it adds"),
        ("-(-block_size // num_tokens)", "changed places"),
        ("num_tokens % block_size", "returned 1, expected 2"),
        ("-(-num_tokens // block_size) * block_size", "Looks like slots"),
        ("print(-(-num_tokens // block_size))", "Next: return the value; print only shows it."),
        ("-num_tokens // block_size", "returned -1, expected 1"),
        ("num_tokens // block_size + num_tokens % block_size", "returned 5, expected 2"),
    ),
    "slot_mapping": wrong(
        _SLOTS,
        ("first = table[start // block_size] * block_size + start % block_size\n"
         "return [first + k for k in range(stop - start)]",
         "previous slot + 1"),
        ("if start == stop:\n    return []\nslots = [table[start // block_size] * block_size + start % block_size]\n"
         "while len(slots) < stop - start:\n    slots.append(slots[-1] + 1)\nreturn slots", "previous slot + 1"),
        ("list(range(start, stop))", "the token's position"),
        ("[table[i // block_size] + i % block_size for i in range(start, stop)]",
         "Block 7 begins at slot 7 * block_size"),
        ("[table[i // block_size] * block_size + i for i in range(start, stop)]", "grows past the end of the block"),
        ("slots, offset = [], start % block_size\nfor i in range(start, stop):\n"
         "    slots.append(table[i // block_size] * block_size + offset)\n    offset += 1\nreturn slots",
         "grows past the end of the block"),
        ("slots = []\nfor i in range(start, stop):\n"
         "    slots.append(table[i // block_size] * block_size + i % block_size)\n    return slots",
         "Stops after the first token"),
        ("slots = []\nfor i in range(start, stop):\n"
         "    slots += [table[i // block_size] * block_size + i % block_size]\n    if slots:\n        return slots\n"
         "return slots", "Stops after the first token"),
        ("[table[i // block_size] * block_size + i % block_size for i in range(start, stop + 1)]", "one token too far"),
        ("[table[i // block_size] * block_size + i % block_size for i in range(stop)]", "Starts at token 0"),
        ("[table[i // block_size] * block_size + i % block_size for i in range(start + 1, stop)]", "returned"),
        ("[table[i % block_size] * block_size + i // block_size for i in range(start, stop)]",
         "// and % have changed places"),
        ("[table[i // block_size] for i in range(start, stop)]", "Gives blocks"),
        ("[b * block_size + o for b in table for o in range(block_size)]", "all slots of all blocks"),
        ("[(table[i // block_size], i % block_size) for i in range(start, stop)]", "(block, offset)"),
        ("for i in range(start, stop):\n    return table[i // block_size] * block_size + i % block_size",
         "returned 21 (an int), expected [21] (a list). Until"),
        ("for i in range(start, stop):\n    print(table[i // block_size] * block_size + i % block_size)",
         "printed 21 and returned nothing"),
        ("{table[i // block_size] * block_size + i % block_size for i in range(start, stop)}", "(a set)"),
        ("[table[i // 16] * 16 + i % 16 for i in range(start, stop)]", "blocks of 16 only"),
        ("[table[i // block_size] * block_size + i % block_size for i in range(start, start + stop)]",
         "Takes stop for a number of tokens"),
        ("[table[0] * block_size + i % block_size for i in range(start, stop)]", "the first block for every token"),
        ("(table[i // block_size] * block_size + i % block_size for i in range(start, stop))",
         "Next: return a list: [... for ...] makes one"),
        ("[table[i / block_size] * block_size + i % block_size for i in range(start, stop)]", "TypeError"),
        ("[float(table[i // block_size] * block_size + i % block_size) for i in range(start, stop)]",
         "Next: return whole numbers"),
    ),
    "append_tokens": wrong(
        _APPEND,
        (_GROW + "if not new_tokens:\n    return []\n"
         "first = table[num_tokens // block_size] * block_size + num_tokens % block_size\n"
         "return [first + k for k in range(new_tokens)]",
         "previous slot + 1"),
        ("table.extend(pool.take(-(-new_tokens // block_size)))\ntotal = num_tokens + new_tokens\n" + _RETURN,
         "new tokens alone"),
        ("table.extend(pool.take(new_tokens))\ntotal = num_tokens + new_tokens\n" + _RETURN, "a block for every token"),
        ("total = num_tokens + new_tokens\ntable.extend(pool.take(total // block_size + 1 - len(table)))\n" + _RETURN,
         "Looks like total // block_size + 1"),
        ("total = num_tokens + new_tokens\nif total % block_size == 0:\n    table += pool.take(1)\n" + _RETURN,
         "Looks like total // block_size: the tokens after"),
        ("total = num_tokens + new_tokens\ntable += pool.take(-(-total // block_size))\n" + _RETURN,
         "the table has some of them already"),
        ("total = num_tokens + new_tokens\nif num_tokens % block_size == 0:\n"
         "    table.append(pool.take(1)[0])\n" + _RETURN,
         "one block at most"),
        ("total = num_tokens + new_tokens\nroom = block_size - num_tokens % block_size\nif new_tokens > room:\n"
         "    table += pool.take(-(-(new_tokens - room) // block_size))\n" + _RETURN, "Sees room where none is"),
        (_GROW + "return slot_mapping(table, num_tokens, new_tokens, block_size)", "Takes new_tokens for the end"),
        (_TAKE + "table += missing\n" + _RETURN, "'int' object is not iterable"),
        (_TAKE + "table = table + pool.take(missing)\n" + _RETURN, "Makes a new list"),
        (_TAKE + "table.append(pool.take(missing))\nreturn []", "Appends the list of blocks as one entry"),
        (_TAKE + "for _ in range(missing):\n    table += pool.take(1)\n" + _RETURN, "the table has grown already"),
        (_TAKE + "new = []\nfor _ in range(missing):\n    new += pool.take(1)\ntable += new\n" + _RETURN,
         "in nobody's table"),
        (_TAKE + "try:\n    table += pool.take(missing)\nexcept OutOfBlocks:\n    return []\n" + _RETURN,
         "returns an empty list"),
        (_TAKE + "try:\n    table += pool.take(missing)\nexcept OutOfBlocks:\n    return None\n" + _RETURN,
         "returns None"),
        (_TAKE + "try:\n    table += pool.take(missing)\nexcept OutOfBlocks:\n"
         "    raise ValueError('full') from None\n" + _RETURN,
         "raised ValueError, expected OutOfBlocks, which callers catch"),
        (_GROW + "return table", "Returns the table"),
        (_GROW + "return table[-missing:]", "returned [7]"),
        (_GROW + "return [table[i // block_size] * block_size + i % block_size for i in range(total)]",
         "slots of all tokens"),
        (_GROW + "return [table[i // block_size] * block_size + i % block_size for i in range(new_tokens)]",
         "slots of the first tokens"),
        (_GROW + "return list(range(num_tokens, total))", "Returns the tokens' positions"),
        (_GROW + "print(table)", "is a `return` missing?"),
        (_TAKE + "pool.take(missing)\n" + _RETURN, "took 1 from the pool, but the table the caller has is still []"),
        (_TAKE + "table.append(pool.take(missing))\n" + _RETURN, "use extend in place of append"),
        ("table += pool.take(-(-num_tokens // block_size) - len(table))\n"
         "return [table[i // block_size] * block_size + i % block_size"
         " for i in range(num_tokens - new_tokens, num_tokens)]",
         "new_tokens come on top"),
        ("table += pool.take(-(-num_tokens // block_size) - len(table))\ntotal = num_tokens + new_tokens\n" + _RETURN,
         "new_tokens come on top"),
        (_TAKE + "table[:] = pool.take(missing)\n" + _RETURN, "throws the old entries away"),
        (_TAKE + "new = pool.take(missing)\ntable += new\n"
         "return [b * block_size + o for b in new for o in range(block_size)][:new_tokens]",
         "may lie in the block before them"),
        (_TAKE + "new = pool.take(missing)\ntable += new\n"
         "return [new[i // block_size] * block_size + i % block_size for i in range(new_tokens)]",
         "may lie in the block before them"),
        (_GROW + "return [table[i // block_size] * block_size + i % block_size"
         " for i in range(num_tokens + 1, total + 1)]",
         "Begins one token too late"),
        (_GROW + "return [table[i // block_size] * block_size + i % block_size for i in range(num_tokens, total + 1)]",
         "Goes one token too far"),
        ("total = num_tokens + new_tokens\ntable += pool.take(total / block_size - len(table))\n" + _RETURN,
         "Looks like /"),
        ("from kvlab.memory import BlockPool\nown = BlockPool(8)\ntotal = num_tokens + new_tokens\n"
         "table += own.take(-(-total // block_size) - len(table))\n" + _RETURN,
         "Next: take the blocks from `pool`, the one you are given"),
        (_TAKE + "table.extend(range(len(table), len(table) + missing))\n" + _RETURN, "the pool's owned blocks are []"),
        (_GROW + "table.sort()\n" + _RETURN, "expected the new blocks after the old ones"),
        (_TAKE + "if missing > 0:\n    table += pool.take(missing)\n    " + _RETURN, "is a `return` missing?"),
    ),
    "paged_waste": wrong(
        _WASTE,
        ("sum(n % block_size for n in lengths)", "Looks like length % block_size"),
        ("sum(block_size - n % block_size for n in lengths)", "Looks like block_size - length % block_size"),
        ("-sum(lengths) % block_size", "one block for all"),
        ("sum(-n % block_size for n in lengths) / len(lengths)", "average of a sequence"),
        ("len(lengths) * (block_size - 1)", "the worst case"),
        ("len(lengths) * (block_size - 1) / 2", "the estimate"),
        ("for n in lengths:\n    return -n % block_size", "returned 3, expected 6"),
        ("sum((n // block_size + 1) * block_size - n for n in lengths)", "Looks like block_size - length % block_size"),
        ("sum(n // block_size * block_size - n for n in lengths)", "Counts full blocks only, so the waste is negative"),
        ("sum(-(-n // block_size) * block_size for n in lengths)", "all slots taken"),
        ("sum(-(-n // block_size) for n in lengths)", "number of blocks"),
        ("[-n % block_size for n in lengths]", "Gives a list"),
        ("print(sum(-n % block_size for n in lengths))", "printed 3 and returned nothing"),
        ("total = 0\nfor n in lengths:\n    total = -n % block_size\nreturn total", "returned 1, expected 6"),
        ("-lengths % block_size", "TypeError"),
        ("blocks_needed(lengths, block_size)", "Next: lengths is a list: go through its items"),
        ("sum(16 - n % 16 for n in lengths if n % 16)", "Works for blocks of 16 only"),
        ("len(lengths) * block_size - sum(lengths)", "Takes one block for each sequence"),
        ("sum(-(-n // block_size) - n for n in lengths)", "multiply the blocks by block_size"),
        ("sum(-n % block_size for n in lengths) / 1", "Next: return an int"),
    ),
    "block_size_sweep": wrong(
        _SWEEP,
        (_COUNT + "    rows.append((size, 1 - sum(lengths) / (blocks * size), blocks))\nreturn rows",
         "share that is empty"),
        (_COUNT + "    rows.append((size, blocks * size / sum(lengths), blocks))\nreturn rows", "slots over tokens"),
        (_COUNT + "    rows.append((size, sum(lengths) / (blocks * size), sum(lengths)))\nreturn rows",
         "a lookup for each token"),
        (_COUNT + "    rows.append((size, sum(lengths) / (blocks * size), blocks * size))\nreturn rows",
         "Counts slots"),
        (_COUNT + "    rows.append((size, sum(lengths) / blocks * size, blocks))\nreturn rows",
         "put brackets around blocks times size"),
        (_COUNT + "    rows.append((size, sum(lengths) / blocks, blocks))\nreturn rows",
         "Looks like tokens over blocks"),
        (_COUNT + "    rows.append((size, sum(lengths) // (blocks * size), blocks))\nreturn rows", "Looks like //"),
        ("blocks = sum(-(-n // 16) for n in lengths)\n"
         "return [(b, sum(lengths) / (blocks * 16), blocks) for b in block_sizes]",
         "Every row is that of blocks of 16"),
        ("blocks = sum(-(-n // 16) for n in lengths)\n"
         "return [(b, sum(lengths) / (blocks * b), blocks) for b in block_sizes]", "Counts blocks of 16 in every row"),
        ("size = block_sizes[0]\nblocks = sum(-(-n // size) for n in lengths)\n"
         "return [(b, sum(lengths) / (blocks * size), blocks) for b in block_sizes]",
         "Every row is that of the first size"),
        ("size = block_sizes[0]\nblocks = sum(-(-n // size) for n in lengths)\n"
         "return [(b, sum(lengths) / (blocks * b), blocks) for b in block_sizes]", "Counts blocks of the first size"),
        ("rows, blocks = [], 0\nfor size in block_sizes:\n    for n in lengths:\n"
         "        blocks += blocks_needed(n, size)\n"
         "    rows.append((size, sum(lengths) / (blocks * size), blocks))\nreturn rows", "Counts on from one size"),
        ("rows = []\nfor size in block_sizes:\n    blocks = sum(n // size for n in lengths)\n"
         "    rows.append((size, sum(lengths) / (blocks * size), blocks))\nreturn rows",
         "Rounds the number of blocks down"),
        ("rows = []\nfor size in block_sizes:\n    blocks = sum(n / size for n in lengths)\n"
         "    rows.append((size, sum(lengths) / (blocks * size), blocks))\nreturn rows", "counts parts of blocks"),
        (_COUNT + "    rows.append((size, 100 * sum(lengths) / (blocks * size), blocks))\nreturn rows",
         "Looks like percent"),
        (_COUNT + "    rows.append((size, blocks, sum(lengths) / (blocks * size)))\nreturn rows", "changed places"),
        (_COUNT + "    rows.append((sum(lengths) / (blocks * size), blocks))\nreturn rows", "block size is missing"),
        (_COUNT + "    rows.append((size, sum(lengths) / (blocks * size), blocks))\n    return rows",
         "Stops after the first size"),
        (_COUNT + "    rows.append((size, sum(lengths) / (blocks * size), blocks))\nprint(rows)", "returned nothing"),
        ("total = sum(lengths)\nreturn [(b, total / (-(-total // b) * b), -(-total // b)) for b in block_sizes]",
         "all sequences into one"),
        ("rows = []\nfor size in block_sizes:\n    blocks = sum(n // size + 1 for n in lengths)\n"
         "    rows.append((size, sum(lengths) / (blocks * size), blocks))\nreturn rows",
         "Looks like length // size + 1"),
        (_COUNT + "    share = sum(n / (-(-n // size) * size) for n in lengths) / len(lengths)\n"
         "    rows.append((size, share, blocks))\n"
         "return rows", "Averages the sequences' shares"),
        ("return {b: sum(-(-n // b) for n in lengths) for b in block_sizes}", "(a dict)"),
        (_COUNT + "    rows.append((size, round(sum(lengths) / (blocks * size), 2), blocks))\nreturn rows",
         "do not round"),
    ),
    "BlockPool": [*WRONG_POOLS, *POOL_SLIPS],
}
