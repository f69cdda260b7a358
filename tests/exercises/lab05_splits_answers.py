"""Answers to lab 05's `split_kv` and `merge_partials` as learners give them; the wrong ones with what must be said."""

from tests.exercises.lab05_answers import cells, wrong

_SPLIT = "def split_kv(num_tokens: int, num_splits: int, block_size: int):\n"
_MERGE = "def merge_partials(outputs, lses):\n"

RIGHT = {
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
