"""Answers to `attend_blockwise` of lab 04 as learners give them; the wrong ones with what must be said."""

from tests.exercises.lab04_answers import cells
from tests.exercises.lab04_attention_answers import changed

_WALK = "def attend_blockwise(query, key_pool, value_pool, table, length, scale=None):"

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

RIGHT = {
    "attend_blockwise": cells(_WALK, _WALKED, _BY_LSE, _HEAD_BY_HEAD,
                              _WALKED.replace("[table[i]][:n]", "[torch.tensor(table[i]), torch.arange(n)]")),
}


WRONG = {
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
