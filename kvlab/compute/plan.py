"""How a flattened batch is cut into padded groups, decided once a step with integers and used by every layer.

The rows of a batch differ in length, torch's kernels want rectangles. A group is a set of sequences of about the same size:
their blocks are gathered side by side, `[sequences, keys]`, and what sticks out is masked. Few groups waste padding, many
waste calls; `SLACK` is where the two were equal when it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

SLACK = 4000  # padded work, in units of `_work`, that costs about as much as one more group


def _work(queries: int, keys: int) -> int:
    """What a sequence costs: its scores, and the gathering of its keys, which weighs about as much as 6 scores each."""
    return (queries + 6) * keys


@dataclass
class Group:
    """Sequences that are attended together: `sequences` x `queries` x `keys`, all padded to the longest.

    rows: rows of the flattened batch, `[sequences * queries]` int64; padding repeats a sequence's last row.
    real: which of those are not padding, int64, or None if all are.
    blocks: blocks to gather, `[sequences * keys / block_size]` int64; padding names block 0.
    stale: gathered key rows that no token of the sequence fills, int64: to be zeroed, whatever they hold (I6).
    visible: `[sequences, 1, queries, keys]` bool. blind: rows `[sequences, queries]` that see no key at all, or None.
    """

    sequences: int
    queries: int
    keys: int
    rows: Tensor
    real: Tensor | None
    blocks: Tensor
    stale: Tensor | None
    visible: Tensor
    blind: Tensor | None
    _bias: dict[torch.dtype, Tensor] = field(default_factory=dict)

    def bias(self, dtype: torch.dtype) -> Tensor:
        """`visible` as numbers to add to the scores: 0 or -inf. Made once, since every layer asks for it."""
        if dtype not in self._bias:
            bias = torch.zeros(self.visible.shape, dtype=dtype, device=self.visible.device)
            self._bias[dtype] = bias.masked_fill_(~self.visible, float("-inf"))
        return self._bias[dtype]


class AttentionPlan:
    """The groups of one flattened batch, for every window that its layers ask for.

    tables: `[num_seqs, max_blocks]` block ids; entries beyond a sequence's last block are never used. query_lengths,
    context_lengths: integers, one a sequence; the queries are the last tokens of the context.
    """

    def __init__(
        self,
        tables: np.ndarray,
        query_lengths: Sequence[int],
        context_lengths: Sequence[int],
        block_size: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.tables = np.asarray(tables, dtype=np.int64)
        self.queries = np.asarray(query_lengths, dtype=np.int64)
        self.contexts = np.asarray(context_lengths, dtype=np.int64)
        self.starts = np.cumsum(self.queries) - self.queries
        self.block_size, self.device = block_size, device
        self.num_tokens = int(self.queries.sum())
        self._groups: dict[int | None, list[Group]] = {}

    def groups(self, window: int | None = None) -> list[Group]:
        """The groups for layers that see the last `window` tokens (None: all)."""
        if window not in self._groups:
            self._groups[window] = [self._group(members, window) for members in self._members(window)]
        return self._groups[window]

    def _seen(self, window: int | None) -> np.ndarray:
        """Keys that a sequence's queries see together."""
        return self.contexts if window is None else np.minimum(self.contexts, self.queries + window - 1)

    def _members(self, window: int | None) -> list[np.ndarray]:
        seen = self._seen(window)
        order = np.lexsort((-seen, -self.queries))
        order = order[self.queries[order] > 0]
        cuts, count, wide, long = [], 0, 0, 0
        for position, (queries, keys) in enumerate(zip(self.queries[order].tolist(), seen[order].tolist(), strict=True)):
            padding = (count + 1) * _work(max(wide, queries), max(long, keys)) - count * _work(wide, long) - _work(queries, keys)
            if count and (padding * (len(order) - position) > SLACK or (queries == 1) != (wide == 1)):
                cuts.append(position)
                count, wide, long = 0, 0, 0
            count, wide, long = count + 1, max(wide, queries), max(long, keys)
        return np.split(order, cuts) if len(order) else []

    def _group(self, members: np.ndarray, window: int | None) -> Group:
        size = self.block_size
        queries, contexts = self.queries[members], self.contexts[members]
        begin = np.zeros_like(contexts)  # the first block that any query of the sequence sees
        if window is not None:
            begin = np.maximum(contexts - queries - window + 1, 0) // size
        end = -(-contexts // size)
        column = begin[:, None] + np.arange(max(1, int((end - begin).max())))
        inside = column < end[:, None]
        blocks = np.zeros_like(column)
        blocks[inside] = self.tables[np.broadcast_to(members[:, None], column.shape)[inside], column[inside]]
        key_at = (column[:, :, None] * size + np.arange(size)).reshape(len(members), -1)
        stale = np.flatnonzero(key_at >= contexts[:, None])
        step = np.arange(int(queries.max()))
        padded = step >= queries[:, None]
        step = np.minimum(step, queries[:, None] - 1)
        query_at = contexts[:, None] - queries[:, None] + step
        blind = query_at < 0
        query_at = np.maximum(query_at, 0)  # a blind row looks at a zeroed key; its output is overwritten
        visible = key_at[:, None, :] <= query_at[:, :, None]
        if window is not None:
            visible &= key_at[:, None, :] > query_at[:, :, None] - window
        return Group(
            sequences=len(members),
            queries=step.shape[1],
            keys=key_at.shape[1],
            rows=self._tensor((self.starts[members][:, None] + step).reshape(-1)),
            real=self._tensor(np.flatnonzero(~padded)) if padded.any() else None,
            blocks=self._tensor(blocks.reshape(-1)),
            stale=self._tensor(stale) if len(stale) else None,
            visible=self._tensor(visible[:, None]),
            blind=self._tensor(blind) if blind.any() else None,
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
