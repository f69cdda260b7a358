"""Answers to `paged_attention` of lab 04 as learners give them; the wrong ones with what must be said. Most of these
are a right one with one place changed."""

from tests.exercises.lab04_answers import cells

_PAGED = ("def paged_attention(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, "
          "**options):")

_LOOP = """
if scale is None:
    scale = query.shape[2] ** -0.5
out = torch.zeros(query.shape[0], query.shape[1], value_pool.shape[3])
group = query.shape[1] // key_pool.shape[2]
for s in range(len(context_lengths)):
    n = int(context_lengths[s])
    a, b = int(query_start[s]), int(query_start[s + 1])
    if n == 0 or a == b:
        continue
    q = query[a:b]
    k = gather_kv(key_pool, block_tables[s], n).repeat_interleave(group, dim=1)
    v = gather_kv(value_pool, block_tables[s], n).repeat_interleave(group, dim=1)
    scores = torch.einsum("qhd,khd->hqk", q, k) * scale
    mask = torch.ones(b - a, n).tril(n - (b - a)).bool()
    scores[:, ~mask] = float("-inf")
    out[a:b] = torch.einsum("hqk,khd->qhd", scores.softmax(dim=-1), v)
return out
"""

_HEADS = """
scale = query.shape[2] ** -0.5 if scale is None else scale
out = query.new_zeros(query.shape[0], query.shape[1], value_pool.shape[3])
for s in range(len(context_lengths)):
    length, start, stop = int(context_lengths[s]), int(query_start[s]), int(query_start[s + 1])
    keys, values = gather_kv(key_pool, block_tables[s], length), gather_kv(value_pool, block_tables[s], length)
    for row in range(start, stop):
        sees = length - (stop - row) + 1
        for h in range(query.shape[1]):
            kv = h * key_pool.shape[2] // query.shape[1]
            if sees > 0:
                weights = torch.softmax(keys[:sees, kv] @ query[row, h] * scale, 0)
                out[row, h] = weights @ values[:sees, kv]
return out
"""

_SDPA = """
import torch.nn.functional as F
parts = []
for s, n in enumerate(context_lengths.tolist()):
    q = query[query_start[s]:query_start[s + 1]].transpose(0, 1)
    k, v = (gather_kv(pool, block_tables[s].tolist(), n).transpose(0, 1) for pool in (key_pool, value_pool))
    if n == 0:
        parts.append(torch.zeros(q.shape[1], q.shape[0], v.shape[-1]))
        continue
    at = torch.arange(n - q.shape[1], n)
    visible = torch.arange(n)[None] <= at[:, None]
    parts.append(F.scaled_dot_product_attention(q, k, v, visible, scale=scale, enable_gqa=True).transpose(0, 1))
return torch.cat(parts)
"""

_AT_ONCE = """
scale = query.shape[2] ** -0.5 if scale is None else scale
size, heads, kv_heads = key_pool.shape[1], query.shape[1], key_pool.shape[2]
longest = int(context_lengths.max())
at = torch.arange(longest)
real = at < context_lengths[:, None]
blocks = torch.where(real, block_tables[:, at // size], 0).long()
k = torch.where(real[:, :, None, None], key_pool[blocks, at % size], 0.0)
v = torch.where(real[:, :, None, None], value_pool[blocks, at % size], 0.0)
counts = query_start.diff()
owner = torch.repeat_interleave(torch.arange(len(counts)), counts)
position = context_lengths[owner] - query_start[owner + 1] + torch.arange(len(query))
k, v = (rows.repeat_interleave(heads // kv_heads, 2)[owner] for rows in (k, v))
scores = torch.einsum("thd,tchd->thc", query, k) * scale
scores = scores.masked_fill((at > position[:, None])[:, None], float("-inf"))
return torch.einsum("thc,tchd->thd", scores.softmax(-1).nan_to_num(0.0), v)
"""

_TOKENS = """
scale = query.shape[2] ** -0.5 if scale is None else scale
out = torch.zeros(query.shape[0], query.shape[1], value_pool.shape[3])
size, group = key_pool.shape[1], query.shape[1] // key_pool.shape[2]
for s in range(len(context_lengths)):
    length, a, b = int(context_lengths[s]), int(query_start[s]), int(query_start[s + 1])
    for row in range(a, b):
        pos = length - (b - row)
        ks, vs = [], []
        for t in range(pos + 1):
            blk, off = int(block_tables[s, t // size]), t % size
            ks.append(key_pool[blk, off])
            vs.append(value_pool[blk, off])
        k = torch.stack(ks).repeat_interleave(group, 1)
        v = torch.stack(vs).repeat_interleave(group, 1)
        w = (torch.einsum("hd,thd->ht", query[row], k) * scale).softmax(-1)
        out[row] = torch.einsum("ht,thd->hd", w, v)
return out
"""

_STACKED = """
scale = query.shape[2] ** -0.5 if scale is None else scale
out = torch.zeros(query.shape[0], query.shape[1], value_pool.shape[3])
size, group = key_pool.shape[1], query.shape[1] // key_pool.shape[2]
for s in range(len(context_lengths)):
    length, a, b = int(context_lengths[s]), int(query_start[s]), int(query_start[s + 1])
    ks = torch.stack([key_pool[block_tables[s, t // size], t % size] for t in range(length)])
    vs = torch.stack([value_pool[block_tables[s, t // size], t % size] for t in range(length)])
    k, v = ks.repeat_interleave(group, 1), vs.repeat_interleave(group, 1)
    for row in range(a, b):
        pos = length - (b - row) + 1
        w = (torch.einsum("hd,thd->ht", query[row], k[:pos]) * scale).softmax(-1)
        out[row] = torch.einsum("ht,thd->hd", w, v[:pos])
return out
"""

RIGHT = {
    "paged_attention": cells(_PAGED, _LOOP, _HEADS, _SDPA, _AT_ONCE),
}


def changed(signature: str, body: str, *changes: tuple[str, str, str]) -> list[tuple[str, str]]:
    """The body with one place changed each time, and what the verdict must hold."""
    assert all(old in body for old, _, _ in changes), [old for old, _, _ in changes if old not in body]
    return [(cells(signature, body.replace(old, new))[0], text) for old, new, text in changes]


WRONG = {
    "paged_attention": [
        *changed(
            _PAGED, _LOOP,
            ("    scores[:, ~mask] = float(\"-inf\")\n", "", "no causal mask"),
            (".tril(n - (b - a))", ".tril()", "begins at position 0"),
            (".tril(n - (b - a))", ".tril(n - (b - a) - 1)", "a token sees itself too"),
            (".tril(n - (b - a))", ".tril(n - (b - a) + 1)", "one token too many"),
            ("= float(\"-inf\")", "= 0", "exp(0) is 1"),
            ("= float(\"-inf\")", "= -10", "hide from each query the keys that come later"),
            (".repeat_interleave(group, dim=1)", ".repeat(1, group, 1)", "Neighbours share one"),
            (".repeat_interleave(group, dim=1)", "", "Several query heads share one KV head"),
            (" * scale\n", "\n", "without a scale"),
            (" * scale\n", " / scale\n", "Divides by head_dim ** -0.5"),
            ("if scale is None:\n    scale", "if True:\n    scale", "a scale of their own"),
            ("** -0.5", "** -1", "square root is missing"),
            ("softmax(dim=-1)", "softmax(dim=1)", "runs over the queries"),
            ("softmax(dim=-1)", "softmax(dim=0)", "runs over the heads"),
            ("gather_kv(value_pool", "gather_kv(key_pool", "key_pool twice"),
            ("block_tables[s], n)", "block_tables[0], n)", "table 0 for everybody"),
            ("a, b = int(query_start[s]), int(query_start[s + 1])", "a, b = s, s + 1", "row s for conversation s"),
            ("a, b = int(query_start[s]), int(query_start[s + 1])", "a = int(query_start[s]); b = a + 1",
             "Only the first query"),
            ("n = int(context_lengths[s])", "n = int(context_lengths.max())",
             "use context_lengths[s] for conversation s"),
            ("value_pool.shape[3])", "query.shape[2])", "raised RuntimeError"),
            ("return out", "return out.flatten(1)", "expected (1, 2, 3): num_tokens, heads, head_dim of the values"),
            ("return out", "print(out)", "is a `return` missing?"),
            ("q = query[a:b]", "q = query[a:b].mul_(scale)", "query"),
            ("scores.softmax(dim=-1)", "(scores.exp() / scores.exp().sum(-1, keepdim=True))", "Above 88"),
            ("query[a:b]", "query.view(-1, query.shape[1] * query.shape[2])[a:b].view(b - a, -1, query.shape[2])",
             "A model computes queries head by head"),
        ),
        *changed(_PAGED, _AT_ONCE,
                 (".nan_to_num(0.0)", "", "the softmax of nothing but -inf"),
                 ("torch.where(real[:, :, None, None], value_pool[blocks, at % size], 0.0)",
                  "value_pool[blocks, at % size]", "nan"),
                 ("torch.where(real, block_tables[:, at // size], 0).long()", "block_tables[:, at // size].long()",
                  "as the longest has"),
                 ("context_lengths[owner] - query_start[owner + 1] + torch.arange(len(query))",
                  "torch.arange(len(query))", "expected 0.327")),
        *changed(_PAGED, _SDPA,
                 ("visible, scale", "is_causal=True, scale", "begins at position 0"),
                 ("parts.append(torch.zeros(q.shape[1], q.shape[0], v.shape[-1]))\n        continue",
                  "continue", "move up"),
                 (".transpose(0, 1))\nreturn torch.cat(parts)", ")\nreturn torch.cat(parts, 1)",
                  "rows of the batch come first")),
        *changed(_PAGED, _SDPA, ("torch.cat(parts)", "torch.stack(parts)", "One dimension too many")),
        *changed(_PAGED, _HEADS, ("int(context_lengths[s])", "int(context_lengths.max())", "longest context")),
        (cells(_PAGED, _TOKENS)[0], "A query with an empty context must give 0"),
        (cells(_PAGED, _STACKED)[0], "A query with an empty context must give 0"),
        (cells(_PAGED.replace(", **options", ""), _LOOP)[0], "has lost **options"),
    ],
}
