"""From logits to tokens: greedy, or seeded sampling with temperature, top-k and top-p."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, SupportsIndex

import torch
from torch import Tensor

from kvlab.errors import UsageError


@dataclass(frozen=True)
class Sampling:
    """How a request's tokens are chosen.

    temperature: 0 is greedy; else logits are divided by it. top_k: only the k most likely tokens (0: all). top_p:
    only the most likely tokens that together reach this probability, always at least one. As in transformers they
    apply in that order. seed: a whole number from 0 on; the same one gives the same tokens, whatever else is in the
    batch; None draws one.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise UsageError(
                f"temperature {self.temperature}, top_k {self.top_k}, top_p {self.top_p}: "
                "the first two cannot be negative or infinite, the last lies above 0 and up to 1"
            )

        if self.seed is not None and (not isinstance(self.seed, SupportsIndex) or self.seed.__index__() < 0):
            raise UsageError(f"a seed is a whole number from 0 on, or None, not {self.seed!r}")

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is always taken."""
        return self.temperature == 0 or self.top_k == 1


GREEDY = Sampling()
SAMPLED = Sampling(temperature=1.0)

SMALLEST = torch.finfo(torch.float32).tiny  # a temperature below it would be 0 in fp32


class TokenScore(NamedTuple):
    """How likely a token was by the model's own distribution, before temperature, top-k and top-p.

    logprob: natural logarithm of its probability. best: the most likely tokens and theirs, the best first.
    """

    logprob: float
    best: tuple[tuple[int, float], ...] = ()


def score(logprobs: Tensor, token: int, alternatives: int = 0) -> TokenScore:
    """`TokenScore` of `token` by `logprobs` `[vocab]`, with so many of the best as alternatives, or all there are."""
    own = float(logprobs[token])
    if not alternatives:
        return TokenScore(own)
    values, ids = logprobs.topk(min(alternatives, len(logprobs)))
    return TokenScore(own, tuple(zip(ids.tolist(), values.tolist(), strict=True)))


def sample(logits: Tensor, settings: Sequence[Sampling], draws: Sequence[float]) -> list[int]:
    """One token for each row of `logits` `[rows, vocab]`, by its own settings and random number in [0, 1)."""
    tokens: list[int] = logits.argmax(-1).tolist()
    rows = [i for i, setting in enumerate(settings) if not setting.greedy]
    if rows:
        chosen = _sampled(logits[rows].float(), [settings[i] for i in rows], [draws[i] for i in rows])
        for i, token in zip(rows, chosen, strict=True):
            tokens[i] = token
    return tokens


def _sampled(logits: Tensor, settings: list[Sampling], uniform: list[float]) -> list[int]:
    """Inverse transform sampling over the tokens sorted by probability, all rows at once."""
    logits = logits - logits.amax(-1, keepdim=True)  # the best is at 0, so a tiny temperature cannot make two infinite
    scores, order = (logits / _column(logits, [max(s.temperature, SMALLEST) for s in settings])).sort(
        dim=-1, descending=True, stable=True
    )
    rank = torch.arange(logits.shape[-1], device=logits.device)
    top_k = _column(logits, [s.top_k or logits.shape[-1] for s in settings])
    weights = scores.masked_fill(rank >= top_k, float("-inf")).softmax(-1)
    before = weights.cumsum(-1) - weights
    top_p = _column(logits, [s.top_p for s in settings])
    weights = weights.masked_fill((before >= top_p) & (rank > 0), 0.0)
    reached = weights.double().cumsum(-1)
    target = torch.tensor(uniform, dtype=torch.float64, device=logits.device).unsqueeze(-1) * reached[:, -1:]
    index = (reached <= target).sum(-1, keepdim=True).clamp_max(logits.shape[-1] - 1)
    return order.gather(-1, index).flatten().tolist()


def _column(like: Tensor, numbers: list[float]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float32, device=like.device).unsqueeze(-1)
