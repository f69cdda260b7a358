"""Answers to lab 09's `release_window` and `page_latents`; the wrong ones with what must be said."""

from tests.exercises.lab04_answers import cells, wrong

_RELEASE = "def release_window(table, num_tokens, window, block_size, pool, null_block):"
_LATENTS = "def page_latents(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):"
_WRITE = "pool.flatten(0, 1)[slots, 0] = torch.cat([latent, rotary], dim=-1)\n"
_ROWS = "rows = pool[table].flatten(0, 1)[:length, 0]\nd = latent.shape[-1]\n"
_HEADS = """
n, heads = query.shape[:2]
k = torch.cat([(rows[:, :d] @ key_up.transpose(1, 2)), rows[:, d:].expand(heads, -1, -1)], -1)
v = rows[:, :d] @ value_up.transpose(1, 2)
scale = query.shape[-1] ** -0.5 if scale is None else scale
scores = query.transpose(0, 1) @ k.transpose(1, 2) * scale
"""
_HIDE = """
for i in range(n):
    scores[:, i, length - n + i + 1:] = float("-inf")
"""

RIGHT = {
    "release_window": cells(
        _RELEASE,
        """
count = 0
for i in range(len(table)):
    if (i + 1) * block_size <= num_tokens - window + 1 and table[i] != null_block:
        pool.share([null_block])
        pool.release([table[i]])
        table[i] = null_block
        count += 1
return count
""", """
first_seen = max(0, num_tokens - window + 1)
old = [(i, b) for i, b in enumerate(table[: first_seen // block_size]) if b != null_block]
for i, b in old:
    table[i] = null_block
pool.release(b for _, b in old)
pool.share([null_block for _ in old])
return len(old)
""", """
n = 0
i = 0
while (i + 1) * block_size - 1 < num_tokens - window + 1:
    if table[i] != null_block:
        block, table[i] = table[i], null_block
        pool.release([block])
        pool.share([null_block])
        n += 1
    i += 1
return n
"""),
    "page_latents": cells(
        _LATENTS,
        _WRITE + _ROWS + """
n, heads = query.shape[:2]
k = torch.cat([(rows[:, :d] @ key_up.transpose(1, 2)), rows[:, d:].expand(heads, -1, -1)], -1)
v = rows[:, :d] @ value_up.transpose(1, 2)
scores = query.transpose(0, 1) @ k.transpose(1, 2) * (query.shape[-1] ** -0.5 if scale is None else scale)
""" + _HIDE + "return (scores.softmax(-1) @ v).transpose(0, 1)",
        """
size = pool.shape[1]
for row, slot in enumerate(slots.tolist()):
    pool[slot // size, slot % size, 0] = torch.cat([latent[row], rotary[row]])
all_rows = torch.stack([pool[table[t // size], t % size, 0] for t in range(length)])
d = latent.shape[1]
c, r = all_rows[:, :d], all_rows[:, d:]
n, heads, dim = query.shape
scale = dim ** -0.5 if scale is None else scale
out = torch.zeros(n, heads, value_up.shape[1])
for h in range(heads):
    k = torch.cat([c @ key_up[h].T, r], dim=1)
    v = c @ value_up[h].T
    for i in range(n):
        seen = length - n + i + 1
        out[i, h] = torch.softmax(k[:seen] @ query[i, h] * scale, 0) @ v[:seen]
return out
""",
        _WRITE + _ROWS + """
n = len(query)
if scale is None:
    scale = query.shape[-1] ** -0.5
down = torch.cat([torch.einsum("nhk,hkc->nhc", query[..., :key_up.shape[1]], key_up), query[..., key_up.shape[1]:]], -1)
scores = torch.einsum("nhc,tc->hnt", down, rows) * scale
""" + _HIDE + """
mixed = torch.einsum("hnt,tc->nhc", scores.softmax(-1), rows[:, :d])
return torch.einsum("nhc,hvc->nhv", mixed, value_up)
"""),
}

WRONG = {
    "release_window": wrong(
        _RELEASE,
        ("""
gone = (num_tokens - window) // block_size
for i in range(gone):
    pool.release([table[i]])
    table[i] = null_block
return gone
""", "nothing is behind the window yet"),
        ("""
gone = max(0, num_tokens - window + 1) // block_size
leaving = [b for b in table[:gone] if b != null_block]
pool.release(leaving)
table[:gone] = [null_block] * gone
return len(leaving)
""", "does not hold it"),
        ("""
gone = max(0, num_tokens - window + 1) // block_size
pool.release(table[:gone])
del table[:gone]
return gone
""", "Takes the entries out of the table"),
        ("""
table[:] = [null_block if (i + 1) * block_size <= num_tokens - window + 1 else b for i, b in enumerate(table)]
""", "returned None, expected 0"),
        ("""
gone = max(0, num_tokens - window + 1) // block_size
leaving = [b for b in table[:gone] if b]
pool.share([0] * len(leaving))
pool.release(leaving)
table[:gone] = [0] * gone
return len(leaving)
""", "Takes block 0 for the null block"),
    ),
    "page_latents": wrong(
        _LATENTS,
        (_WRITE + _ROWS + """
n, heads = query.shape[:2]
k = torch.cat([(rows[:, :d] @ key_up.transpose(1, 2)), rows[:, d:].expand(heads, -1, -1)], -1)
v = rows[:, :d] @ value_up.transpose(1, 2)
scores = query.transpose(0, 1) @ k.transpose(1, 2) * (query.shape[-1] ** -0.5 if scale is None else scale)
return (scores.softmax(-1) @ v).transpose(0, 1)
""", "no causal mask"),
        (_WRITE + _ROWS + """
n, heads = query.shape[:2]
k = torch.cat([(rows[:, :d] @ key_up.transpose(1, 2)), rows[:, d:].expand(heads, -1, -1)], -1)
v = rows[:, :d] @ value_up.transpose(1, 2)
scores = query.transpose(0, 1) @ k.transpose(1, 2) * (key_up.shape[1] ** -0.5 if scale is None else scale)
""" + _HIDE + "return (scores.softmax(-1) @ v).transpose(0, 1)", "Looks like key_dim ** -0.5"),
        ("pool[slots] = torch.cat([latent, rotary], -1)[:, None, None]\n" + _ROWS + """
n, heads = query.shape[:2]
k = torch.cat([(rows[:, :d] @ key_up.transpose(1, 2)), rows[:, d:].expand(heads, -1, -1)], -1)
v = rows[:, :d] @ value_up.transpose(1, 2)
scores = query.transpose(0, 1) @ k.transpose(1, 2) * (query.shape[-1] ** -0.5 if scale is None else scale)
""" + _HIDE + "return (scores.softmax(-1) @ v).transpose(0, 1)", "Takes a slot for a block"),
        (_WRITE, "returned nothing (None)"),
        (_WRITE + _ROWS + _HEADS + _HIDE.replace("i + 1:", "i:") + "return (scores.softmax(-1) @ v).transpose(0, 1)",
         "one token too few"),
        (_WRITE + _ROWS + _HEADS + _HIDE + "return scores.softmax(-1) @ v", "Gives [heads, new, value_dim]"),
        (_WRITE + _ROWS + _HEADS.replace("query.shape[-1] **", "rows.shape[-1] **") + _HIDE
         + "return (scores.softmax(-1) @ v).transpose(0, 1)", "a row of the pool"),
    ),
}
