"""One step's work as integers (rows), and as the tensors that a model takes (a flattened batch)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kvlab.compute import AttentionPlan
from kvlab.errors import UsageError


class Row(NamedTuple):
    """The tokens of one sequence that run in this step: a whole prompt, a chunk of it, or the token sampled last.

    tokens: their ids. start: the position of the first, which is the number of tokens in the pools already. table: the
    sequence's blocks, enough for `start + len(tokens)` tokens. slots: where keys and values go, one a token, -1 for nowhere.
    wants_logits: whether the last token's logits are asked for.
    """

    tokens: Sequence[int]
    start: int
    table: Sequence[int]
    slots: Sequence[int] | np.ndarray
    wants_logits: bool = True


class Batch(NamedTuple):
    """Rows back to back. T tokens, S sequences.

    token_ids, positions: `[1, T]` int64; slots: `[T]` int64; tables: `[S, max_blocks]` int32; query_start: `[S + 1]` int32;
    context_lengths: `[S]` int32; logit_rows: which of the T have logits asked for, int64. plan: how they are attended.
    """

    token_ids: Tensor
    positions: Tensor
    slots: Tensor
    tables: Tensor
    query_start: Tensor
    context_lengths: Tensor
    logit_rows: Tensor
    plan: AttentionPlan


def flatten(rows: Sequence[Row], block_size: int, device: torch.device | str = "cpu") -> Batch:
    """The batch of `rows`. Refuses with `UsageError` when there is none, or when a row has no token."""
    lengths = [len(row.tokens) for row in rows]
    if not rows or not all(lengths):
        raise UsageError(f"a step runs rows of at least 1 token each, not of {lengths}")
    stops = np.cumsum(lengths)
    contexts = [row.start + length for row, length in zip(rows, lengths, strict=True)]
    tables = np.zeros((len(rows), max(1, *(len(row.table) for row in rows))), dtype=np.int32)
    for i, row in enumerate(rows):
        tables[i, : len(row.table)] = row.table
    positions = np.arange(stops[-1]) + np.repeat(np.array(contexts) - stops, lengths)
    wanted = [stop - 1 for stop, row in zip(stops.tolist(), rows, strict=True) if row.wants_logits]

    def on(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(device)

    return Batch(
        token_ids=torch.tensor([[token for row in rows for token in row.tokens]], device=device),
        positions=on(positions[None]),
        slots=on(np.concatenate([np.asarray(row.slots, dtype=np.int64) for row in rows])),
        tables=on(tables),
        query_start=on(np.concatenate([[0], stops]).astype(np.int32)),
        context_lengths=torch.tensor(contexts, dtype=torch.int32, device=device),
        logit_rows=torch.tensor(wanted, dtype=torch.int64, device=device),
        plan=AttentionPlan(tables, lengths, contexts, block_size, device),
    )
