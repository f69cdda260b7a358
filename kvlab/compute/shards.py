"""One rank's share of a layer: weights cut by rows or by columns, and the sum over ranks that makes them whole again.

Two cuts in a row need one sum: `y = W2 f(W1 x)` with the rows of W1 and the columns of W2 cut at the same places is the
sum of what the ranks compute each with its own share, as long as f looks at each number (or head) by itself.
Source: Shoeybi et al. 2019 (Megatron-LM, arXiv 1909.08053), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from kvlab.errors import UsageError
from kvlab.memory import HeadShard

Add = Callable[[Tensor], Tensor]
"""Sums a tensor over all ranks, in place, and returns it."""


def merge_heads(outputs: Sequence[Tensor], shards: Sequence[HeadShard]) -> Tensor:
    """What attention over all heads gives: each rank's `[num_tokens, its heads, head_dim]` put where its heads belong.

    Refused with `UsageError`: another number of outputs than of shards, an output of another number of heads than its
    shard has, and shards that do not name each head once.
    """
    if [output.shape[1] for output in outputs] != [len(shard.heads) for shard in shards]:
        has, needs = [output.shape[1] for output in outputs], [len(shard.heads) for shard in shards]
        raise UsageError(f"the ranks have {needs} query heads, the outputs are of {has}")
    order = [head for shard in shards for head in shard.heads]
    if not order or sorted(order) != list(range(len(order))):
        raise UsageError(f"the shards must name each of {len(order)} query heads once, not {order}")
    places = torch.empty(len(order), dtype=torch.int64)
    places[order] = torch.arange(len(order))
    return torch.cat(list(outputs), 1).index_select(1, places.to(outputs[0].device))


def cut_rows(linear: nn.Linear, part: int, parts: int) -> nn.Linear:
    """The layer that computes outputs `part` of `parts` of `linear`: a copy of those rows of weight and bias.

    Rows that do not divide are refused with `UsageError`.
    """
    weight = _share(linear.weight, 0, part, parts)
    bias = None if linear.bias is None else _share(linear.bias, 0, part, parts)
    return _linear(weight, bias)


def cut_columns(linear: nn.Linear, part: int, parts: int, add: Add) -> SummedLinear:
    """The layer that takes inputs `part` of `parts` of `linear`, and gives what all of it gives to all inputs.

    Columns that do not divide are refused with `UsageError`.
    """
    return SummedLinear(_linear(_share(linear.weight, 1, part, parts), None), linear.bias, add)


class SummedLinear(nn.Module):
    """A share of a linear layer's columns, summed over the ranks. The bias is added once, after the sum."""

    def __init__(self, linear: nn.Linear, bias: nn.Parameter | None, add: Add) -> None:
        super().__init__()
        self.linear, self.bias, self._add = linear, bias, add

    def forward(self, inputs: Tensor) -> Tensor:
        """`[..., columns of this rank]` to `[..., rows]`, the same on every rank."""
        output = self._add(self.linear(inputs))
        return output if self.bias is None else output + self.bias


def _share(tensor: Tensor, dim: int, part: int, parts: int) -> Tensor:
    size = tensor.shape[dim]
    if not 0 <= part < parts or size % parts:
        raise UsageError(f"{size} {('rows', 'columns')[dim]} have no share {part} of {parts}")
    return tensor.detach().narrow(dim, part * (size // parts), size // parts).clone()  # the whole can be let go of


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    with torch.device("meta"):
        linear = nn.Linear(weight.shape[1], weight.shape[0], bias is not None)
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        linear.bias = nn.Parameter(bias, requires_grad=False)
    return linear
