"""Answers to `paged_attention` and `attend_blockwise` of lab 04 as learners give them; the wrong ones with what must be
said. Most of these are a right one with one place changed."""

from tests.exercises.lab04_answers import cells

_PAGED = ("def paged_attention(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, "
          "**options):")
_WALK = "def attend_blockwise(query, key_pool, value_pool, table, length, scale=None):"

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

_WALKED = """
scale = query.shape[1] ** -0.5 if scale is None else scale
size = key_pool.shape[1]
group = query.shape[0] // key_pool.shape[2]
m = torch.full((query.shape[0], 1), float("-inf"))
l = torch.zeros(query.shape[0], 1)
acc = torch.zeros(query.shape[0], value_pool.shape[3])
blocks = (length + size - 1) // size
for i in range(blocks):
    n = min(size, length - i * size)
    k = key_pool[table[i]][:n].repeat_interleave(group, dim=1)
    v = value_pool[table[i]][:n].repeat_interleave(group, dim=1)
    s = (query[None] * k).sum(-1).T * scale
    new = torch.maximum(m, s.max(dim=1, keepdim=True).values)
    p = torch.exp(s - new)
    alpha = torch.exp(m - new)
    l = l * alpha + p.sum(1, keepdim=True)
    acc = acc * alpha + torch.einsum("ht,thd->hd", p, v)
    m = new
if length == 0:
    return acc, m[:, 0]
return acc / l, (m + torch.log(l))[:, 0]
"""

_BY_LSE = """
scale = query.shape[1] ** -0.5 if scale is None else scale
heads, size = query.shape[0], key_pool.shape[1]
kv = torch.arange(heads) // (heads // key_pool.shape[2])
lse = torch.full((heads,), -torch.inf)
out = torch.zeros(heads, value_pool.shape[-1])
for start in range(0, length, size):
    block = table[start // size]
    k, v = key_pool[block, :length - start][:, kv], value_pool[block, :length - start][:, kv]
    scores = torch.einsum("hd,thd->ht", query, k) * scale
    part = scores.logsumexp(1)
    both = torch.logaddexp(lse, part)
    out = out * (lse - both).exp()[:, None] + torch.einsum("ht,thd->hd", (scores - both[:, None]).exp(), v)
    lse = both
return out, lse
"""

_HEAD_BY_HEAD = """
scale = query.shape[1] ** -0.5 if scale is None else scale
heads, size = query.shape[0], key_pool.shape[1]
out, lse = torch.zeros(heads, value_pool.shape[3]), torch.zeros(heads)
for h in range(heads):
    kv = h // (heads // key_pool.shape[2])
    biggest, total, acc = float("-inf"), torch.tensor(0.0), torch.zeros(value_pool.shape[3])
    for i in range(length):
        block, offset = table[i // size], i % size
        score = query[h] @ key_pool[block, offset, kv] * scale
        new = max(biggest, float(score))
        shrink = torch.exp(torch.tensor(biggest - new))
        weight = torch.exp(score - new)
        total, acc, biggest = total * shrink + weight, acc * shrink + weight * value_pool[block, offset, kv], new
    out[h], lse[h] = (acc / total if length else acc), biggest + total.log()
return out, lse
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
    "attend_blockwise": cells(_WALK, _WALKED, _BY_LSE, _HEAD_BY_HEAD,
                              _WALKED.replace("[table[i]][:n]", "[torch.tensor(table[i]), torch.arange(n)]")),
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
    "attend_blockwise": [
        *changed(
            _WALK, _WALKED,
            ("l = l * alpha + p", "l = l + p", "and the sum does not"),
            ("acc = acc * alpha + torch", "acc = acc + torch", "and the output does not"),
            ("alpha = torch.exp(m - new)", "alpha = 1", "stays as large as it was"),
            ("alpha = torch.exp(m - new)", "alpha = torch.exp(new - m)", "must become smaller"),
            ("new = torch.maximum(m, s.max(dim=1, keepdim=True).values)", "new = s.max(dim=1, keepdim=True).values",
             "keep the maximum of old and new"),
            ("alpha = torch.exp(m - new)", "alpha = m - new", "Without the exp"),
            ("torch.zeros(query.shape[0], value_pool.shape[3])", "torch.zeros_like(query)",
             "Values may have another head_dim than keys"),
            ("(m + torch.log(l))[:, 0]", "torch.zeros(query.shape[0])", "all scores is largest + log(total)"),
            ("(m + torch.log(l))[:, 0]", "torch.ones(query.shape[0])", "Next: return largest + log(total): the log"),
            ("new = torch.maximum(m, s.max(dim=1, keepdim=True).values)", "new = torch.zeros_like(m)", "Above 88"),
            ("new = torch.maximum(m, s.max(dim=1, keepdim=True).values)",
             "new = torch.maximum(m.max(), s.max()).expand(len(m), 1)", "one largest score for all heads"),
            ("m = torch.full((query.shape[0], 1), float(\"-inf\"))", "m = torch.zeros(query.shape[0], 1)",
             "begins at 0"),
            ("m + torch.log(l)", "torch.log(l)", "all scores is largest + log(total)"),
            ("m + torch.log(l)", "m + l", "largest + sum"),
            ("m + torch.log(l)", "m", "is the largest score"),
            ("acc / l", "acc", "never divided"),
            ("    m = new\n", "    acc = acc / l\n    m = new\n", "Divides by the sum in every round"),
            ("return acc / l, (m + torch.log(l))[:, 0]", "return acc / l, m + torch.log(l)", "dimension of size 1"),
            ("return acc / l, (m + torch.log(l))[:, 0]", "return acc / l", "Gives the output alone"),
            ("if length == 0:\n    return acc, m[:, 0]\n", "", "the output is 0 / 0"),
            ("return acc, m[:, 0]", "return acc, l[:, 0]", "the log of 0 is -inf"),
            ("n = min(size, length - i * size)", "n = size", "Reads the last block whole"),
            ("(length + size - 1) // size", "length // size", "the last one are left out"),
            ("(length + size - 1) // size", "length // size + 1", "exactly full"),
            ("range(blocks)", "range(len(table))", "Walks over the whole table"),
            ("range(blocks)", "range(min(blocks, 1))", "Reads the first block only"),
            ("[table[i]]", "[i]", "stands in the table"),
            ("[table[i]]", "[table[0]]", "number"),
            (".repeat_interleave(group, dim=1)", ".repeat(1, group, 1)", "Neighbours share one"),
            (".T * scale", ".T", "without a scale"),
            ("** -0.5 if scale is None else scale", "** -0.5", "a scale of their own"),
            ("value_pool[table[i]]", "key_pool[table[i]]", "key_pool twice"),
            ("    m = new\n", "", "throws away what was summed before"),
        ),
        (cells(_WALK, _WALKED.replace("float(\"-inf\")", "-1e9").replace("torch.exp(m - new)", "m - new"))[0],
         "the exp is missing"),
        (cells(_WALK, _WALKED.replace("torch.maximum(m, s.max(dim=1, keepdim=True).values)",
                                      "s.amax().expand(len(m), 1)"))[0], "The largest score may fall again"),
        (cells(_WALK, """
scale = query.shape[1] ** -0.5 if scale is None else scale
group = query.shape[0] // key_pool.shape[2]
k, v = (gather_kv(pool, table, length).repeat_interleave(group, 1) for pool in (key_pool, value_pool))
scores = torch.einsum("hd,thd->ht", query, k) * scale
return torch.einsum("ht,thd->hd", scores.softmax(1), v), scores.logsumexp(1)
""")[0], "copied together first"),
        (cells(_WALK, """
start, n = torch.tensor([0, 1]), torch.tensor([length])
if length == 0:
    return torch.zeros(query.shape[0], value_pool.shape[3]), torch.full((query.shape[0],), -torch.inf)
return paged_attention(query[None], key_pool, value_pool, torch.tensor([table]), start, n, scale=scale)[0], None
""")[0], "expected a tensor of shape (2,)"),
    ],
}
