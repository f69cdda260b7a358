"""Answers to the exercises of lab 09 as learners give them; the wrong ones with what must be said."""

from tests.exercises.lab04_answers import cells, wrong

_QUANTIZE = "def quantize_fp8(x, scale):"
_ATTEND = "def attend_fp8(query, keys, values, key_scale, value_scale):"
_RELEASE = "def release_window(table, num_tokens, window, block_size, pool, null_block):"
_LATENTS = "def page_latents(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):"
_WRITE = "pool.flatten(0, 1)[slots, 0] = torch.cat([latent, rotary], dim=-1)\n"
_ROWS = "rows = pool[table].flatten(0, 1)[:length, 0]\nd = latent.shape[-1]\n"
_OF = "share = len(query) // keys.shape[1]\n"
_OF += "f = lambda s: torch.as_tensor(s).expand(keys.shape[1]).repeat_interleave(share)[:, None]\n"
_TWO = "k, v = keys.float().repeat_interleave(share, 1), values.float().repeat_interleave(share, 1)\n"
_SUMS = """
s = torch.einsum("hd,thd->ht", query, k) * query.shape[-1] ** -0.5
return torch.einsum("ht,thd->hd", s.softmax(-1), v)
"""
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
    "quantize_fp8": cells(
        _QUANTIZE,
        """
if isinstance(scale, torch.Tensor):
    scale = scale.view(-1, 1)
return torch.clamp(x.to(torch.float32) / scale, min=-448, max=448).to(torch.float8_e4m3fn)
""", """
scale = torch.as_tensor(scale, dtype=torch.float32)
y = x.float() / scale.reshape(*scale.shape, 1)
return y.clip(-448, 448).type(torch.float8_e4m3fn)
""", """
scale = torch.as_tensor(scale)
if scale.ndim == 0:
    scale = scale.expand(x.shape[1])
out = torch.empty(x.shape, dtype=torch.float8_e4m3fn)
for h in range(x.shape[1]):
    out[:, h] = torch.clamp(x[:, h].float() / scale[h], -448, 448).to(torch.float8_e4m3fn)
return out
""", """
limit = torch.finfo(torch.float8_e4m3fn).max
y = x.float() / (scale[None, :, None] if torch.is_tensor(scale) else scale)
return torch.maximum(torch.minimum(y, torch.tensor(limit)), torch.tensor(-limit)).to(torch.float8_e4m3fn)
"""),
    "attend_fp8": cells(
        _ATTEND,
        """
heads, kv = query.shape[0], keys.shape[1]
out = torch.zeros(heads, values.shape[-1])
for h in range(heads):
    g = h // (heads // kv)
    ks = key_scale[g] if isinstance(key_scale, torch.Tensor) else key_scale
    vs = value_scale[g] if isinstance(value_scale, torch.Tensor) else value_scale
    s = keys[:, g].float() @ query[h] * (query.shape[-1] ** -0.5 * ks)
    out[h] = torch.softmax(s, 0) @ values[:, g].float() * vs
return out
""", """
kv = keys.shape[1]
ks, vs = (torch.as_tensor(s, dtype=torch.float32).reshape(-1).expand(kv) for s in (key_scale, value_scale))
q = query.view(kv, -1, query.shape[-1]) * ks[:, None, None]
s = q @ keys.float().permute(1, 2, 0) / query.shape[-1] ** 0.5
out = s.softmax(-1) @ values.float().transpose(0, 1)
return (out * vs[:, None, None]).reshape(query.shape[0], -1)
""", """
share = len(query) // keys.shape[1]
if isinstance(key_scale, torch.Tensor):
    key_scale = key_scale.repeat_interleave(share).unsqueeze(1)
if isinstance(value_scale, torch.Tensor):
    value_scale = value_scale.repeat_interleave(share).unsqueeze(1)
k = keys.float().repeat_interleave(share, dim=1).transpose(0, 1)
v = values.float().repeat_interleave(share, dim=1).transpose(0, 1)
scores = (k @ query.unsqueeze(-1)).squeeze(-1) * key_scale / query.shape[-1] ** 0.5
weights = scores.softmax(-1) * value_scale
return (weights.unsqueeze(1) @ v).squeeze(1)
""",
        _OF + _TWO + """
import torch.nn.functional as F
k, v = k.transpose(0, 1), v.transpose(0, 1)
return F.scaled_dot_product_attention((query * f(key_scale))[:, None], k, v)[:, 0] * f(value_scale)
""",
        _OF + """
k, v = keys.float().transpose(0, 1), values.float().transpose(0, 1)
out = torch.nn.functional.scaled_dot_product_attention((query * f(key_scale))[:, None], k, v, enable_gqa=True)
return out[:, 0] * f(value_scale)
"""),
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
    "quantize_fp8": wrong(
        _QUANTIZE,
        ("return (x * scale).clamp(-448, 448).to(torch.float8_e4m3fn)", "Multiplies by the scale"),
        ("return (x / scale).to(torch.float8_e4m3fn)", "along the last dimension"),
        ("return x.to(torch.float8_e4m3fn)", "Looks like x as it is"),
        ("return (x / scale).clamp(-448, 448).to(torch.uint8)", "expected float8_e4m3fn: 8 bits a number"),
        ("s = scale[0] if torch.is_tensor(scale) else scale\nreturn (x.float() / s).clamp(-448, 448)"
         ".to(torch.float8_e4m3fn)", "first scale for every head"),
        ("return torch.quantize_per_tensor(x, scale, 0, torch.qint8)", "expected"),
    ),
    "attend_fp8": wrong(
        _ATTEND,
        ("""
share = len(query) // keys.shape[1]
k, v = keys.float() * key_scale, values.float() * value_scale
k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
s = torch.einsum("hd,thd->ht", query, k) * query.shape[-1] ** -0.5
return torch.einsum("ht,thd->hd", s.softmax(-1), v)
""", "multiplied 96 numbers by a scale"),
        ("""
share = len(query) // keys.shape[1]
k, v = keys.float().repeat_interleave(share, 1), values.float().repeat_interleave(share, 1)
s = torch.einsum("hd,thd->ht", query, k) * query.shape[-1] ** -0.5 * value_scale
return torch.einsum("ht,thd->hd", s.softmax(-1), v) * key_scale
""", "swapped"),
        ("""
share = len(query) // keys.shape[1]
k, v = keys.float().repeat_interleave(share, 1), values.float().repeat_interleave(share, 1)
s = torch.einsum("hd,thd->ht", query, k) * query.shape[-1] ** -0.5
return torch.einsum("ht,thd->hd", s.softmax(-1), v) * key_scale * value_scale
""", "not linear"),
        ("""
s = torch.einsum("hd,thd->ht", query, keys) * key_scale
return torch.einsum("ht,thd->hd", s.softmax(-1), values) * value_scale
""", "raised"),
        ("share = len(query) // keys.shape[1]\nh = lambda s: s.half()[:, None] if isinstance(s, torch.Tensor) else s\n"
         "k = (keys.half() * h(key_scale)).repeat_interleave(share, 1).float()\n"
         "v = (values.half() * h(value_scale)).repeat_interleave(share, 1).float()" + _SUMS,
         "every key and value back"),
        (_OF + """
out = torch.zeros(len(query), values.shape[-1])
for h in range(len(query)):
    k, v = keys[:, h // share].float() * f(key_scale)[h], values[:, h // share].float() * f(value_scale)[h]
    out[h] = (k @ query[h] * query.shape[-1] ** -0.5).softmax(0) @ v
return out
""", "every key and value back"),
        (_OF + _TWO + _SUMS.replace("-0.5", "-0.5 * key_scale").replace("v)", "v) * value_scale"),
         "along the last dimension"),
    ),
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
