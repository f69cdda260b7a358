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

    tokens: their ids. start: the position of the first, which is the number of tokens in the pools already. table:
    the sequence's blocks, enough for `start + len(tokens)` tokens. slots: where keys and values go, one a token, -1
    for nowhere. wants_logits: whether the last token's logits are asked for. others: table and slots of the same tokens
    in each further group of layers, where a model has several (see `kvlab.memory.LayerGroups`).
    """

    tokens: Sequence[int]
    start: int
    table: Sequence[int]
    slots: Sequence[int] | np.ndarray
    wants_logits: bool = True
    others: Sequence[tuple[Sequence[int], Sequence[int]]] = ()


class Lane(NamedTuple):
    """Where the tokens of a batch lie in a further group of layers. See `Batch`."""

    slots: Tensor
    tables: Tensor
    plan: AttentionPlan


class Batch(NamedTuple):
    """Rows back to back. T tokens, S sequences.

    token_ids, positions: `[1, T]` int64; slots: `[T]` int64; tables: `[S, max_blocks]` int32; query_start: `[S + 1]`
    int32; context_lengths: `[S]` int32; logit_rows: which of the T have logits asked for, int64. plan: how they are
    attended. others: the same for further groups of layers.
    """

    token_ids: Tensor
    positions: Tensor
    slots: Tensor
    tables: Tensor
    query_start: Tensor
    context_lengths: Tensor
    logit_rows: Tensor
    plan: AttentionPlan
    others: tuple[Lane, ...] = ()


def flatten(rows: Sequence[Row], block_size: int, device: torch.device | str = "cpu") -> Batch:
    """The batch of `rows`. Refuses with `UsageError` when there is none, or when a row has no token."""
    lengths = [len(row.tokens) for row in rows]
    if not rows or not all(lengths):
        raise UsageError(f"a step runs rows of at least 1 token each, not of {lengths}")
    tokens: list[int] = []
    slots: list[int] = []
    for row in rows:
        tokens += row.tokens
        slots += row.slots if isinstance(row.slots, list) else np.asarray(row.slots).tolist()
    stops = np.cumsum(lengths)
    contexts = np.array([row.start for row in rows]) + lengths
    tables = _tables([row.table for row in rows])
    wanted = [i for i, row in enumerate(rows) if row.wants_logits]

    def on(array: np.ndarray, dtype: type) -> Tensor:
        return torch.from_numpy(array.astype(dtype)).to(device)

    return Batch(
        token_ids=on(np.array([tokens]), np.int64),
        positions=on((np.arange(len(tokens)) + np.repeat(contexts - stops, lengths))[None], np.int64),
        slots=on(np.array(slots), np.int64),
        tables=on(tables, np.int32),
        query_start=on(np.append(0, stops), np.int32),
        context_lengths=on(contexts, np.int32),
        logit_rows=on(stops[wanted] - 1, np.int64),
        plan=AttentionPlan(tables, lengths, contexts, block_size, device),
        others=tuple(_lane(rows, group, lengths, contexts, block_size, device) for group in range(len(rows[0].others))),
    )


def _lane(
    rows: Sequence[Row],
    group: int,
    lengths: list[int],
    contexts: np.ndarray,
    block_size: int,
    device: torch.device | str,
) -> Lane:
    """Tables and slots of one of the further groups."""
    tables = _tables([row.others[group][0] for row in rows])
    slots = np.array([slot for row in rows for slot in row.others[group][1]], dtype=np.int64)
    plan = AttentionPlan(tables, lengths, contexts, block_size, device)
    return Lane(torch.from_numpy(slots).to(device), torch.from_numpy(tables).to(device), plan)


def _tables(tables: Sequence[Sequence[int]]) -> np.ndarray:
    """`[S, max_blocks]`, the rest of each row 0."""
    width = max(1, max(map(len, tables)))
    filled = [table if len(table) == width else [*table, *[0] * (width - len(table))] for table in tables]
    return np.array(filled, dtype=np.int32)
