"""What keys and values in 8 bits cost in quality: reference answers read by the model over its own paged memory.

Every token of an answer is given, and the model says how likely it was, from keys and values as they are kept
(teacher forcing). That is what a sampled answer goes through too, since attention here reads nothing but the pools.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from kvlab.compute import Scales, calibrate
from kvlab.compute.float8 import LARGEST, pool_dtype
from kvlab.compute.scales import Scale
from kvlab.errors import UsageError
from kvlab.memory import blocks_needed, slot_mapping

from .batch import Row, flatten
from .hf import PagedModel

BLOCK_SIZE = 16
MOST_TOKENS = 1024  # in one batch

Answer = tuple[Sequence[int], Sequence[int]]
"""Token ids of a conversation, and what is to follow each of them: a token id, or a negative number for anything."""


class Setting(NamedTuple):
    """A model and how it keeps its keys and values; see `PagedModel`."""

    model: PreTrainedModel
    kv_dtype: str = "auto"
    scales: Scales | str | tuple[Scale, Scale] | None = None


class Quality(NamedTuple):
    """How one setting reads the answers, over all their tokens.

    perplexity: exp of the mean of -log p(token). changed: the share of tokens, from 0 to 1, for which another token
    would have been the most likely one than in the reference. kl: the mean divergence KL(reference || this) in nats.
    """

    perplexity: float
    changed: float
    kl: float


def compare_quality(
    reference: PreTrainedModel, settings: Mapping[str, Setting], answers: Sequence[Answer]
) -> dict[str, Quality]:
    """The quality of each setting, against `reference` with its keys and values as they come; that one is first.

    answers: see `Answer`; `kvlab.models.courier_answers` gives courier's. Each conversation is run in one piece, with
    blocks of 16 tokens. The reference's own `changed` and `kl` are 0. None at all, answers of which nothing is to be
    predicted, and lengths that differ raise `UsageError`.
    """
    wanted = torch.tensor([token for _, targets in answers for token in targets if token >= 0])
    if not len(wanted):
        raise UsageError(f"{len(answers)} answers hold no token to predict")
    for ids, targets in answers:
        if len(ids) != len(targets):
            raise UsageError(f"an answer has {len(ids)} tokens and what is to follow {len(targets)} of them")
    sure = _read(Setting(reference), answers)
    found = {"reference": _quality(sure, sure, wanted)}
    for name, setting in settings.items():
        found[name] = _quality(_read(setting, answers), sure, wanted)
    return found


def calibrate_on(
    model: PreTrainedModel, conversations: Iterable[Sequence[int]], granularity: str = "tensor", kv_dtype: str = "fp8"
) -> Scales:
    """`calibrate` from the keys and values that the model computes for these token ids; "tensor" or "head".

    A few conversations like those to come are enough: the largest key of a layer hardly depends on the text.
    """
    dtype = pool_dtype(kv_dtype)
    if dtype not in LARGEST:
        raise UsageError(f'keys and values need no scales as "{kv_dtype}"')
    paged, rows = _paged(Setting(model), list(conversations))
    for group in _groups(rows):
        paged.run(group)
    cache = paged.cache
    return calibrate([(cache.keys[layer], cache.values[layer]) for layer in sorted(cache.keys)], granularity, dtype)


def with_larger_keys(model: PreTrainedModel, factor: float = 256.0) -> PreTrainedModel:
    """A copy with `k_proj` times `factor` and `q_proj` over it: the same scores in exact arithmetic, and larger keys.

    With a power of 2 every number of the model's own arithmetic is as before, its exponent apart. It shows what scales
    are for: the keys leave what FP8 can hold. Models without these two projections, or that normalise what comes of
    them, are refused with `UsageError`.
    """
    changed = copy.deepcopy(model)
    layers = [part for part in changed.modules() if hasattr(part, "k_proj") and hasattr(part, "q_proj")]
    if not layers or any(hasattr(part, "k_norm") or hasattr(part, "q_norm") for part in layers):
        raise UsageError(f"{type(model).__name__} has no keys that could be rescaled unseen")
    with torch.no_grad():
        for layer in layers:
            for projection, times in ((layer.k_proj, factor), (layer.q_proj, 1 / factor)):
                for weight in cast(torch.nn.Module, projection).parameters():
                    weight.mul_(times)
    return changed


def _read(setting: Setting, answers: Sequence[Answer]) -> Tensor:
    """log p of every token of the vocabulary, `[tokens to predict, vocab]` float32, in the answers' order."""
    paged, rows = _paged(setting, [ids for ids, _ in answers])
    targets = iter([target for _, targets in answers for target in targets])
    found = []
    for group in _groups(rows):
        batch = flatten(group, BLOCK_SIZE, paged.device)
        wanted = [place for place in range(batch.token_ids.shape[1]) if next(targets) >= 0]
        logits = paged.forward(batch._replace(logit_rows=torch.tensor(wanted, dtype=torch.int64, device=paged.device)))
        found.append(F.log_softmax(logits.float(), -1).cpu())
    return torch.cat(found)


def _quality(found: Tensor, sure: Tensor, wanted: Tensor) -> Quality:
    given = found.gather(1, wanted.unsqueeze(1))
    return Quality(
        perplexity=math.exp(-float(given.double().mean())),
        changed=float((found.argmax(-1) != sure.argmax(-1)).double().mean()),
        kl=float(F.kl_div(found.double(), sure.double(), reduction="sum", log_target=True)) / len(wanted),
    )


def _paged(setting: Setting, conversations: Sequence[Sequence[int]]) -> tuple[PagedModel, list[Row]]:
    """The model with a pool just large enough for all conversations, and a row for each."""
    if not conversations:
        raise UsageError("there is nothing to read: 0 conversations")
    counts = [blocks_needed(len(ids), BLOCK_SIZE) for ids in conversations]
    paged = PagedModel(setting.model, sum(counts), BLOCK_SIZE, kv_dtype=setting.kv_dtype, scales=setting.scales)
    rows, first = [], 0
    for ids, count in zip(conversations, counts, strict=True):
        table = list(range(first, first + count))
        rows.append(Row(ids, 0, table, slot_mapping(table, 0, len(ids), BLOCK_SIZE)))
        first += count
    return paged, rows


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Neighbours, up to `MOST_TOKENS` tokens together, or a single one that is longer."""
    group: list[Row] = []
    for row in rows:
        if group and sum(len(one.tokens) for one in group) + len(row.tokens) > MOST_TOKENS:
            yield group
            group = []
        group.append(row)
    yield group
