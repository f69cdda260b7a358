"""Answers to lab 05's kernels that attend, as learners give them; the wrong ones with what must be said."""

_HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
_DECODE = ("@triton.jit\ndef paged_decode_kernel(output, query, key_pool, value_pool, block_tables, context_lengths, "
           "scale, max_blocks, HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, "
           "BLOCK_SIZE: tl.constexpr):\n")
_GROUPED = _DECODE.replace("paged_", "grouped_").replace("BLOCK_SIZE: tl.constexpr", "BLOCK_SIZE: tl.constexpr, "
                                                         "GROUP_TILE: tl.constexpr")

Wrong = tuple[str, str]


def cells(signature: str, *bodies: str) -> list[str]:
    """One cell for each body, with the imports that the lab's first cells have."""
    return [_HEAD + signature + "\n".join("    " + line for line in body.strip("\n").split("\n")) for body in bodies]


def wrong(signature: str, *answers: Wrong) -> list[Wrong]:
    """The same, with the text that the verdict must hold."""
    return [(cells(signature, body)[0], text) for body, text in answers]


DECODE = """
seq = tl.program_id(0)
head = tl.program_id(1)
kv = head * KV_HEADS // HEADS
n = tl.load(context_lengths + seq)
d = tl.arange(0, HEAD_DIM)
t = tl.arange(0, BLOCK_SIZE)
q = tl.load(query + seq * HEADS * HEAD_DIM + head * HEAD_DIM + d).to(tl.float32)
m = -float("inf")
l = 0.0
acc = tl.zeros((HEAD_DIM,), tl.float32)
pages = tl.cdiv(n, BLOCK_SIZE)
for page in range(pages):
    block = tl.load(block_tables + seq * max_blocks + page).to(tl.int64)
    ok = page * BLOCK_SIZE + t < n
    at = block * (BLOCK_SIZE * KV_HEADS * HEAD_DIM) + t[:, None] * (KV_HEADS * HEAD_DIM) + kv * HEAD_DIM + d[None, :]
    k = tl.load(key_pool + at, mask=ok[:, None], other=0.0).to(tl.float32)
    v = tl.load(value_pool + at, mask=ok[:, None], other=0.0).to(tl.float32)
    s = tl.sum(q[None, :] * k, 1) * scale
    s = tl.where(ok, s, -float("inf"))
    m_new = tl.maximum(m, tl.max(s, 0))
    a = tl.exp(m - m_new)
    p = tl.exp(s - m_new)
    l = l * a + tl.sum(p, 0)
    acc = acc * a + tl.sum(p[:, None] * v, 0)
    m = m_new
if n > 0:
    acc = acc / l
tl.store(output + seq * HEADS * HEAD_DIM + head * HEAD_DIM + d, acc)
"""
GROUPED = """
seq = tl.program_id(0)
kv = tl.program_id(1)
n = tl.load(context_lengths + seq)
d = tl.arange(0, HEAD_DIM)
t = tl.arange(0, BLOCK_SIZE)
g = tl.arange(0, GROUP_TILE)
head = kv * (HEADS // KV_HEADS) + g
mine = g < HEADS // KV_HEADS
at_q = seq * HEADS * HEAD_DIM + head[:, None] * HEAD_DIM + d[None, :]
q = tl.load(query + at_q, mask=mine[:, None], other=0.0)
m = tl.full((GROUP_TILE,), -float("inf"), tl.float32)
l = tl.zeros((GROUP_TILE,), tl.float32)
acc = tl.zeros((GROUP_TILE, HEAD_DIM), tl.float32)
for page in range(tl.cdiv(n, BLOCK_SIZE)):
    block = tl.load(block_tables + seq * max_blocks + page).to(tl.int64)
    ok = page * BLOCK_SIZE + t < n
    at = block * (BLOCK_SIZE * KV_HEADS * HEAD_DIM) + t[:, None] * (KV_HEADS * HEAD_DIM) + kv * HEAD_DIM + d[None, :]
    k = tl.load(key_pool + at, mask=ok[:, None], other=0.0)
    v = tl.load(value_pool + at, mask=ok[:, None], other=0.0)
    s = tl.where(ok[None, :], tl.dot(q, tl.trans(k)) * scale, -float("inf"))
    m_new = tl.maximum(m, tl.max(s, 1))
    a = tl.exp(m - m_new)
    p = tl.exp(s - m_new[:, None])
    l = l * a + tl.sum(p, 1)
    acc = tl.dot(p.to(v.dtype), v, acc * a[:, None])
    m = m_new
l = tl.where(l == 0, 1.0, l)
tl.store(output + at_q, acc / l[:, None], mask=mine[:, None])
"""


def but(body: str, *changes: tuple[str, str]) -> str:
    """An answer with pieces of it replaced."""
    for old, new in changes:
        assert old in body, old
        body = body.replace(old, new)
    return body


RIGHT = {
    "paged_decode_kernel": cells(
        _DECODE, DECODE,
        but(DECODE, ("if n > 0:\n    acc = acc / l\n", "acc = acc / tl.maximum(l, 1e-20)\n")),
        but(DECODE, ("for page in range(pages):", "page = 0\nwhile page * BLOCK_SIZE < n:"),
            ("    m = m_new", "    m = m_new\n    page += 1")),
        but(DECODE, ("tl.load(block_tables + seq * max_blocks + page).to(tl.int64)",
                     "tl.load(block_tables + seq * max_blocks + (page * BLOCK_SIZE + t) // BLOCK_SIZE).to(tl.int64)"),
            ("block * (", "block[:, None] * ("))),
    "grouped_decode_kernel": cells(_GROUPED, GROUPED),
}

WRONG = {
    "paged_decode_kernel": wrong(
        _DECODE,
        (but(DECODE, ("mask=ok[:, None], other=0.0", "mask=None"), ("s = tl.where(ok, s, -float(\"inf\"))", "")),
         "Reads the last page whole"),
        (but(DECODE, ("    s = tl.where(ok, s, -float(\"inf\"))\n", "")), "exp(0) is 1: it takes weight"),
        (but(DECODE, ("acc = acc * a", "acc = acc"), ("l = l * a", "l = l")), "No rescale"),
        (but(DECODE, (".to(tl.int64)", "")), "Missing int64"),
        (but(DECODE, (" * scale", "")), "The scale is forgotten"),
        (but(DECODE, ("t[:, None] * (KV_HEADS * HEAD_DIM)", "t[:, None] * HEAD_DIM")), "✗ paged_decode_kernel"),
        (but(DECODE, ("range(pages)", "range(max_blocks)")), "Reads the padding of the table"),
        (but(DECODE, ("range(pages)", "range(n // BLOCK_SIZE)")), "Looks like length // BLOCK_SIZE pages"),
        (but(DECODE, ("head * KV_HEADS // HEADS", "head % KV_HEADS")), "Looks like head % KV_HEADS"),
        (but(DECODE, ("    m = m_new\n", "")), "The largest score is not carried over"),
        (but(DECODE, ("if n > 0:\n    acc = acc / l\n", "acc = acc / l\n")), "Length 0 gives nan"),
        (but(DECODE, ("d = tl.arange", "if n == 0:\n    return\nd = tl.arange")), "Length 0 writes nothing"),
        (but(DECODE, ("d = tl.arange", "if n == 0:\n    return\nd = tl.arange")), "was never written, expected 0"),
        (but(DECODE, ("p = tl.exp(s - m_new)", "p = tl.exp(s)"), ("acc = acc * a", "acc = acc"),
             ("l = l * a", "l = l")), "] is nan, expected"),
        (but(DECODE, ("a = tl.exp(m - m_new)", "a = tl.exp(m_new - m)")), "] is nan, expected"),
        (but(DECODE, ("s = tl.where(ok, s, -float(\"inf\"))", "s = tl.where(ok, s, -100.0)")),
         "Hidden scores are -100, not -inf"),
        (but(DECODE, (", other=0.0", "")), "Next: give that load other=0.0."),
        (but(DECODE, ("t[:, None] * (KV_HEADS", "t * (KV_HEADS")), "Next: give each an axis: rows[:, None]"),
        (but(DECODE, ("tl.sum(p[:, None] * v, 0)", "tl.sum(p[:, None] * v, 1)")), "axis=0 one a column."),
        (but(DECODE, ("tl.load(context_lengths + seq)", "context_lengths[seq]")), "a pointer has no index."),
        (but(DECODE, ("page * BLOCK_SIZE + t < n", "page * BLOCK_SIZE + page * BLOCK_SIZE + t < n")),
         "counted twice in the mask"),
        (but(DECODE, (" * scale", "")), "Next: multiply the query or the scores by scale."),
        (but(DECODE, ("if n > 0:\n    acc = acc / l\n", "")), "The output is never divided by the sum"),
        (but(DECODE, ("tl.load(value_pool", "tl.load(key_pool")), "Looks like key_pool twice"),
        (but(DECODE, ("seq * max_blocks + page", "page")), "Looks like table 0 for everybody"),
        (but(DECODE, ("page * BLOCK_SIZE + t < n", "page * BLOCK_SIZE + t <= n")), "Looks like <= in the mask"),
        (but(DECODE, ("tl.sum(q[None, :] * k, 1)", "tl.dot(q, k)")), "raised"),
        (but(DECODE, ("tl.sum(q[None, :] * k, 1)", "tl.sum(q[None, :] * k, 0)")), "raised ValueError"),
        (but(DECODE, ("m_new = tl.maximum(m, tl.max(s, 0))", "m_new = max(m, tl.max(s, 0))"),
             ("    a = tl.exp", "    b = sofmax(s)\n    a = tl.exp")), "name 'sofmax' is not defined"),
        (but(DECODE, ("mask=ok[:, None]", "mask=ok")), "Next: give the mask both: inside[:, None]"),
        (but(DECODE, ("context_lengths + seq", "context_lengths")), "the length of sequence 0"),
        (but(DECODE, ("tl.cdiv(n, BLOCK_SIZE)", "n // BLOCK_SIZE + 1")), "Looks like length // BLOCK_SIZE + 1"),
        (but(DECODE, ("tl.arange(0, BLOCK_SIZE)", "tl.arange(0, 16)")), "Right for blocks of 16 only"),
        (but(DECODE, ("tl.store(output + seq * HEADS * HEAD_DIM + head * HEAD_DIM + d, acc)", "return acc")),
         "Nothing is stored"),
        ("seq = tl.program_id(0)", "Nothing is stored")),
    "grouped_decode_kernel": wrong(
        _GROUPED,
        (but(GROUPED, (", mask=mine[:, None], other=0.0", ""), ("l[:, None], mask=mine[:, None])", "l[:, None])")),
         "No mask says so"),
        (but(GROUPED, ("acc * a[:, None]", "acc"), ("l * a", "l")), "No rescale"),
        (but(GROUPED, (".to(tl.int64)", "")), "Missing int64"),
        (but(GROUPED, ("kv * (HEADS // KV_HEADS) + g", "g * KV_HEADS + kv")), "takes every KV_HEADS-th query head"),
        (but(GROUPED, ("tl.trans(k)", "k")), "Next: turn the keys around: tl.dot(q, tl.trans(k))."),
        (but(GROUPED, ("tl.arange(0, GROUP_TILE)", "tl.arange(0, HEADS // KV_HEADS)")), "A tile has GROUP_TILE rows"),
        (but(GROUPED, ("p.to(v.dtype)", "p")), "weights.to(v.dtype)"),
        (but(GROUPED, ("ok[None, :], tl.dot", "ok[:, None], tl.dot")), "lies along the wrong axis"),
        (but(GROUPED, ("g < HEADS // KV_HEADS", "head < HEADS")), "lets the next group's rows through"),
        (but(GROUPED, ("d = tl.arange", "if n == 0:\n    return\nd = tl.arange")), "Length 0 writes nothing"),
        (but(GROUPED, ("tl.max(s, 1)", "tl.max(s, 0)")), "✗ grouped_decode_kernel"),
        (but(GROUPED, (" * scale", "")), "The scale is forgotten")),
}
