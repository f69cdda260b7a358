"""Answers to lab 09's `quantize_fp8` and `attend_fp8` as learners give them; the wrong ones with what must be said."""

from tests.exercises.lab04_answers import cells, wrong

_QUANTIZE = "def quantize_fp8(x, scale):"
_ATTEND = "def attend_fp8(query, keys, values, key_scale, value_scale):"
_OF = "share = len(query) // keys.shape[1]\n"
_OF += "f = lambda s: torch.as_tensor(s).expand(keys.shape[1]).repeat_interleave(share)[:, None]\n"
_TWO = "k, v = keys.float().repeat_interleave(share, 1), values.float().repeat_interleave(share, 1)\n"
_SUMS = """
s = torch.einsum("hd,thd->ht", query, k) * query.shape[-1] ** -0.5
return torch.einsum("ht,thd->hd", s.softmax(-1), v)
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
}
