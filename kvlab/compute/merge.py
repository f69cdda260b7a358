"""The merging of parts of the keys that were attended apart, by their log-sum-exps."""

from __future__ import annotations

import torch
from torch import Tensor


def merge_partials(outputs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    """Join what the same queries found in separate parts of the keys.

    outputs: `[parts, ..., value_dim]`, each normalised within its part; lses: `[parts, ...]`, the logs of the parts'
    sums. Returns the output and log-sum-exp over all keys, as if they had been attended at once. An empty part (-inf)
    counts for nothing whatever its output holds, and empties merge into an empty: 0 and -inf.
    """
    lse = torch.logsumexp(lses, 0)
    weights = torch.exp(lses - lse.masked_fill(lse == float("-inf"), 0.0))
    empty = (lses == float("-inf")).unsqueeze(-1)
    return (outputs.masked_fill(empty, 0.0) * weights.unsqueeze(-1)).sum(0), lse
