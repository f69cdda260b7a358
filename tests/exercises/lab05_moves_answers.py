"""Answers to lab 05's kernels that move tokens and blocks; the wrong ones with what must be said."""

from tests.exercises.lab05_answers import but, cells, wrong

_WRITE = "@triton.jit\ndef write_kv_kernel(key, value, key_pool, value_pool, slots, width, TILE: tl.constexpr):\n"
_COPY = "@triton.jit\ndef copy_blocks_kernel(pool, sources, targets, block_numel, TILE: tl.constexpr):\n"

WRITE = """
t = tl.program_id(0)
s = tl.load(slots + t)
i = tl.arange(0, TILE)
m = (i < width) & (s >= 0)
tl.store(key_pool + s * width + i, tl.load(key + t * width + i, mask=m), mask=m)
tl.store(value_pool + s * width + i, tl.load(value + t * width + i, mask=m), mask=m)
"""
COPY = """
source = tl.load(sources + tl.program_id(0)).to(tl.int64) * block_numel
target = tl.load(targets + tl.program_id(0)).to(tl.int64) * block_numel
i = tl.program_id(1) * TILE + tl.arange(0, TILE)
tl.store(pool + target + i, tl.load(pool + source + i, mask=i < block_numel), mask=i < block_numel)
"""

RIGHT = {
    "write_kv_kernel": cells(
        _WRITE, WRITE,
        but(WRITE, ("m = (i < width) & (s >= 0)\n", "if s < 0:\n    return\nm = i < width\n")),
        but(WRITE, ("s = tl.load(slots + t)", "s = tl.load(slots + t).to(tl.int64)"), ("& (s >= 0)", "& (s > -1)")),
        """
t = tl.program_id(axis=0)
slot = tl.load(slots + t)
if slot >= 0:
    for start in range(0, width, TILE):
        i = start + tl.arange(0, TILE)
        tl.store(key_pool + slot * width + i, tl.load(key + t * width + i, i < width), i < width)
        tl.store(value_pool + slot * width + i, tl.load(value + t * width + i, i < width), i < width)
"""),
    "copy_blocks_kernel": cells(_COPY, COPY, but(COPY, ("i = tl.program_id(1) * TILE + tl.arange(0, TILE)",
                                                        "i = tl.arange(0, TILE) + TILE * tl.program_id(1)"))),
}

WRONG = {
    "write_kv_kernel": [
        *wrong(_WRITE,
        (but(WRITE, ("(i < width) & (s >= 0)", "i < width and s >= 0")), "Next: join masks with &, each in brackets"),
        (but(WRITE, ("s >= 0", "s != -1")), "Looks like slot != -1"),
        (but(WRITE, ("t * width", "t * TILE")), "rows of key and value are width numbers apart"),
               (but(WRITE, (" & (s >= 0)", "")), "Slot -1 is written"),
               (but(WRITE, ("m = (i < width) & (s >= 0)\n", "if s < 0:\n    return\nm = i >= 0\n")), "No mask: a tile"),
               (but(WRITE, ("s * width", "s * TILE")), "slots are width numbers apart, not TILE"),
               (but(WRITE, ("s >= 0", "s > 0")), "Looks like slot > 0"),
               (but(WRITE, ("tl.arange(0, TILE)", "tl.arange(0, width)")), "arange's arguments"),
               (but(WRITE, ("tl.load(value + ", "tl.load(key + ")), "Writes the keys into both pools"),
               (but(WRITE, ("tl.program_id(0)", "tl.program_id(1)")), "into the slot of token 0"),
               (but(WRITE, ("tl.load(key + t * width + i, mask=m)", "key[t * width + i]")), "raised"),
               (but(WRITE, ("tl.load(slots + t)", "slots[t]")), "raised"),
               ("t = tl.program_id(0)\nkey_pool[slots[t]] = key[t]", "raised")),
        (cells(_WRITE.replace("@triton.jit\n", ""), WRITE)[0], "put @triton.jit on the line above its def"),
        (cells(_WRITE.replace(": tl.constexpr", ""), WRITE)[0], "tl.constexpr"),
    ],
    "copy_blocks_kernel": wrong(
        _COPY,
        (but(COPY, (".to(tl.int64)", "")), "Missing int64"),
        (but(COPY, (", mask=i < block_numel", "")), "No mask: the last tile"),
        (but(COPY, ("tl.program_id(1) * TILE + ", "")), "Only the first tile of each block"),
        (but(COPY, ("* block_numel", "")), "block b begins at number b * block_numel")),
}
