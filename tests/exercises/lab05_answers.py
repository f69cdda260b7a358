"""Answers to lab 05's kernels as learners give them; the wrong ones with what must be said."""

_HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
_WRITE = "@triton.jit\ndef write_kv_kernel(key, value, key_pool, value_pool, slots, width, TILE: tl.constexpr):\n"
_COPY = "@triton.jit\ndef copy_blocks_kernel(pool, sources, targets, block_numel, TILE: tl.constexpr):\n"
_DECODE = ("@triton.jit\ndef paged_decode_kernel(output, query, key_pool, value_pool, block_tables, context_lengths, "
           "scale, max_blocks, HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, "
           "BLOCK_SIZE: tl.constexpr):\n")
_GROUPED = _DECODE.replace("paged_", "grouped_").replace("BLOCK_SIZE: tl.constexpr", "BLOCK_SIZE: tl.constexpr, "
                                                         "GROUP_TILE: tl.constexpr")
_SPLIT = "def split_kv(num_tokens: int, num_splits: int, block_size: int):\n"
_MERGE = "def merge_partials(outputs, lses):\n"

Wrong = tuple[str, str]


def cells(signature: str, *bodies: str) -> list[str]:
    """One cell for each body, with the imports that the lab's first cells have."""
    return [_HEAD + signature + "\n".join("    " + line for line in body.strip("\n").split("\n")) for body in bodies]


def wrong(signature: str, *answers: Wrong) -> list[Wrong]:
    """The same, with the text that the verdict must hold."""
    return [(cells(signature, body)[0], text) for body, text in answers]


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
    "paged_decode_kernel": cells(
        _DECODE, DECODE,
        but(DECODE, ("if n > 0:\n    acc = acc / l\n", "acc = acc / tl.maximum(l, 1e-20)\n")),
        but(DECODE, ("for page in range(pages):", "page = 0\nwhile page * BLOCK_SIZE < n:"),
            ("    m = m_new", "    m = m_new\n    page += 1")),
        but(DECODE, ("tl.load(block_tables + seq * max_blocks + page).to(tl.int64)",
                     "tl.load(block_tables + seq * max_blocks + (page * BLOCK_SIZE + t) // BLOCK_SIZE).to(tl.int64)"),
            ("block * (", "block[:, None] * ("))),
    "grouped_decode_kernel": cells(_GROUPED, GROUPED),
    "split_kv": cells(
        _SPLIT,
        """
blocks = -(-num_tokens // block_size)
n = min(num_splits, blocks)
out, at = [], 0
for i in range(n):
    size = blocks // n + (i < blocks % n)
    out.append((at * block_size, min((at + size) * block_size, num_tokens)))
    at += size
return out
""", """
import math
blocks = math.ceil(num_tokens / block_size)
n = min(num_splits, blocks)
cuts = [round(i * blocks / n) * block_size for i in range(n)] + [num_tokens] if n else []
return [[a, b] for a, b in zip(cuts, cuts[1:])]
"""),
    "merge_partials": cells(
        _MERGE,
        """
m = lses.max(0).values
m0 = torch.where(m == -torch.inf, 0.0, m)
w = torch.exp(lses - m0)
total = w.sum(0)
out = torch.where(w[..., None] > 0, outputs * w[..., None], 0.0).sum(0)
return out / total.clamp(min=1e-30)[..., None], m0 + total.log()
""", """
lse = torch.logsumexp(lses, dim=0)
out = torch.zeros_like(outputs[0])
for o, l in zip(outputs, lses):
    share = torch.exp(l - lse).nan_to_num()
    out = out + torch.where(share[..., None] > 0, o * share[..., None], 0.0)
return out, lse
"""),
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
    "split_kv": wrong(
        _SPLIT,
        ("size = num_tokens // num_splits\nreturn [(i * size, (i + 1) * size) for i in range(num_splits)]",
         "✗ split_kv: returned"),
        ("step = num_tokens / num_splits\nreturn [(i * step, (i + 1) * step) for i in range(num_splits)]",
         "whole numbers"),
        ("return (0, num_tokens)", "no list of pairs"),
        ("return []", "the last part ends at token 0"),
        ("print([(0, num_tokens)])", "is a `return` missing?"),
        ("blocks = -(-num_tokens // block_size)\nsize = -(-blocks // num_splits)\n"
         "return [(i * block_size, min((i + size) * block_size, num_tokens)) for i in range(0, blocks, size)]",
         "Rounds the size of a part up")),
    "merge_partials": wrong(
        _MERGE,
        ("return outputs.mean(0), lses.logsumexp(0)", "Looks like the mean of the outputs"),
        ("return outputs.sum(0), lses.sum(0)", "✗ merge_partials"),
        ("w = lses.softmax(0)\nreturn (w[..., None] * outputs).sum(0), lses.logsumexp(0)", "0 times nan is nan"),
        ("w = lses.softmax(0)\nreturn (w * outputs).sum(0), lses.logsumexp(0)", "raised RuntimeError"),
        ("w = torch.exp(lses)\nreturn (w[..., None] * outputs).sum(0) / w.sum(0)[..., None], w.sum(0).log()",
         "(nan comes from inf / inf: exp() of some hundred is inf)"),
        ("lse = torch.logsumexp(lses, 0)\nreturn (torch.exp(lses - lse)[..., None] * outputs.nan_to_num()).sum(0)",
         "Gives the output alone")),
}
